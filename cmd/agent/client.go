package main

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/host/api"
	"waymark/host/api/client"
	"waymark/host/config"
)

// connection says which running agent a command asks.
type connection struct {
	listen    string
	tokenFile string
}

// addFlags adds the flags to a command and all below it.
func (c *connection) addFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&c.listen, "listen", "", "`address` of the agent, if not the usual one: unix:PATH or tcp:HOST:PORT")
	f.StringVar(&c.tokenFile, "listen-token-file", "", "`file` with the token of an agent that listens on TCP, as for 'agent run'")
}

// client makes the client. It connects with each call.
func (c *connection) client() (client.Client, error) {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	scheme, rest, _ := strings.Cut(c.listen, ":")
	switch {
	case c.listen == "":
		if c.tokenFile != "" {
			return nil, cli.Usage("--listen-token-file without --listen: the usual place is a socket, which needs no token")
		}
		return client.New(paths.Socket, client.Options{}), nil
	case scheme == "unix" && strings.TrimPrefix(rest, "//") != "":
		return client.New(c.listen, client.Options{}), nil
	case scheme != "tcp" || rest == "":
		return nil, cli.Usage("--listen %q: use unix:PATH or tcp:HOST:PORT", c.listen)
	case c.tokenFile == "":
		return nil, cli.Usage("--listen %q needs --listen-token-file: name the file that the agent was started with", c.listen)
	}
	path, err := paths.Expand(c.tokenFile)
	if err != nil {
		return nil, err
	}
	token, err := readToken(path)
	if err != nil {
		return nil, err
	}
	return client.New(c.listen, client.Options{Token: token}), nil
}

// answered gives the agent's "no" its exit code: nothing runs, not found.
func answered(err error) error {
	var refused *api.Error
	no := errors.Is(err, client.ErrNotRunning) || errors.As(err, &refused) && refused.Code == http.StatusNotFound
	if no {
		return &cli.Error{Code: cli.CodeNo, Err: err}
	}
	return err
}

// absolutePath binds a path to this process's working directory, since the
// agent has another. "~" stays: it is the agent's home that is meant.
func absolutePath(path string) (string, error) {
	switch {
	case path == "":
		return "", cli.Usage("an empty path names nothing")
	case path == "~" || strings.HasPrefix(path, "~/"):
		return path, nil
	}
	return filepath.Abs(path)
}
