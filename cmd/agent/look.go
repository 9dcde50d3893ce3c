package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"waymark/host"
	"waymark/host/config"
)

// look calls see with an engine that looks once at what an agent with these options would
// look at. It pushes nothing.
func look(ctx context.Context, s *options, paths *config.Paths, see func(*host.Host) error) (err error) {
	defer s.recordRuns(ctx, paths, s.log)()
	opts, err := s.once(paths)
	if err != nil {
		return err
	}
	h, err := host.New(opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return err
	}
	return see(h)
}

// once are the engine's options for that.
func (s *options) once(paths *config.Paths) (host.Options, error) {
	c, err := s.load(paths)
	if err != nil {
		return host.Options{}, err
	}
	w, err := newWorkspace(paths, s.root, s.sources, os.Getenv)
	if err != nil {
		return host.Options{}, err
	}
	w.configure(&c.Conventions)
	if err := w.sources.Load(); err != nil {
		s.log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	opts := s.hostOptions(&s.settings, c, paths, s.log)
	w.env.configure(&opts)
	opts.Roots, opts.Once = w.specs(), true
	return opts, nil
}
