package agent

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

// open opens the address, and returns how to guard what is served there.
func (s *Options) open(ctx context.Context, paths *config.Paths, w *config.Workspace) (net.Listener, server.Options, error) {
	network, address, err := ParseListen(cmp.Or(s.Listen, "unix:"+w.Socket))
	switch {
	case err != nil:
		return nil, server.Options{}, err
	case network == "tcp":
		return s.openTCP(ctx, address, paths)
	case s.ListenTokenFile != "":
		return nil, server.Options{}, usage("--listen-token-file is for --listen tcp:HOST:PORT: a socket needs no token")
	}
	l, err := server.Listen(address)
	return l, server.Options{}, err
}

// ParseListen parses an address as written in --listen.
func ParseListen(text string) (network, address string, err error) {
	network, address, _ = strings.Cut(text, ":")
	address = strings.TrimPrefix(address, "//")
	if address == "" || network != "unix" && network != "tcp" {
		err = usage("--listen %q: use unix:PATH or tcp:HOST:PORT", text)
	}
	return network, address, err
}

func (s *Options) openTCP(ctx context.Context, address string, paths *config.Paths) (net.Listener, server.Options, error) {
	if s.ListenTokenFile == "" {
		return nil, server.Options{}, usage("--listen %s needs --listen-token-file: any user of this machine can connect there", s.Listen)
	}
	file, err := paths.Token(s.ListenTokenFile)
	if err != nil {
		return nil, server.Options{}, err
	}
	token, err := MakeToken(file)
	if err != nil {
		return nil, server.Options{}, err
	}
	l, err := server.ListenTCP(ctx, address)
	if errors.Is(err, server.ErrAddress) {
		return nil, server.Options{}, usage("--listen: %w", err)
	}
	return l, server.Options{Token: token}, err
}

// EnsureToken creates a token file if it is missing.
func EnsureToken(file places.Place) error {
	if err := os.MkdirAll(filepath.Dir(file.Path()), 0o700); err != nil {
		return err
	}
	err := credential.WriteFile(file.Path(), credential.LocalToken.New())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// NamedToken reads a token from a file that was given to a command.
func NamedToken(path string) (string, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return "", err
	}
	return TokenIn(paths, path)
}

// TokenIn reads a token from a file, which is hidden from chats from then on.
func TokenIn(paths *config.Paths, path string) (string, error) {
	file, err := paths.Token(path)
	if err != nil {
		return "", err
	}
	return ReadToken(file)
}

// MakeToken reads a token, and creates the file if it is missing.
func MakeToken(file places.Place) (string, error) {
	if err := EnsureToken(file); err != nil {
		return "", err
	}
	return ReadToken(file)
}

// ReadToken reads a token from a file that only the user can read. Its errors never contain
// the file's content.
func ReadToken(file places.Place) (string, error) { return credential.ReadToken(file.Path()) }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
