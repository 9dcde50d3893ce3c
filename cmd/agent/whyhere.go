package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/why"
)

// whyHere answers without an agent: it looks at what `agent run` with the same
// flags would look at, once.
func (a *app) whyHere(ctx context.Context, s *runSettings, paths *config.Paths, asked []string) (_ []why.Answer, err error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	defer a.recordRuns(ctx, paths, log)()
	opts, err := a.onceOptions(s, paths, log)
	if err != nil {
		return nil, err
	}
	h, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	answers := make([]why.Answer, len(asked))
	for i, path := range asked {
		if answers[i], err = h.Why(ctx, path); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// onceOptions are those of a host that looks once, and pushes nothing.
func (a *app) onceOptions(s *runSettings, paths *config.Paths, log *slog.Logger) (host.Options, error) {
	c, err := s.load(paths)
	if err != nil {
		return host.Options{}, err
	}
	w, err := newWorkspace(paths, s.root, s.sources, os.Getenv)
	if err != nil {
		return host.Options{}, err
	}
	if err := w.sources.Load(); err != nil {
		log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	opts, err := a.hostOptions(&s.settings, c, paths, w.env, log)
	if err != nil {
		return host.Options{}, err
	}
	opts.Roots = w.specs()
	opts.Progress = a.progress
	return opts, nil
}
