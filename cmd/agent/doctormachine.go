package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/host/watch"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// The checks in this file are about the machine: the kernel, its file systems,
// its clock.

// Minimums for an agent beside the editors and containers of the same user. It needs a
// watch per directory that results depend on, one or two inotify instances, and a
// descriptor per file that it reads at the same time.
const (
	enoughWatches     = 8192
	enoughInstances   = 64
	enoughDescriptors = 1024
)

// kernelLimits checks the limits of one user.
func (p *patient) kernelLimits(context.Context) finding {
	var told []string
	var bad *finding
	enough := map[string]int{"watches": enoughWatches, "instances": enoughInstances}
	for _, l := range watch.KernelLimits() {
		told = append(told, fmt.Sprintf("%s %d", l.Name, l.Value))
		for word, n := range enough {
			if strings.HasSuffix(l.Name, word) && l.Value < n && bad == nil {
				f := worry(l.Raise, "%s is %d, which other programs may have used up", l.Name, l.Value)
				bad = &f
			}
		}
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		told = append(told, fmt.Sprintf("open files %d", files.Cur))
		if files.Cur < enoughDescriptors && bad == nil {
			f := worry("raise it with ulimit -n, or LimitNOFILE= of a service", "%d files can be open at the same time", files.Cur)
			bad = &f
		}
	}
	if bad != nil {
		return *bad
	}
	return fine("%s", strings.Join(told, ", "))
}

// fileEvents creates a file in a directory that it watches, as an agent does, and waits for
// the event.
func (p *patient) fileEvents(ctx context.Context) finding {
	const meanwhile = "until that is mended changes are found by looking, some seconds later"
	if p.running() && p.status.Watch.Mode == watch.ModeDegraded {
		return worry(meanwhile, "the agent isn't told of all changes: %s", p.status.Watch.Error)
	}
	dir, err := os.MkdirTemp("", "waymark-doctor-")
	if err != nil {
		return worry("set TMPDIR to a directory that can be written", "it can't be tried: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return worry("", "it can't be tried: %v", err)
	}
	ctx, cancel := p.within(ctx)
	defer cancel()
	state, told := watchFor(ctx, dir, func() error { return os.WriteFile(filepath.Join(dir, "f"), nil, 0o600) })
	switch {
	case state.Mode == watch.ModeDegraded:
		return worry(meanwhile, "there are none: %s", state.Error)
	case !told:
		return worry("set TMPDIR to a directory of another file system and try again; an agent looks again every minute",
			"none came for a file that was made in %s", filepath.Dir(dir))
	}
	return fine("a change was told")
}

// watchFor watches a directory while do runs. It returns how the directory was watched, and
// whether an event arrived.
func watchFor(ctx context.Context, dir string, do func() error) (watch.State, bool) {
	w := watch.New(watch.Options{Quiet: time.Millisecond, MaxWait: time.Millisecond})
	done := make(chan struct{})
	defer func() { _ = w.Close(); <-done }()
	go func() { defer close(done); _ = w.Run(ctx) }()
	w.Set("doctor", []watch.Dir{{Path: dir}})
	state, changed := w.State()
	for state.Mode != watch.ModeDegraded && state.Dirs == 0 {
		select {
		case <-changed:
		case <-ctx.Done():
			return state, false
		}
		state, changed = w.State()
	}
	if state.Mode == watch.ModeDegraded || do == nil || do() != nil {
		return state, false
	}
	for {
		b, err := w.Wait(ctx)
		if err != nil {
			return state, false
		}
		if b.Reason == watch.ReasonEvents {
			return state, true
		}
	}
}

// rootDirs checks the roots of the agent, or of one started here: that they are readable,
// and that their file systems report changes.
func (p *patient) rootDirs(ctx context.Context) finding {
	if p.running() {
		for _, r := range p.status.Refused {
			return worry("", "%s is not looked at: %s", r.Path, r.Error)
		}
	}
	roots := []string{here()}
	if p.running() {
		roots = p.status.Roots
	}
	var silent []string
	for _, root := range roots {
		info, err := os.Stat(root)
		if err != nil {
			return failure("make it readable, or name another root", "%v", err)
		}
		if !info.IsDir() {
			continue
		}
		if _, err := os.ReadDir(root); err != nil {
			return failure("make it readable, or name another root", "%v", err)
		}
		within, cancel := p.within(ctx)
		if state, _ := watchFor(within, root, nil); state.Silent {
			silent = append(silent, root)
		}
		cancel()
	}
	if len(silent) > 0 {
		return worry("changes by others are found by looking, every five seconds; 'agent resync' looks at once",
			"the file system of %s doesn't tell of all changes", strings.Join(silent, ", "))
	}
	if len(roots) == 0 {
		return fine("none yet: 'agent root DIR' names one")
	}
	return fine("%s, readable, on file systems that tell of changes", cli.Count(len(roots), "root"))
}

// landlock checks that the kernel has Landlock, which confines processes that chats start.
func (p *patient) landlock(context.Context) finding {
	version, err := launch.Supported()
	if err != nil {
		return worry("run a kernel from 5.13 on with Landlock among its security modules; see services.hide_secrets",
			"%v: processes of chats can read what the secret list names, none is started for a plan, and MCP servers read and write what you may; resolvers are confined by WebAssembly", err)
	}
	if weak := (&launch.Profile{NoUnix: true, Ports: []uint16{}}).Weaknesses(); len(weak) > 0 {
		return worry("run a newer kernel", "version %d confines processes of chats and MCP servers, but not as far as it could: %s", version, strings.Join(weak, " "))
	}
	return fine("version %d confines processes of chats and MCP servers; resolvers are confined by WebAssembly", version)
}

// helper reports which program starts and holds processes.
func (p *patient) helper(context.Context) finding {
	h, err := launch.FindHelper()
	switch {
	case err == nil && launch.HelperDigest == "":
		return fine("%s; this build doesn't know its digest, and starts whatever is there: 'make build' links it", h.Path)
	case err == nil:
		return fine("%s, as it was built with the agent", h.Path)
	case errors.Is(err, launch.ErrOtherHelper):
		return failure("put the supervisor of this version there, and see who has put another one", "%v", err)
	}
	if _, err := supervisor.Program(p.app.Self); err != nil {
		return failure("put the program supervisor beside agent, or into ../libexec/waymark", "no process can be started: %v", err)
	}
	return fine("the agent does it itself, which costs more time and memory than the program supervisor beside it")
}

// A hub's clock is known to a second. Beyond skewMax, tokens and codes expire at noticeably
// wrong times.
const (
	skewNoted = 5 * time.Second
	skewMax   = 10 * time.Minute
)

// clock compares this machine's clock with the hub's, with the monotonic clock, and with
// the times of files.
func (p *patient) clock(context.Context) finding {
	const set = "set the clock, with NTP or timedatectl"
	wall, mono := time.Now().Round(0).Sub(p.began.Round(0)), time.Since(p.began)
	if step := (wall - mono).Abs(); step > time.Second {
		return worry(set, "it was set by %s while this ran", cli.Took(step))
	}
	if path, at := p.newest(); at.After(time.Now().Add(skewNoted)) {
		return worry(set, "%s was written %s from now", path, time.Until(at).Round(time.Second))
	}
	if p.answer.date.IsZero() {
		return fine("it runs; there is no hub to compare it with")
	}
	skew := p.answer.at.Sub(p.answer.date) - 500*time.Millisecond // half of the second that the date leaves out
	room := skewNoted + p.answer.took/2
	switch text := skew.Abs().Round(time.Second).String(); {
	case skew.Abs() > skewMax && skew > 0:
		return failure(set, "it is %s ahead of the hub's: tokens end, and events are dated, at other times than the hub's", text)
	case skew.Abs() > skewMax:
		return failure(set, "it is %s behind the hub's: tokens end, and events are dated, at other times than the hub's", text)
	case skew > room:
		return worry(set, "it is %s ahead of the hub's", text)
	case skew < -room:
		return worry(set, "it is %s behind the hub's", text)
	}
	return fine("it agrees with the hub's")
}

// newest returns the most recently written file of the agent's state, by its modification
// time.
func (p *patient) newest() (path string, at time.Time) {
	if p.paths == nil {
		return "", at
	}
	files, _ := filepath.Glob(p.paths.State.In("*").Path()) // fails only for a bad pattern
	slices.Sort(files)
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil && info.ModTime().After(at) {
			path, at = file, info.ModTime()
		}
	}
	return path, at
}
