package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"waymark/test/process"
)

// Home is where a process keeps what belongs to its user.
type Home struct {
	// Dir holds everything: home, state, cache and config. It should be short,
	// since sockets are in it.
	Dir string
	// PerWorkspace gives each agent a socket of its own, as on a desktop. Without
	// it there is one agent, which listens at Socket.
	PerWorkspace bool
}

// NewHome makes the directories.
func NewHome(dir string) (Home, error) {
	h := Home{Dir: dir}
	var errs []error
	for _, path := range []string{h.User(), h.path("state"), h.path("cache"), h.path("config/waymark"), h.path("run")} {
		errs = append(errs, os.MkdirAll(path, 0o700))
	}
	return h, errors.Join(errs...)
}

func (h Home) path(name string) string { return filepath.Join(h.Dir, name) }

// Socket is where the agent serves its local API.
func (h Home) Socket() string { return h.path("agent.sock") }

// User is the user's own directory, $HOME.
func (h Home) User() string { return h.path("home") }

// State is where Waymark keeps what must survive.
func (h Home) State() string { return h.path("state/waymark") }

// ControlToken returns the control token of the one workspace that has had an
// agent here.
func (h Home) ControlToken() (string, error) {
	found, err := filepath.Glob(filepath.Join(h.State(), "w", "*", "control.token"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("there are %d control tokens in %s", len(found), h.State())
	}
	if err != nil {
		return "", err
	}
	token, err := os.ReadFile(found[0])
	return strings.TrimSpace(string(token)), err
}

// Memos is where the agent keeps them over restarts.
func (h Home) Memos() string { return h.path("cache/waymark/memo") }

// Configure writes the user's configuration file.
func (h Home) Configure(toml string) error {
	return os.WriteFile(h.path("config/waymark/plugin.toml"), []byte(toml), 0o600)
}

// Environ is the environment of a process that lives here.
func (h Home) Environ() []string {
	sockets := []string{"XDG_RUNTIME_DIR=", "WAYMARK_SOCKET=" + h.Socket()}
	if h.PerWorkspace {
		sockets = []string{"XDG_RUNTIME_DIR=" + h.path("run"), "WAYMARK_SOCKET="}
	}
	return append(sockets,
		"PATH="+os.Getenv("PATH"),
		"HOME="+h.User(),
		"XDG_STATE_HOME="+h.path("state"), "XDG_CONFIG_HOME="+h.path("config"), "XDG_CACHE_HOME="+h.path("cache"),
	)
}

// Start starts a program that lives here; it is killed when ctx ends.
func (h Home) Start(ctx context.Context, name string, args ...string) (*process.Process, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = h.Environ(), h.Dir
	return process.Start(cmd)
}
