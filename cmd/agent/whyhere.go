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
func (a *app) whyHere(ctx context.Context, s *runSettings, places *config.Places, paths []string) (_ []why.Answer, err error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	defer a.note(ctx, places, log)()
	opts, err := a.onceOptions(s, places, log)
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
	answers := make([]why.Answer, len(paths))
	for i, path := range paths {
		if answers[i], err = h.Why(ctx, path); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// onceOptions are those of a host that looks once, and pushes nothing.
func (a *app) onceOptions(s *runSettings, places *config.Places, log *slog.Logger) (host.Options, error) {
	c, err := s.load(places)
	if err != nil {
		return host.Options{}, err
	}
	w, err := newWorkspace(places, s.root, s.sources, os.Getenv)
	if err != nil {
		return host.Options{}, err
	}
	if err := w.sources.Load(); err != nil {
		log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	opts, err := a.hostOptions(&s.settings, c, places, w.env, log)
	if err != nil {
		return host.Options{}, err
	}
	opts.Roots = w.specs()
	opts.Progress = a.progress
	return opts, nil
}
