package shared_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"waymark/hub"
	"waymark/hub/client"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/internal/httpapi"
)

// timeout ends a test that hangs; nothing is measured with it.
const timeout = 2 * time.Minute

// user is the places of one user.
type user struct {
	t             *testing.T
	state, socket string
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &user{t, dir, dir + "/w/hub.sock"}
}

func (u *user) hub() *shared.Hub {
	return shared.New(shared.Options{State: u.state, Socket: u.socket, Every: 5 * time.Millisecond})
}

// member is an agent's part that runs.
type member struct {
	*shared.Hub
	stop func() // ends it, and waits
}

// run starts one, which must work.
func (u *user) run() *member {
	u.t.Helper()
	h := u.hub()
	if err := h.Open(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	return u.goOn(h)
}

// goOn runs one that is open.
func (u *user) goOn(h *shared.Hub) *member {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	m := &member{h, func() { cancel(); running.Wait() }}
	u.t.Cleanup(m.stop)
	return m
}

// until waits until something is so.
func (u *user) until(what string, is func() bool) {
	u.t.Helper()
	for late := time.Now().Add(timeout); !is(); {
		if time.Now().After(late) {
			u.t.Fatalf("never %s", what)
		}
		time.Sleep(time.Millisecond) // between two looks at what another goroutine does
	}
}

func (u *user) find() *shared.Place {
	u.t.Helper()
	place, err := shared.Find(u.t.Context(), u.state)
	if err != nil {
		u.t.Fatal(err)
	}
	return place
}

// agents asks the hub, with the user's token, for its agents.
func (u *user) agents() int {
	u.t.Helper()
	token, err := os.ReadFile(shared.ReaderFile(u.state))
	if err != nil {
		u.t.Fatal(err)
	}
	list, err := client.New(u.find().URL, client.Options{Token: string(token[:len(token)-1])}).Agents(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return len(list)
}

// TestSimultaneousStart: one of many that start at once holds the hub, and all
// get a token of their own, which they keep.
func TestSimultaneousStart(t *testing.T) {
	u := newUser(t)
	const n = 8
	tokens := make([]store.Token, n)
	hubs := make([]*shared.Hub, n)
	join := func() {
		t.Helper()
		var starting sync.WaitGroup
		for i := range n {
			hubs[i] = u.hub()
			starting.Go(func() {
				if err := hubs[i].Open(t.Context()); err != nil {
					t.Error(err)
					return
				}
				file := filepath.Join(u.state, "w", string(rune('a'+i)), "agent.token")
				text, token, err := hubs[i].Token(t.Context(), store.NewToken{Role: store.RoleAgent, Name: "n"}, file)
				if err != nil || !credential.AgentToken.Is(text) {
					t.Error(err)
				}
				if tokens[i].ID != "" && tokens[i].ID != token.ID {
					t.Errorf("another token than before: %+v, %+v", tokens[i], token)
				}
				tokens[i] = token
			})
		}
		starting.Wait()
	}
	for range 2 {
		join()
		var members []*member
		holders := 0
		for _, h := range hubs {
			if h.Holds() {
				holders++
			}
			members = append(members, u.goOn(h))
		}
		if holders != 1 {
			t.Fatalf("%d hold the hub", holders)
		}
		ids := map[string]bool{}
		for i := range tokens {
			ids[tokens[i].AgentID] = true
		}
		if got := u.agents(); got != n || len(ids) != n {
			t.Errorf("the hub has %d agents, %d ids", got, len(ids))
		}
		for _, m := range members {
			m.stop()
		}
	}
}

// TestHandOver: when the holder ends, another goes on where it was.
func TestHandOver(t *testing.T) {
	// Another user has the usual port, so this one has some other.
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", hub.DefaultHTTP); err == nil {
		defer func() { _ = l.Close() }()
	}
	for range 5 { // on a busy machine somebody may take the port meanwhile
		if handOver(t) {
			return
		}
	}
	t.Error("the hub doesn't stay at its port")
}

// handOver reports whether the port stayed the same.
func handOver(t *testing.T) bool {
	t.Helper()
	same := true
	u := newUser(t)
	members := []*member{u.run(), u.run(), u.run()}
	at := u.find()
	for len(members) > 0 {
		var holder *member
		u.until("one holds the hub", func() bool {
			for _, m := range members {
				if m.Holds() {
					holder = m
				}
			}
			return holder != nil
		})
		got := u.find()
		same = same && got.URL == at.URL
		if holder.URL() != got.URL {
			t.Errorf("the hub is at %s, not at %s", got.URL, holder.URL())
		}
		conn, err := members[0].Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		holder.stop()
		if holder.Holds() {
			t.Error("it has ended and holds the hub")
		}
		members = members[:copy(members, without(members, holder))]
	}
	if place, err := shared.Find(t.Context(), u.state); !errors.Is(err, shared.ErrNone) {
		t.Errorf("nobody runs: %+v, %v", place, err)
	}
	if _, err := u.hub().Dial(t.Context()); !errors.Is(err, shared.ErrNone) {
		t.Errorf("dial: %v", err)
	}
	return same
}

// TestNoticed: an agent that pushes doesn't wait for the next look at the lock.
func TestNoticed(t *testing.T) {
	u := newUser(t)
	holder := u.run()
	h := shared.New(shared.Options{State: u.state, Socket: u.socket, Every: 24 * time.Hour})
	if err := h.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting := u.goOn(h)
	conn, err := waiting.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go holder.stop()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the holder says something")
	}
	u.until("it holds the hub", func() bool {
		if again, err := waiting.Dial(t.Context()); err == nil { // as an agent does
			_ = again.Close()
		}
		return waiting.Holds()
	})
}

func without(list []*member, one *member) (rest []*member) {
	for _, m := range list {
		if m != one {
			rest = append(rest, m)
		}
	}
	return rest
}

// TestLeftBehind: what a killed holder leaves is nothing to readers, and in
// nobody's way.
func TestLeftBehind(t *testing.T) {
	u := newUser(t)
	m := u.run()
	file := filepath.Join(u.state, "hub.json")
	left, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m.stop()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: u.socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(l.Close(), os.WriteFile(file, left, 0o600)); err != nil {
		t.Fatal(err)
	}
	if place, err := shared.Find(t.Context(), u.state); !errors.Is(err, shared.ErrNone) {
		t.Errorf("found %+v, %v", place, err)
	}
	if m = u.run(); !m.Holds() || u.agents() != 0 {
		t.Error("the next one doesn't hold the hub")
	}
}

// TestSocketStillThere: the kernel may give up a killed holder's lock before its
// socket.
func TestSocketStillThere(t *testing.T) {
	u := newUser(t)
	l, err := httpapi.ListenUnix(u.socket)
	if err != nil {
		t.Fatal(err)
	}
	h := u.hub()
	opened := make(chan error, 1)
	go func() {
		err := h.Open(t.Context())
		for err == nil && !h.Holds() { // the look at the lock, below, may have had it
			err = h.Open(t.Context())
		}
		opened <- err
	}()
	other := flock.New(filepath.Join(u.state, "hub.lock"))
	u.until("it has the lock", func() bool {
		got, err := other.TryRLock()
		if got {
			_ = other.Unlock()
		}
		return err == nil && !got
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil || !h.Holds() {
		t.Errorf("open: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestBrokenDatabase: who starts is told; a client that should take over goes on
// and does so when it can.
func TestBrokenDatabase(t *testing.T) {
	u := newUser(t)
	holder, waiting := u.run(), u.run()
	db := filepath.Join(u.state, "hub.db")
	// It can't be opened, from now on; who has it open doesn't notice.
	if err := errors.Join(os.Rename(db, db+".good"), os.WriteFile(db, []byte("nothing that SQLite knows, and longer than a header is: "+
		"a hundred bytes and some more"), 0o600)); err != nil {
		t.Fatal(err)
	}
	holder.stop()
	h := u.hub()
	u.until("the lock is free", func() bool {
		err := h.Open(t.Context())
		if err == nil && h.Holds() {
			t.Fatal("a broken database is opened")
		}
		return errors.Is(err, store.ErrForeign)
	})
	if err := errors.Join(os.Remove(db), os.RemoveAll(db+"-wal"), os.RemoveAll(db+"-shm")); err != nil {
		t.Fatal(err)
	}
	u.until("the waiting one holds the hub", waiting.Holds)
	u.agents()
}

// TestLifeCycle: what wasn't opened can be closed, also twice.
func TestLifeCycle(t *testing.T) {
	u := newUser(t)
	h := u.hub()
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	m := u.run()
	m.stop()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if h := shared.New(shared.Options{State: filepath.Join(u.state, "missing"), Socket: u.socket}); h.Open(t.Context()) == nil {
		t.Error("without a state directory")
	}
	if err := os.WriteFile(filepath.Join(u.state, "hub.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Find(t.Context(), u.state); err == nil || errors.Is(err, shared.ErrNone) {
		t.Errorf("a broken file: %v", err)
	}
	if m := u.run(); !m.Holds() || m.URL() == "" {
		t.Error("a broken file is in the way")
	}
}
