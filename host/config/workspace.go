package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"waymark/host/places"
)

// DefaultWorkspace is the id of the workspace of an agent that was started
// without a root.
const DefaultWorkspace = "default"

// idDigits are enough of a hash to tell some thousand workspaces of one user
// apart, and leave a socket's path short.
const idDigits = 12

// Workspace is a workspace with its places. Agents of one user can run side by
// side, one for each workspace.
type Workspace struct {
	// ID is made of Root: the first 12 hexadecimal digits of its SHA-256, or
	// DefaultWorkspace. The agent keeps it when it is given another root.
	ID string
	// Root is the directory that the agent was started for, absolute and
	// without links; empty when it was started without one.
	Root string
	// Socket is the path of the agent's local API.
	Socket string
	// State is the directory for what must survive of this workspace: the
	// token with which it is known to the user's hub, persistent sources.
	State places.Place
}

// ConfigFile is the path of the configuration that is this workspace's alone, laid over
// the user's: where its agent is enrolled. It is with the state, since what a workspace
// holds may not say where it is pushed.
func (w *Workspace) ConfigFile() string { return w.State.In("plugin.toml").Path() }

// Workspace returns the places of the workspace of a root, which may be relative,
// or empty. Nothing is created, and the root needn't exist.
//
// # Errors
//
// The root can't be looked at, or its socket would have too long a path.
func (p *Paths) Workspace(root string) (*Workspace, error) {
	w := new(Workspace)
	if root != "" {
		var err error
		if w.Root, err = Resolved(root); err != nil {
			return nil, err
		}
	}
	w.ID = WorkspaceID(w.Root)
	w.State = p.State.In(workspaces, w.ID)
	if w.Socket = p.Socket; w.Socket == "" {
		w.Socket = filepath.Join(p.Sockets, w.ID+".sock")
	}
	return w, checkSocket(w.Socket, "WAYMARK_SOCKET to a shorter one")
}

// WorkspaceID returns the id of the workspace of a root that is absolute and
// without links, or empty.
func WorkspaceID(root string) string {
	if root == "" {
		return DefaultWorkspace
	}
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:])[:idDigits]
}

// WorkspaceStates returns the state directories of all workspaces that there
// have been.
func (p *Paths) WorkspaceStates() ([]places.Place, error) {
	dir := p.State.In(workspaces)
	entries, err := os.ReadDir(dir.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var states []places.Place
	for _, entry := range entries {
		if entry.IsDir() {
			states = append(states, dir.In(entry.Name()))
		}
	}
	return states, err
}

// HubSocket returns the path at which a hub of the user's agents listens. It
// isn't the one that hub serve takes when it is told nothing.
func (p *Paths) HubSocket() (string, error) {
	path := filepath.Join(p.Sockets, "hub.sock")
	return path, checkSocket(path, "XDG_RUNTIME_DIR to a directory with a shorter path")
}

// Resolved makes a path absolute and resolves all links in it. One that doesn't
// exist is only made absolute.
func Resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return resolved, err
}
