package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"waymark/agent/server"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/credential"
)

// open takes the address, and says how what is served there is guarded.
func (s *options) open(ctx context.Context, paths *config.Paths, w *config.Workspace) (net.Listener, server.Options, error) {
	network, address, err := parseListen(cmp.Or(s.listen, "unix:"+w.Socket))
	switch {
	case err != nil:
		return nil, server.Options{}, err
	case network == "tcp":
		return s.openTCP(ctx, address, paths)
	case s.listenTokenFile != "":
		return nil, server.Options{}, usage("--listen-token-file is for --listen tcp:HOST:PORT: a socket needs no token")
	}
	l, err := server.Listen(address)
	return l, server.Options{}, err
}

// parseListen reads an address as agents and their clients have it in --listen.
func parseListen(text string) (network, address string, err error) {
	network, address, _ = strings.Cut(text, ":")
	address = strings.TrimPrefix(address, "//")
	if address == "" || network != "unix" && network != "tcp" {
		err = usage("--listen %q: use unix:PATH or tcp:HOST:PORT", text)
	}
	return network, address, err
}

func (s *options) openTCP(ctx context.Context, address string, paths *config.Paths) (net.Listener, server.Options, error) {
	if s.listenTokenFile == "" {
		return nil, server.Options{}, usage("--listen %s needs --listen-token-file: any user of this machine can connect there", s.listen)
	}
	file, err := paths.Token(s.listenTokenFile)
	if err != nil {
		return nil, server.Options{}, err
	}
	token, err := madeToken(file)
	if err != nil {
		return nil, server.Options{}, err
	}
	l, err := server.ListenTCP(ctx, address)
	if errors.Is(err, server.ErrAddress) {
		return nil, server.Options{}, usage("--listen: %w", err)
	}
	return l, server.Options{Token: token}, err
}

// ensureToken makes a token file where there is none.
func ensureToken(file places.Place) error {
	if err := os.MkdirAll(filepath.Dir(file.Path()), 0o700); err != nil {
		return err
	}
	err := credential.WriteFile(file.Path(), credential.LocalToken.New())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// namedToken reads a token from a file that a command is given.
func namedToken(path string) (string, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return "", err
	}
	return tokenIn(paths, path)
}

// tokenIn reads a token from a file that is kept from chats then.
func tokenIn(paths *config.Paths, path string) (string, error) {
	file, err := paths.Token(path)
	if err != nil {
		return "", err
	}
	return readToken(file)
}

// madeToken reads a token, and makes the file where there is none.
func madeToken(file places.Place) (string, error) {
	if err := ensureToken(file); err != nil {
		return "", err
	}
	return readToken(file)
}

// readToken reads a token from a file that nobody else can read. Its errors
// never repeat what the file holds.
func readToken(file places.Place) (string, error) { return credential.ReadToken(file.Path()) }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
