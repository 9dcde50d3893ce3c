package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"waymark/cmd/internal/cli"
	"waymark/host/api"
	"waymark/host/config"
	"waymark/host/places"
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
func (s *listenSettings) open(ctx context.Context, paths *config.Paths, w *config.Workspace) (net.Listener, api.Options, error) {
	scheme, rest, _ := strings.Cut(s.address, ":")
	switch {
	case scheme == "tcp" && rest != "":
		return s.openTCP(ctx, rest, paths)
	case s.tokenFile != "":
		return nil, api.Options{}, cli.Usage("--listen-token-file is for --listen tcp:HOST:PORT: a socket needs no token")
	case s.address == "":
		rest = w.Socket
	case scheme != "unix" || strings.TrimPrefix(rest, "//") == "":
		return nil, api.Options{}, cli.Usage("--listen %q: use unix:PATH or tcp:HOST:PORT", s.address)
	}
	l, err := api.Listen(strings.TrimPrefix(rest, "//"))
	return l, api.Options{}, err
}

func (s *listenSettings) openTCP(ctx context.Context, address string, paths *config.Paths) (net.Listener, api.Options, error) {
	if s.tokenFile == "" {
		return nil, api.Options{}, cli.Usage("--listen %s needs --listen-token-file: any user of this machine can connect there", s.address)
	}
	file, err := paths.Token(s.tokenFile)
	if err != nil {
		return nil, api.Options{}, err
	}
	if err := ensureToken(file); err != nil {
		return nil, api.Options{}, err
	}
	token, err := readToken(file)
	if err != nil {
		return nil, api.Options{}, err
	}
	l, err := api.ListenTCP(ctx, address)
	if errors.Is(err, api.ErrAddress) {
		return nil, api.Options{}, cli.Usage("--listen: %w", err)
	}
	return l, api.Options{Token: token}, err
}

// ensureToken makes a token file where there is none.
func ensureToken(file places.Place) error {
	path := file.Path()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, rand.Text())
	return errors.Join(err, f.Close())
}

// tokenFile is a file with a token that a command is given.
func tokenFile(path string) (places.Place, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return places.Place{}, err
	}
	return paths.Token(path)
}

// readToken reads a token from a file that nobody else can read. Its errors
// never repeat what the file holds.
func readToken(file places.Place) (string, error) {
	path := file.Path()
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // its user has named it
	if err != nil {
		return "", fmt.Errorf("token file: %w: name the file that holds the agent's token", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("token file %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("token file %s can be read by others: chmod 600 it, and make a new token if somebody could have", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \n\r\t") {
		return "", fmt.Errorf("token file %s must hold one token and nothing else", path)
	}
	return token, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
