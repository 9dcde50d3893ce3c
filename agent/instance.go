package agent

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
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/atomicfile"
	"waymark/internal/credential"
	"waymark/internal/httpapi/apiclient"
	"waymark/internal/text"
)

// Instance is a running agent as its workspace's state directory tells of it to
// commands. One that was killed is still told of.
type Instance struct {
	ID string `json:"id"` // of the workspace
	// Root is what the agent looks into now, without links; empty while it has
	// none.
	Root   string `json:"root"`
	PID    int    `json:"pid"`
	Listen string `json:"listen"` // unix:PATH or tcp:HOST:PORT

	State places.Place `json:"-"` // the directory in which this is told
}

// Name is the instance for people.
func (i *Instance) Name() string {
	return fmt.Sprintf("%s (pid %d, %s)", text.Printable(cmp.Or(i.Root, "no root yet")), i.PID, text.Printable(i.Listen))
}

// Socket is the path of its socket; empty where it listens elsewhere.
func (i *Instance) Socket() string {
	path, ok := strings.CutPrefix(i.Listen, "unix:")
	if !ok {
		return ""
	}
	return path
}

// Dial connects to the agent's socket, and to no other process: somebody may have put
// another one in its place, to be shown the token.
func (i *Instance) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", i.Socket())
	if err != nil {
		return nil, err
	}
	pid := 0
	raw, err := conn.(*net.UnixConn).SyscallConn() //nolint:forcetypeassert // of this network it is one
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) { pid, failed = peerPID(int(fd)) })
		err = errors.Join(err, failed)
	}
	now, rerr := ReadInstance(i.State) // which may be the next one by now
	if err = errors.Join(err, rerr); err == nil && pid != now.PID {
		err = fmt.Errorf("process %d listens at %s, and not the agent (pid %d): it isn't shown the token; see who that is", pid, i.Socket(), now.PID)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// served reports whether somebody listens there.
func (i *Instance) served(ctx context.Context) bool {
	network, address, _ := strings.Cut(i.Listen, ":")
	return apiclient.Served(ctx, network, address) == nil
}

// Contains reports whether a directory is what the agent looks into, or below.
func (i *Instance) Contains(dir string) bool {
	return i.Root != "" && dir != "" && (dir == i.Root || strings.HasPrefix(dir, strings.TrimSuffix(i.Root, "/")+"/"))
}

func instanceFile(state places.Place) string { return state.In("agent.json").Path() }

// maxInstance bounds the file, in bytes: a path and some words.
const maxInstance = 16 << 10

// ReadInstance reads what the agent of a workspace has told of itself, in the workspace's state.
// That it runs isn't said by it. The error matches fs.ErrNotExist where there is none.
func ReadInstance(state places.Place) (*Instance, error) {
	i := &Instance{State: state}
	return i, credential.ReadJSON("agent", instanceFile(state), maxInstance, i)
}

// Listening returns the agent that was told to listen at an address, whether it
// runs or not; nil when there is none.
func Listening(paths *config.Paths, address string) *Instance {
	states, err := paths.WorkspaceStates()
	if err != nil {
		return nil
	}
	for _, state := range states {
		if i, err := ReadInstance(state); err == nil && i.Listen == address {
			return i
		}
	}
	return nil
}

// Control returns the control token of an agent on a socket, with which commands
// act; empty where there is none to be had. Nobody else is shown it: an agent's
// socket may be a file that somebody else has put there since.
func (i *Instance) Control() (string, error) {
	if i == nil || i.Socket() == "" {
		return "", nil
	}
	if info, err := os.Stat(i.Socket()); err != nil || !ownedByUser(info) {
		return "", nil //nolint:nilerr // whoever calls it is told
	}
	token, err := ReadToken(ControlFile(i.State))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return token, err
}

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Instances returns the user's running agents, in the order of their roots.
func Instances(ctx context.Context, paths *config.Paths) ([]*Instance, error) {
	states, err := paths.WorkspaceStates()
	if err != nil {
		return nil, err
	}
	var list []*Instance
	for _, state := range states {
		// What can't be read is nobody's who runs.
		if i, err := ReadInstance(state); err == nil && i.served(ctx) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *Instance) int { return cmp.Or(strings.Compare(a.Root, b.Root), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// StartedFor reports whether what the agent looks into is the root that it was
// started for.
func (i *Instance) StartedFor() bool { return i.ID == config.WorkspaceID(i.Root) }

// Claim is an agent's hold on its workspace. A nil one tells nobody anything.
type Claim struct {
	state places.Place
	lock  *flock.Flock

	mu  sync.Mutex // guards now
	now Instance
}

const (
	// claimWithin is how long an agent that is about to end is waited for.
	claimWithin = 2 * time.Second
	claimEvery  = 20 * time.Millisecond
)

// ClaimWorkspace makes this process the one agent of a workspace, until release.
//
// # Errors
//
// server.ErrRunning is matched when there is one already.
func ClaimWorkspace(ctx context.Context, w *config.Workspace) (*Claim, error) {
	if err := config.MakePrivate(w.State.Path()); err != nil {
		return nil, err
	}
	c := &Claim{state: w.State, lock: flock.New(w.State.In("lock").Path(), flock.SetPermissions(0o600),
		flock.SetFlag(os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))}
	c.now = Instance{ID: w.ID, Root: w.Root, PID: os.Getpid()}
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
		other, err := ReadInstance(w.State)
		switch {
		case err == nil && other.served(ctx):
			return nil, fmt.Errorf("%w for %s: see 'agent status', or run this one for another root", server.ErrRunning, other.Name())
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wait.Err() != nil:
			return nil, fmt.Errorf("%w for %s, and doesn't listen: is it stopped?", server.ErrRunning, text.Printable(cmp.Or(w.Root, "no root")))
		}
		select {
		case <-wait.Done():
		case <-time.After(claimEvery):
		}
	}
}

// Announce tells commands where the agent listens.
func (c *Claim) Announce(l net.Listener) error {
	address := l.Addr().String()
	if l.Addr().Network() == "unix" { // commands have another working directory
		var err error
		if address, err = filepath.Abs(address); err != nil {
			return err
		}
	}
	return c.Change(func(i *Instance) { i.Listen = l.Addr().Network() + ":" + address })
}

// setRoot tells them what it looks into. The workspace stays the same.
func (c *Claim) setRoot(root string) error {
	resolved, err := config.Resolved(root)
	if err != nil {
		return err
	}
	return c.Change(func(i *Instance) { i.Root = resolved })
}

// Change changes what the file says.
func (c *Claim) Change(f func(*Instance)) error {
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

// Release ends the claim.
func (c *Claim) Release() error {
	if c == nil {
		return nil
	}
	err := os.Remove(instanceFile(c.state))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, c.lock.Close())
}
