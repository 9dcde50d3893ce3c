package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waymark/host/places"
)

// Paths are those at which Waymark keeps its things.
type Paths struct {
	// Home is the user's home directory; empty when there is none.
	Home string
	// Socket is where WAYMARK_SOCKET has agents serve their local API; empty
	// when it isn't set, and each workspace has a socket of its own.
	Socket string
	// Sockets is the directory of sockets.
	Sockets string
	// State is the directory for what must survive: databases, approvals, and
	// in w what belongs to workspaces.
	State places.Place
	// Cache is the directory for what can be made again.
	Cache places.Place
	// Config is the directory of the user's configuration; empty when there can be none.
	Config string
	// ConfigFiles are the paths of configuration files, for Load.
	ConfigFiles []string
	// Own has all of these, and what else turns out to be the agent's own.
	Own *places.Registry
}

// Environment is where FindPaths looks. The zero value is the process's own.
type Environment struct {
	// Getenv returns a variable, "" when it isn't set; nil means os.Getenv.
	Getenv func(string) string
	// Home returns the home directory; nil means os.UserHomeDir.
	Home func() (string, error)
}

// Get returns a variable, "" when it isn't set.
func (env Environment) Get(name string) string {
	if env.Getenv == nil {
		return os.Getenv(name)
	}
	return env.Getenv(name)
}

// socketMax bounds the path of a Unix socket, in bytes: Linux takes 107,
// darwin 103.
const socketMax = 103

// workspaces is the directory of what belongs to workspaces. Its name is short
// since sockets are in it.
const workspaces = "w"

// FindPaths applies the XDG base directory rules:
//
//	sockets  $XDG_RUNTIME_DIR/waymark/w where the first of them exists, and isn't in a
//	         directory in which every user may make files, else w in the state directory
//	state    $XDG_STATE_HOME/waymark, else ~/.local/state/waymark
//	cache    $XDG_CACHE_HOME/waymark, else ~/.cache/waymark
//	config   /etc/waymark/plugin.toml, then $XDG_CONFIG_HOME/waymark/plugin.toml,
//	         else ~/.config/waymark/plugin.toml
//
// XDG variables that hold relative paths are ignored, as the rules say.
// WAYMARK_SOCKET may be written as unix:PATH. Nothing is created; see
// MakePrivate. The places of one workspace are in Workspace.
func FindPaths(env Environment) (*Paths, error) {
	if env.Home == nil {
		env.Home = os.UserHomeDir
	}
	home, _ := env.Home() // its lack is reported where it is needed
	p := &Paths{Home: home, ConfigFiles: []string{MachineFile}, Own: places.New(home)}
	state, err := env.base(home, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return nil, err
	}
	cache, err := env.base(home, "XDG_CACHE_HOME", ".cache")
	if err != nil {
		return nil, err
	}
	// That there can be no configuration of the user's own is no reason to stop.
	if p.Config, err = env.base(home, "XDG_CONFIG_HOME", ".config"); err == nil {
		p.ConfigFiles = append(p.ConfigFiles, filepath.Join(p.Config, "plugin.toml"))
	}
	// None of these is exposed, since there is no workspace yet.
	for _, file := range p.ConfigFiles {
		_, _ = p.Own.Add(places.Config, filepath.Dir(file))
	}
	p.State, _ = p.Own.Add(places.State, state)
	p.Cache, _ = p.Own.Add(places.Cache, cache)
	p.Sockets = p.State.In(workspaces).Path()
	// It is often set without being there, in containers and after su, or is below /tmp,
	// where nobody can be kept from renaming it.
	if dir := env.Get("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && isDir(dir) {
		sockets := filepath.Join(dir, "waymark", workspaces)
		if _, err := p.Own.Add(places.Sockets, sockets); err == nil {
			p.Sockets = sockets
		}
	}
	p.Socket, err = env.socket()
	return p, err
}

// base returns Waymark's directory in an XDG base directory.
func (env *Environment) base(home, variable, under string) (string, error) {
	if dir := env.Get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "waymark"), nil
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("there is no home directory: set HOME, or %s to an absolute path", variable)
	}
	return filepath.Join(home, under, "waymark"), nil
}

// socket returns what WAYMARK_SOCKET says.
func (env *Environment) socket() (string, error) {
	own := strings.TrimPrefix(env.Get("WAYMARK_SOCKET"), "unix:")
	if own == "" {
		return "", nil
	}
	if !filepath.IsAbs(own) {
		return "", fmt.Errorf("WAYMARK_SOCKET is %q: write an absolute path", own)
	}
	own = filepath.Clean(own)
	return own, checkSocket(own, "WAYMARK_SOCKET to a shorter one")
}

// checkSocket refuses a path that no socket can have.
func checkSocket(path, hint string) error {
	if len(path) <= socketMax {
		return nil
	}
	return fmt.Errorf("the socket path %s has %d bytes, %d are possible: set %s", path, len(path), socketMax, hint)
}

// Expand replaces a leading "~" by the home directory, and ~/.config/waymark by the
// directory of the user's configuration, which may be elsewhere.
func (p *Paths) Expand(path string) (string, error) {
	if below, ok := strings.CutPrefix(path, "~/.config/waymark"); ok && p.Config != "" && (below == "" || below[0] == '/') {
		return filepath.Join(p.Config, below), nil
	}
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, nil
	}
	if !filepath.IsAbs(p.Home) {
		return "", fmt.Errorf("%s: there is no home directory: set HOME, or write the whole path", path)
	}
	return filepath.Join(p.Home, rest), nil
}

// Token registers a file that holds a token, which may begin with "~".
//
// # Errors
//
// places.ErrExposed: whoever acts for a chat could read or replace it. There is no home
// directory, and the path begins with it.
func (p *Paths) Token(path string) (places.Place, error) {
	path, err := p.Expand(path)
	if err != nil {
		return places.Place{}, err
	}
	file, err := p.Own.Add(places.Token, path)
	if errors.Is(err, places.ErrExposed) {
		return places.Place{}, fmt.Errorf("token file %w: move it to %s, with mode 0600", err, cmp.Or(p.Config, p.State.Path()))
	}
	return file, err
}

// MakePrivate makes sure that there is a directory that belongs to the user
// and is open to nobody else, mode 0700. Parents are made as needed, with the
// same mode; those that exist stay as they are.
//
// # Errors
//
// The path is taken by something else, or belongs to somebody else. A mode
// that is too wide is narrowed instead.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: make it possible to create this directory, or name another place", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(narrow(d, dir), d.Close())
}

// narrow works on the open directory, so that what is checked is what is
// changed.
func narrow(d *os.File, dir string) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	if owner, ok := ownerOf(info); ok && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): remove it, or name another place", dir, owner, os.Geteuid())
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return d.Chmod(0o700)
}

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) (int, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
