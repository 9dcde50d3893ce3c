package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"waymark/agent/server"
	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/atomicfile"
	"waymark/internal/credential"
	"waymark/internal/httpapi/apiclient"
)

// instance is a running agent as its workspace's state directory tells of it to
// commands. One that was killed is still told of.
type instance struct {
	ID string `json:"id"` // of the workspace
	// Root is what the agent looks into now, without links; empty while it has
	// none.
	Root   string `json:"root"`
	PID    int    `json:"pid"`
	Listen string `json:"listen"` // unix:PATH or tcp:HOST:PORT

	state places.Place // the directory in which this is told
}

// name is the instance for people.
func (i *instance) name() string {
	return fmt.Sprintf("%s (pid %d, %s)", term.Visible(cmp.Or(i.Root, "no root yet")), i.PID, term.Visible(i.Listen))
}

// socket is the path of its socket; empty where it listens elsewhere.
func (i *instance) socket() string {
	path, ok := strings.CutPrefix(i.Listen, "unix:")
	if !ok {
		return ""
	}
	return path
}

// served reports whether somebody listens there.
func (i *instance) served(ctx context.Context) bool {
	network, address, _ := strings.Cut(i.Listen, ":")
	return apiclient.Served(ctx, network, address) == nil
}

// contains reports whether a directory is what the agent looks into, or below.
func (i *instance) contains(dir string) bool {
	return i.Root != "" && dir != "" && (dir == i.Root || strings.HasPrefix(dir, strings.TrimSuffix(i.Root, "/")+"/"))
}

func instanceFile(state places.Place) string { return state.In("agent.json").Path() }

// maxInstance bounds the file, in bytes: a path and some words.
const maxInstance = 16 << 10

func readInstance(state places.Place) (*instance, error) {
	i := &instance{state: state}
	return i, credential.ReadJSON("agent", instanceFile(state), maxInstance, i)
}

// listening returns the agent that was told to listen at an address, whether it
// runs or not; nil when there is none.
func listening(paths *config.Paths, address string) *instance {
	states, err := paths.WorkspaceStates()
	if err != nil {
		return nil
	}
	for _, state := range states {
		if i, err := readInstance(state); err == nil && i.Listen == address {
			return i
		}
	}
	return nil
}

// control returns the control token of an agent on a socket, with which commands
// act; empty where there is none to be had. Nobody else is shown it: an agent's
// socket may be a file that somebody else has put there since.
func (i *instance) control() (string, error) {
	if i == nil || i.socket() == "" {
		return "", nil
	}
	if info, err := os.Stat(i.socket()); err != nil || !ownedByUser(info) {
		return "", nil //nolint:nilerr // whoever calls it is told
	}
	token, err := readToken(controlFile(i.state))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return token, err
}

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// instances returns the user's running agents, in the order of their roots.
func instances(ctx context.Context, paths *config.Paths) ([]*instance, error) {
	states, err := paths.WorkspaceStates()
	if err != nil {
		return nil, err
	}
	var list []*instance
	for _, state := range states {
		// What can't be read is nobody's who runs.
		if i, err := readInstance(state); err == nil && i.served(ctx) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *instance) int { return cmp.Or(strings.Compare(a.Root, b.Root), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// startedFor reports whether what the agent looks into is the root that it was
// started for.
func (i *instance) startedFor() bool { return i.ID == config.WorkspaceID(i.Root) }

// claim is an agent's hold on its workspace. A nil one tells nobody anything.
type claim struct {
	state places.Place
	lock  *flock.Flock

	mu  sync.Mutex // guards now
	now instance
}

const (
	// claimWithin is how long an agent that is about to end is waited for.
	claimWithin = 2 * time.Second
	claimEvery  = 20 * time.Millisecond
)

// claimWorkspace makes this process the one agent of a workspace, until release.
//
// # Errors
//
// server.ErrRunning is matched when there is one already.
func claimWorkspace(ctx context.Context, w *config.Workspace) (*claim, error) {
	if err := config.MakePrivate(w.State.Path()); err != nil {
		return nil, err
	}
	c := &claim{state: w.State, lock: flock.New(w.State.In("lock").Path(), flock.SetPermissions(0o600),
		flock.SetFlag(os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))}
	c.now = instance{ID: w.ID, Root: w.Root, PID: os.Getpid()}
	wait, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	for {
		got, err := c.lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.lock.Path(), err)
		}
		if got {
			return c, nil
		}
		other, err := readInstance(w.State)
		switch {
		case err == nil && other.served(ctx):
			return nil, fmt.Errorf("%w for %s: see 'agent status', or run this one for another root", server.ErrRunning, other.name())
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wait.Err() != nil:
			return nil, fmt.Errorf("%w for %s, and doesn't listen: is it stopped?", server.ErrRunning, term.Visible(cmp.Or(w.Root, "no root")))
		}
		select {
		case <-wait.Done():
		case <-time.After(claimEvery):
		}
	}
}

// announce tells commands where the agent listens.
func (c *claim) announce(l net.Listener) error {
	address := l.Addr().String()
	if l.Addr().Network() == "unix" { // commands have another working directory
		var err error
		if address, err = filepath.Abs(address); err != nil {
			return err
		}
	}
	return c.change(func(i *instance) { i.Listen = l.Addr().Network() + ":" + address })
}

// setRoot tells them what it looks into. The workspace stays the same.
func (c *claim) setRoot(root string) error {
	resolved, err := config.Resolved(root)
	if err != nil {
		return err
	}
	return c.change(func(i *instance) { i.Root = resolved })
}

// change changes what the file says.
func (c *claim) change(f func(*instance)) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	f(&c.now)
	now := c.now
	c.mu.Unlock()
	data, err := json.Marshal(&now)
	if err != nil {
		return err
	}
	// Who reads it looks whether somebody listens there: after a power failure nobody does.
	return atomicfile.Replace(instanceFile(c.state), append(data, '\n'), 0o600)
}

// release ends the claim.
func (c *claim) release() error {
	if c == nil {
		return nil
	}
	err := os.Remove(instanceFile(c.state))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, c.lock.Close())
}
