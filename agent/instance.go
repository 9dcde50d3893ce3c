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

// Instance describes an agent, as recorded in its workspace's state directory for commands.
// The record of an agent that was killed remains.
type Instance struct {
	ID string `json:"id"` // of the workspace
	// Root is the agent's current root, without links; empty while it has none.
	Root   string `json:"root"`
	PID    int    `json:"pid"`
	Listen string `json:"listen"` // unix:PATH or tcp:HOST:PORT
	// OnDemand says that the agent ends when nobody needs it.
	OnDemand bool `json:"on_demand,omitempty"`

	State places.Place `json:"-"` // the directory that holds the record
}

// Name describes the instance to people.
func (i *Instance) Name() string {
	return fmt.Sprintf("%s (pid %d, %s)", text.Printable(cmp.Or(i.Root, "no root yet")), i.PID, text.Printable(i.Listen))
}

// Socket returns the path of its socket; empty if it listens on TCP.
func (i *Instance) Socket() string {
	path, ok := strings.CutPrefix(i.Listen, "unix:")
	if !ok {
		return ""
	}
	return path
}

// Dial connects to the agent's socket. It refuses any other process that listens there, so
// that the token isn't shown to one that has replaced the socket.
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
	now, rerr := ReadInstance(i.State) // may be that of the next agent by now
	if err = errors.Join(err, rerr); err == nil && pid != now.PID {
		err = fmt.Errorf("process %d listens at %s, and not the agent (pid %d): it isn't shown the token; see who that is", pid, i.Socket(), now.PID)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// served reports whether a process listens at the address.
func (i *Instance) served(ctx context.Context) bool {
	network, address, _ := strings.Cut(i.Listen, ":")
	return apiclient.Served(ctx, network, address) == nil
}

// Contains reports whether a directory is the agent's root or below it.
func (i *Instance) Contains(dir string) bool {
	return i.Root != "" && dir != "" && (dir == i.Root || strings.HasPrefix(dir, strings.TrimSuffix(i.Root, "/")+"/"))
}

func instanceFile(state places.Place) string { return state.In("agent.json").Path() }

// maxInstance limits the size of the file, in bytes. It holds a path and a few words.
const maxInstance = 16 << 10

// ReadInstance reads the record in a workspace's state. It doesn't mean that the agent
// still runs. The error matches fs.ErrNotExist if there is no record.
func ReadInstance(state places.Place) (*Instance, error) {
	i := &Instance{State: state}
	return i, credential.ReadJSON("agent", instanceFile(state), maxInstance, i)
}

// Listening returns the agent recorded for an address, whether it runs or not; nil if there
// is none.
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

// Control returns the control token of an agent, which commands need to act. It is empty if
// the agent has no socket, or no token is available. It is also empty if another user owns
// the socket, which may have been replaced.
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

// Instances returns the user's running agents, ordered by root.
func Instances(ctx context.Context, paths *config.Paths) ([]*Instance, error) {
	states, err := paths.WorkspaceStates()
	if err != nil {
		return nil, err
	}
	var list []*Instance
	for _, state := range states {
		// A record that can't be read belongs to no running agent.
		if i, err := ReadInstance(state); err == nil && i.served(ctx) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *Instance) int { return cmp.Or(strings.Compare(a.Root, b.Root), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// StartedFor reports whether the agent still has the root that it was started for.
func (i *Instance) StartedFor() bool { return i.ID == config.WorkspaceID(i.Root) }

// Claim is an agent's exclusive hold on its workspace. The methods of a nil Claim do
// nothing.
type Claim struct {
	state places.Place
	lock  *flock.Flock

	mu  sync.Mutex // guards now
	now Instance
}

const (
	// claimWithin is how long to wait for another agent that is ending.
	claimWithin = 2 * time.Second
	claimEvery  = 20 * time.Millisecond
)

// ClaimWorkspace makes this process the only agent of a workspace, until Release.
//
// # Errors
//
// The error matches server.ErrRunning if there is another agent.
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

// Announce records where the agent listens.
func (c *Claim) Announce(l net.Listener) error { return c.announce(l, false) }

func (c *Claim) announce(l net.Listener, onDemand bool) error {
	address := l.Addr().String()
	if l.Addr().Network() == "unix" { // made absolute: commands have another working directory
		var err error
		if address, err = filepath.Abs(address); err != nil {
			return err
		}
	}
	return c.Change(func(i *Instance) { i.Listen, i.OnDemand = l.Addr().Network()+":"+address, onDemand })
}

// setRoot records the new root. The workspace stays the same.
func (c *Claim) setRoot(root string) error {
	resolved, err := config.Resolved(root)
	if err != nil {
		return err
	}
	return c.Change(func(i *Instance) { i.Root = resolved })
}

// Change updates the record.
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
	// No fsync: after a power failure nothing listens there, which readers check.
	return atomicfile.Replace(instanceFile(c.state), append(data, '\n'), 0o600)
}

// Release removes the record and ends the claim.
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
