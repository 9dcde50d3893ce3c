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

	"github.com/spf13/pflag"

	"waymark/agent/server"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/credential"
)

// listenSettings are the flags of run about the local API.
type listenSettings struct {
	address   string
	tokenFile string
}

func (s *listenSettings) addFlags(f *pflag.FlagSet) {
	f.StringVar(&s.address, "listen", "", "`address` to serve the local API at: unix:PATH or tcp:HOST:PORT")
	f.StringVar(&s.tokenFile, "listen-token-file", "", "`file` with the token that --listen tcp:… asks for; it is made if it isn't there")
}

// open takes the address, and says how what is served there is guarded.
func (s *listenSettings) open(ctx context.Context, paths *config.Paths, w *config.Workspace) (net.Listener, server.Options, error) {
	network, address, err := parseListen(cmp.Or(s.address, "unix:"+w.Socket))
	switch {
	case err != nil:
		return nil, server.Options{}, err
	case network == "tcp":
		return s.openTCP(ctx, address, paths)
	case s.tokenFile != "":
		return nil, server.Options{}, cli.Usage("--listen-token-file is for --listen tcp:HOST:PORT: a socket needs no token")
	}
	l, err := server.Listen(address)
	return l, server.Options{}, err
}

// parseListen reads an address as agents and their clients have it in --listen.
func parseListen(text string) (network, address string, err error) {
	network, address, _ = strings.Cut(text, ":")
	address = strings.TrimPrefix(address, "//")
	if address == "" || network != "unix" && network != "tcp" {
		err = cli.Usage("--listen %q: use unix:PATH or tcp:HOST:PORT", text)
	}
	return network, address, err
}

func (s *listenSettings) openTCP(ctx context.Context, address string, paths *config.Paths) (net.Listener, server.Options, error) {
	if s.tokenFile == "" {
		return nil, server.Options{}, cli.Usage("--listen %s needs --listen-token-file: any user of this machine can connect there", s.address)
	}
	file, err := paths.Token(s.tokenFile)
	if err != nil {
		return nil, server.Options{}, err
	}
	token, err := madeToken(file)
	if err != nil {
		return nil, server.Options{}, err
	}
	l, err := server.ListenTCP(ctx, address)
	if errors.Is(err, server.ErrAddress) {
		return nil, server.Options{}, cli.Usage("--listen: %w", err)
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
