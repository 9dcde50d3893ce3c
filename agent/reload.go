package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/host/config"
	"waymark/host/watch"
)

// Names of the watches on files that the daemon itself depends on.
const (
	ownConfig  = "config"
	ownWaitFor = "wait-for"
)

// follow watches the files that the daemon depends on. It reloads the configuration when
// one of its files changes, or on SIGHUP, and releases the first snapshot when the file of
// --wait-for exists.
func (d *Agent) follow(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	w := watch.New(watch.Options{Logger: d.log})
	w.Set(ownConfig, fileDirs(d.opts.Files(d.workspace.paths)))
	if d.opts.WaitFor != "" {
		w.Set(ownWaitFor, fileDirs([]string{d.opts.WaitFor}))
		d.log.Info("the first snapshot is held back until a file is there, or 'agent ready'", slog.String("file", d.opts.WaitFor))
	}
	batches := make(chan watch.Batch)
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { return w.Run(ctx) })
	g.Go(func() error { forward(ctx, w, batches); return nil })
	d.react(ctx, hup, batches)
	cancel()
	d.refreshing.Wait()
	return errors.Join(w.Close(), g.Wait())
}

// react handles signals and batches until ctx ends.
func (d *Agent) react(ctx context.Context, hup <-chan os.Signal, batches <-chan watch.Batch) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			d.reload(ctx, true)
		case b := <-batches:
			d.waited()
			if b.All || len(b.Owners) > 0 {
				d.reload(ctx, false)
			}
		}
	}
}

// forward sends batches to a channel until the watcher or ctx ends.
func forward(ctx context.Context, w *watch.Watcher, batches chan<- watch.Batch) {
	for {
		b, err := w.Wait(ctx)
		if err != nil {
			return
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return
		}
	}
}

// fileDirs returns the directories to watch for files. If a file is a link, its target's
// directory is watched, too.
func fileDirs(files []string) []watch.Dir {
	var dirs []watch.Dir
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			continue
		}
		forms := []string{abs}
		if target, err := filepath.EvalSymlinks(abs); err == nil && target != abs {
			forms = append(forms, target)
		}
		for _, form := range forms {
			dir := filepath.Dir(form)
			if target, err := filepath.EvalSymlinks(dir); err == nil {
				dir = target
			}
			dirs = append(dirs, watch.Dir{Path: dir, Names: []string{filepath.Base(form)}})
		}
	}
	return dirs
}

// waited releases the first snapshot if the file that it waits for exists.
func (d *Agent) waited() {
	if d.opts.WaitFor == "" {
		return
	}
	if _, err := os.Stat(d.opts.WaitFor); err == nil {
		d.host.Ready()
	} else if !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("the file that is waited for can't be looked at", slog.Any("error", err))
	}
}

// reload applies the configuration if it has changed or a reload was asked for. A broken
// one leaves the old one in force.
func (d *Agent) reload(ctx context.Context, asked bool) {
	stamp := d.opts.stamp(d.workspace.paths)
	if stamp == d.stamp && !asked {
		return
	}
	d.stamp = stamp
	err := d.takeOver(ctx)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		if err = d.opts.unapproved(); err != nil { // the approved copies were read nevertheless
			d.log.Warn(err.Error())
			d.setConfigError(err)
			return
		}
	}
	d.setConfigError(err)
	if err == nil {
		d.log.Info("configuration reloaded")
		return
	}
	var bad *config.Error
	attrs := []any{slog.Any("error", err)}
	if errors.As(err, &bad) {
		attrs = append(attrs, slog.String("excerpt", bad.Excerpt()))
	}
	d.log.Error("configuration not reloaded, the old one stays in force", attrs...)
}

// takeOver loads the configuration and applies it.
func (d *Agent) takeOver(ctx context.Context) error {
	c, err := d.opts.Load(d.workspace.paths)
	if err != nil {
		return err
	}
	warnIgnored(d.log, c)
	opts := d.hostOptions(c)
	peer, err := remotePeer(&d.opts, c, d.workspace.paths, d.log)
	if err != nil {
		return err
	}
	if err := d.host.Reconfigure(ctx, opts); err != nil {
		return err
	}
	if d.workspace.configure(&c.Conventions) {
		if err := d.host.SetRoots(ctx, d.workspace.specs()); err != nil {
			return err
		}
	}
	d.ids.set(c, d.hub) // they decide which approvals count
	d.services.configure(c)
	d.silent.Store(!c.Push.Clients)
	if err := d.setPeer(ctx, peer); err != nil {
		return err
	}
	// Don't wait for the first snapshot: it may be held back for a file that only this
	// goroutine notices.
	return d.freshSoon(ctx)
}

// warnIgnored logs which of the user's values the machine's configuration overrides.
func warnIgnored(log *slog.Logger, c *config.Config) {
	for _, i := range c.Ignored {
		log.Warn("a value of the configuration doesn't hold, since "+config.MachineFile+" narrows it",
			slog.String("key", i.Key), slog.String("file", i.File), slog.Any("value", i.Value), slog.Any("in_force", i.InForce))
	}
}

// freshWithin is how long a reload waits for a refresh under the new configuration, which
// is in force by then.
const freshWithin = 2 * time.Second

// freshSoon is like fresh, but stops waiting after freshWithin; slow modules go on in the
// background.
func (d *Agent) freshSoon(ctx context.Context) error {
	done := make(chan error, 1)
	d.refreshing.Go(func() { done <- d.fresh(ctx) })
	soon := time.NewTimer(cmp.Or(d.opts.Timeout, freshWithin))
	defer soon.Stop()
	select {
	case err := <-done:
		return err
	case <-soon.C:
		d.log.Info("modules take long to look at everything anew", slog.Duration("waited", freshWithin))
		return nil
	}
}

// setPeer switches to another peer if the configuration names one.
func (d *Agent) setPeer(_ context.Context, next *peer) error {
	switch {
	case d.peer.same(next):
		return nil
	case next == nil || d.peer == nil:
		return errors.New("whether there is a hub elsewhere is decided at the start: restart the agent")
	}
	d.peer = next
	return d.host.SetPush(d.prepare(&next.options))
}

// stamp returns a text that changes whenever a configuration file changes, appears or
// disappears.
func (s *Options) stamp(paths *config.Paths) string {
	var text string
	for _, file := range s.Files(paths) {
		data, err := os.ReadFile(file)
		if err != nil {
			text += fmt.Sprintf("%q: %v\n", file, err)
			continue
		}
		text += fmt.Sprintf("%q: %q\n", file, data)
	}
	return text
}

// Files returns the paths of the configuration files.
func (s *Settings) Files(paths *config.Paths) []string {
	files := slices.Clone(paths.ConfigFiles)
	if s.ConfigFile != "" {
		files = []string{config.MachineFile, s.ConfigFile}
	}
	for _, e := range s.exposed {
		files = append(files, e.file)
	}
	return files
}
