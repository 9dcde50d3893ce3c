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

// The owners of the files that the daemon itself watches.
const (
	ownConfig  = "config"
	ownWaitFor = "wait-for"
)

// follow reacts to the files that the daemon itself depends on: it reloads the
// configuration when a file of it changes, or on SIGHUP, and lets the first
// snapshot be made when the file of --wait-for is there.
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

// react serves signals and batches until the context ends.
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

// forward hands batches over to a select, until the watcher or ctx ends.
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

// fileDirs says how to watch files: by their directories, and where one is a
// link, also by what it leads to.
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

// waited lets the first snapshot be made when what it waits for is there.
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

// reload takes over the configuration as it is now, if it has changed or if
// that is asked for. One that is broken leaves the old one in force.
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
		if err = d.opts.unapproved(); err != nil { // the copies were read all the same
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

// takeOver loads the configuration and puts it in force.
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
	d.ids.set(c, d.hub) // by which approvals are judged
	d.services.configure(c)
	d.silent.Store(!c.Push.Clients)
	if err := d.setPeer(ctx, peer); err != nil {
		return err
	}
	// Held back, the first snapshot may be waiting for a file that only the
	// caller of this notices: it must not be waited for here.
	return d.freshSoon(ctx)
}

// warnIgnored says which values of the user's don't hold.
func warnIgnored(log *slog.Logger, c *config.Config) {
	for _, i := range c.Ignored {
		log.Warn("a value of the configuration doesn't hold, since "+config.MachineFile+" narrows it",
			slog.String("key", i.Key), slog.String("file", i.File), slog.Any("value", i.Value), slog.Any("in_force", i.InForce))
	}
}

// freshWithin is how long a reload waits for what is found under the new
// configuration, which is in force by then.
const freshWithin = 2 * time.Second

// freshSoon is fresh, but for modules that take long: it goes on without being
// waited for.
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

// setPeer pushes to another peer if the configuration names one.
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

// stamp is a text that differs when the configuration files, or their being
// there, have changed.
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

// Files are the paths of the configuration.
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
