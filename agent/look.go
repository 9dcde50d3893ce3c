package agent

import (
	"context"
	"errors"
	"log/slog"

	"waymark/host"
	"waymark/host/config"
)

// Look scans once what an agent with these options would watch, and calls see with the
// engine. It pushes nothing.
func Look(ctx context.Context, s *Options, paths *config.Paths, see func(*host.Host) error) (err error) {
	defer s.RecordRuns(ctx, paths, s.Log)()
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

// once returns the engine's options for a single scan.
func (s *Options) once(paths *config.Paths) (host.Options, error) {
	c, err := s.Load(paths)
	if err != nil {
		return host.Options{}, err
	}
	w, err := newWorkspace(paths, s.Root, s.Sources, s.Environment.Get)
	if err != nil {
		return host.Options{}, err
	}
	w.configure(&c.Conventions)
	if err := w.sources.Load(); err != nil {
		s.Log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	opts := s.HostOptions(&s.Settings, c, paths, s.Log)
	w.env.configure(&opts)
	opts.Roots, opts.Once = w.specs(), true
	return opts, nil
}
