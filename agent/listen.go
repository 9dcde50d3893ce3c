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

// open takes the address, and says how what is served there is guarded.
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

// ParseListen reads an address as agents and their clients have it in --listen.
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

// EnsureToken makes a token file where there is none.
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

// NamedToken reads a token from a file that a command is given.
func NamedToken(path string) (string, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return "", err
	}
	return TokenIn(paths, path)
}

// TokenIn reads a token from a file that is kept from chats then.
func TokenIn(paths *config.Paths, path string) (string, error) {
	file, err := paths.Token(path)
	if err != nil {
		return "", err
	}
	return ReadToken(file)
}

// MakeToken reads a token, and makes the file where there is none.
func MakeToken(file places.Place) (string, error) {
	if err := EnsureToken(file); err != nil {
		return "", err
	}
	return ReadToken(file)
}

// ReadToken reads a token from a file that nobody else can read. Its errors
// never repeat what the file holds.
func ReadToken(file places.Place) (string, error) { return credential.ReadToken(file.Path()) }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
