package hostile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"waymark/host"
	"waymark/internal/reexec"
)

// Result is what came out of a case.
type Result struct {
	Name    string
	Outcome string
	// Error is the hostile module's, of loading or of the run.
	Error string
	// Wrong lists what isn't as it should be, times apart: those are judged
	// by their medians.
	Wrong []string
	// Time is how long loading took, or the slowest refresh if that was longer.
	Time time.Duration
	// Memory is by how many bytes the process grew at its height.
	Memory int64
	// GC is the longest garbage collection elsewhere.
	GC time.Duration
	// Endurance tells what many rounds left.
	Endurance string

	Rows, Victim, Warnings, States []string
}

// Settings are a runner's.
type Settings struct {
	// Builtin is the built-in module, Cache a directory with its native code.
	Builtin []byte
	Cache   string
	// Dir is where cases make their directories.
	Dir string
	// Rounds is how often endurance cases do what they do.
	Rounds int
	// Compiler compiles modules in other processes; nil means in this one.
	Compiler *reexec.Program
	// Stretch and Settle are those of the PoolOptions.
	Stretch int
	Settle  time.Duration
}

// Bench runs one case in this process. A Drive has it as its tools.
type Bench struct {
	Dirs   Dirs
	c      *Case
	set    Settings
	rounds int
	res    Result
	logs   logBuffer
}

// run runs a case. The error is the runner's own.
func run(ctx context.Context, c *Case, set Settings) (res *Result, err error) {
	base, err := os.MkdirTemp(set.Dir, "case-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeAll(base)) }()
	b := &Bench{c: c, set: set, rounds: set.Rounds, res: Result{Name: c.Name}}
	if b.Dirs, err = newDirs(base, c.Roots); err != nil {
		return nil, err
	}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	if c.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Procs))
	}
	before := settledUsage(usage{}, 0)
	m := startMeasuring()
	during := b.startDuring(ctx)
	if c.Drive != nil {
		err = c.Drive(ctx, b)
	} else {
		err = b.drive(ctx)
	}
	b.res.Memory, b.res.GC = m.stop()
	if err := errors.Join(err, during()); err != nil {
		return nil, err
	}
	if after := settledUsage(before, set.Settle); after.goroutines > before.goroutines || after.descriptors > before.descriptors {
		b.wrong("it leaves %s", after.since(before))
	}
	b.judge()
	return &b.res, nil
}

// removeAll makes directories that a case closed removable again.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() && err != nil {
			return errors.Join(os.Chmod(path, 0o700), filepath.SkipDir)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// prepare fills the directories.
func (b *Bench) prepare() error {
	err := os.WriteFile(filepath.Join(b.Dirs.Plugins, victimFile), victim(), 0o644)
	if err == nil && b.c.Module != nil {
		err = os.WriteFile(filepath.Join(b.Dirs.Plugins, hostileName+".wasm"), b.c.Module(), 0o644)
	}
	if err == nil && b.c.Plugins != nil {
		err = b.c.Plugins(b.Dirs.Plugins)
	}
	if err == nil && b.c.Workspace != nil {
		err = b.c.Workspace(b.Dirs.Root)
	}
	return err
}

func (b *Bench) wrong(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.res.Wrong, text) && len(b.res.Wrong) < 20 {
		b.res.Wrong = append(b.res.Wrong, text)
	}
}

// startDuring starts the case's own attack; the function it returns ends it.
func (b *Bench) startDuring(ctx context.Context) func() error {
	if b.c.During == nil {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.c.During(ctx, b.Dirs) }()
	return func() error {
		cancel()
		return <-done
	}
}

// drive is the story of most cases: load, and refresh.
func (b *Bench) drive(ctx context.Context) error {
	h, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer b.close(h)
	for range max(b.c.Rounds, 1) {
		if err := b.refresh(ctx, h); err != nil {
			return err
		}
		h.Settle(ctx)
	}
	return nil
}

// open makes an engine and loads what there is.
func (b *Bench) open(ctx context.Context) (*host.Host, error) {
	opts := b.c.options(b.Dirs, b.set.Builtin, b.set.Cache, b.set.Stretch)
	if b.c.Class == ClassCompiling {
		// As the agent does. In other cases the module is small, and what counts
		// is the run and not the start of a process.
		opts.Compiler = b.set.Compiler
	}
	opts.Logger = slog.New(slog.NewTextHandler(&b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := h.Load(ctx); err != nil {
		b.close(h)
		return nil, err
	}
	b.res.Time = max(b.res.Time, time.Since(start))
	return h, nil
}

func (b *Bench) close(h *host.Host) {
	if err := h.Close(); err != nil {
		b.wrong("closing the engine: %v", err)
	}
}

// reload makes an engine, looks at the plugins and closes it.
func (b *Bench) reload(ctx context.Context) ([]string, error) {
	h, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close(h)
	err = b.refresh(ctx, h)
	return b.res.States, err
}
