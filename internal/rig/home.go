package rig

import (
	"errors"
	"os"
	"path/filepath"
)

// Home is where a process keeps what belongs to its user.
type Home struct {
	// Dir holds everything: home, state, config and, unless Cache is set,
	// cache. It should be short, since sockets are in it.
	Dir string
	// Cache is the cache directory, when it is shared with others.
	Cache string
}

// NewHome makes the directories.
func NewHome(dir, cache string) (Home, error) {
	h := Home{Dir: dir, Cache: cache}
	if cache == "" {
		h.Cache = filepath.Join(dir, "cache")
	}
	var errs []error
	for _, path := range []string{h.path("home"), h.path("state"), h.path("config/waymark"), h.Cache} {
		errs = append(errs, os.MkdirAll(path, 0o700))
	}
	return h, errors.Join(errs...)
}

func (h Home) path(name string) string { return filepath.Join(h.Dir, name) }

// Socket is where the agent serves its local API.
func (h Home) Socket() string { return h.path("agent.sock") }

// User is the user's own directory, $HOME.
func (h Home) User() string { return h.path("home") }

// Code is where the agent keeps compiled modules.
func (h Home) Code() string { return filepath.Join(h.Cache, "waymark/code") }

// Memos is where the agent keeps them over restarts.
func (h Home) Memos() string { return filepath.Join(h.Cache, "waymark/memo") }

// Configure writes the user's configuration file.
func (h Home) Configure(toml string) error {
	return os.WriteFile(h.path("config/waymark/plugin.toml"), []byte(toml), 0o600)
}

// ShareKey gives the home the key that a shared cache is sealed with, in place
// of one of its own.
func (h Home) ShareKey() error {
	dir := h.path("state/waymark/key")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "key"), []byte("a key of 32 bytes, not a secret!"), 0o600)
}

// Environ is the environment of a process that lives here.
func (h Home) Environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + h.path("home"),
		"XDG_STATE_HOME=" + h.path("state"), "XDG_CONFIG_HOME=" + h.path("config"), "XDG_CACHE_HOME=" + h.Cache,
		"XDG_RUNTIME_DIR=", "WAYMARK_SOCKET=" + h.Socket(),
	}
}
