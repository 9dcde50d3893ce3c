package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"waymark/host"
	"waymark/host/api"
	"waymark/host/config"
	"waymark/host/push"
)

func (a *app) prepare(ctx context.Context, s *runSettings) (_ *daemon, err error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	places, err := config.FindPlaces(config.Environment{})
	if err != nil {
		return nil, err
	}
	socket, err := socketPath(s.listen, places)
	if err != nil {
		return nil, err
	}
	c, err := s.load(places)
	if err != nil {
		return nil, err
	}
	opts, err := a.hostOptions(&s.settings, c, places, log)
	if err != nil {
		return nil, err
	}
	opts.Roots = defaultRoots(places.Home, s.root, s.sources)
	opts.Progress = a.progress
	opts.Push, err = remotePeer(s, c, places, log)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.root); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("root %s does not exist: name an existing directory with --root", s.root)
	}
	d := &daemon{app: a, log: log, started: time.Now()}
	l, err := api.Listen(socket)
	if err != nil {
		return nil, err
	}
	d.listener = l
	d.serve = func(ctx context.Context) error { return api.Serve(ctx, l, api.Handler(d, log), log) }
	if opts.Push == nil {
		if d.hub, err = startHub(ctx, places, log); err != nil {
			return d, err
		}
		opts.Push = d.hub.peer(log)
	}
	d.host, err = host.New(opts)
	d.base = s.root
	if abs, err := filepath.Abs(s.root); err == nil {
		d.base = abs
	}
	return d, err
}

// remotePeer is the hub that flags or the configuration name; nil when they
// name none.
func remotePeer(s *runSettings, c *config.Config, places *config.Places, log *slog.Logger) (*push.Options, error) {
	url, tokenFile := c.Push.URL, c.Push.TokenFile
	if s.url != "" {
		url = s.url
	}
	if s.tokenFile != "" {
		tokenFile = s.tokenFile
	}
	if url == "" {
		if s.tokenFile != "" {
			return nil, usage("--token-file without --url: the hub that is started here has its own token")
		}
		return nil, nil
	}
	target, err := push.ParseURL(url)
	if err != nil {
		if s.url != "" {
			return nil, usage("--url: %w", err)
		}
		return nil, fmt.Errorf("push.url: %w", err)
	}
	opts := &push.Options{Dialer: target, Peer: target.String(), Logger: log}
	if tokenFile == "" {
		return nil, usage("--url needs --token-file: make a token with 'hub token create --role agent' and put it into a file")
	}
	if tokenFile, err = places.Expand(tokenFile); err != nil {
		return nil, err
	}
	if opts.Token, err = readToken(tokenFile); err != nil {
		return nil, err
	}
	if !target.Local() {
		log.Warn("the peer is not on this machine, and plain DRPC is not encrypted: token and contents can be read on the way",
			slog.String("peer", target.String()))
	}
	return opts, nil
}
