package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/api"
	"waymark/host/config"
	"waymark/host/metrics"
)

// prepare makes everything that a daemon is made of, and finds what is wrong
// with flags, files and ports. The daemon it returns with an error is to be
// closed.
func (a *app) prepare(ctx context.Context, s *runSettings) (_ *daemon, err error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	stamp := s.stamp(paths) // first, so that what changes from here on is reloaded
	c, err := s.load(paths)
	if err != nil {
		return nil, err
	}
	w, err := newWorkspace(paths, s.root, s.sources, os.Getenv)
	if err != nil {
		return nil, err
	}
	if err := w.sources.Load(); err != nil {
		log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	d := &daemon{
		app: a, log: log, started: time.Now(), settings: s, workspace: w, stamp: stamp,
		metrics: metrics.New(metrics.Options{Version: cli.CurrentVersion().Version}),
	}
	if err := d.choosePeer(c); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.root); s.root != "" && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("root %s does not exist: name an existing directory with --root", s.root)
	}
	if err := d.listen(ctx); err != nil {
		return d, err
	}
	d.stopRecording = a.recordRuns(ctx, paths, log)
	return d, d.makeHost(ctx, c)
}

// choosePeer finds out where to push to.
func (d *daemon) choosePeer(c *config.Config) (err error) {
	if d.peer, err = remotePeer(d.settings, c, d.workspace.paths, d.log); d.peer != nil {
		d.peer.options.Observe = d.observePush
	}
	return err
}

// listen takes the local API's address.
func (d *daemon) listen(ctx context.Context) error {
	l, opts, err := d.settings.listen.open(ctx, d.workspace.paths)
	if err != nil {
		return err
	}
	d.listener = l
	timeout := d.app.timeout
	opts.Backend, opts.Metrics, opts.Logger, opts.WriteTimeout = d, d.metricsHandler(), d.log, timeout
	handler := api.Handler(opts)
	server := &api.Server{Handler: handler, Logger: d.log, HeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout}
	d.serve = func(ctx context.Context) error { return server.Serve(ctx, l) }
	return nil
}

// makeHost makes the engine, and the hub if there is none elsewhere.
func (d *daemon) makeHost(ctx context.Context, c *config.Config) error {
	opts, err := d.app.hostOptions(&d.settings.settings, c, d.workspace.paths, d.workspace.env, d.log)
	if err != nil {
		return err
	}
	opts.Roots = d.workspace.specs()
	opts.Hold = d.settings.waitFor != ""
	opts.Settled = d.app.release
	opts.Observe, opts.ObserveWatch = d.observe, d.observeWatch
	if d.peer != nil {
		opts.Push = &d.peer.options
	} else {
		if d.hub, err = startHub(ctx, d.workspace.paths, d.log); err != nil {
			return err
		}
		opts.Push = d.hub.peer(d.log)
		opts.Push.Observe = d.observePush
	}
	d.host, err = host.New(opts)
	return err
}
