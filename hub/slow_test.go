package hub_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/test/pushtest"
)

// shortLimits are limits for the tests here, which run under synctest.
var shortLimits = transport.Limits{
	Handshake: 300 * time.Millisecond, Read: time.Second, Write: time.Second, Ping: 200 * time.Millisecond,
}

// ends fails the test if the hub doesn't end the connection.
func ends(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	if err := readUntilClosed(conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("%s: still there", name)
	}
	_ = conn.Close()
}

// TestSilent: who doesn't speak, or not to an end, doesn't stay.
func TestSilent(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: shortLimits}, func(t *testing.T, f *fixture, endpoint string) {
		stop := f.bystander(endpoint)
		token := f.token(store.RoleAgent, "a")
		ends(t, "a silent connection", f.mustDial())

		dribble := f.mustDial()
		_, _ = dribble.Write([]byte{0x0d, 1, 1}) // the beginning of a frame
		ends(t, "half a frame", dribble)

		// An agent that has been known to be one, and stops within a message.
		stalls := f.mustDial()
		answered := make(chan struct{})
		go func() { defer close(answered); _ = endless(stalls, token, 128<<10) }()
		ends(t, "half a message", &onlyWait{Conn: stalls, f: f})
		<-answered

		a := f.bare(endpoint, token)
		stream, err := a.session.Open()
		if err != nil {
			t.Fatal(err)
		}
		ends(t, "a silent stream", stream)
		a.mustPush(&pushtest.Push{Version: 1}, true) // the session lives on
		stop()
	})
}

// TestVanished: a peer that answers nothing any more, and reads nothing.
func TestVanished(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: shortLimits}, func(t *testing.T, f *fixture, endpoint string) {
		stop := f.bystander(endpoint)
		vanished := f.ws(endpoint, f.token(store.RoleAgent, "vanished"))
		if !f.eventually(func() bool { return f.hub.Connected("vanished") }) {
			t.Fatal("not connected")
		}
		if !f.eventually(func() bool { return !f.hub.Connected("vanished") }) {
			t.Error("a peer that vanished is still connected")
		}
		_ = vanished.CloseNow()
		stop()
	})
}

// TestIdle: idle agents stay, as long as they answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: shortLimits}, func(t *testing.T, f *fixture, endpoint string) {
		a, plain := f.bare(endpoint, f.token(store.RoleAgent, "a")), f.dial(f.token(store.RoleAgent, "plain"))
		for version := range uint64(3) {
			a.mustPush(&pushtest.Push{Version: version + 1}, true)
			plain.mustPush(&pushtest.Push{Version: version + 1}, true)
			wait(t, time.Hour) // longer than any of the limits above
		}
	})
}

// onlyWait waits for the end without reading: somebody else reads.
type onlyWait struct {
	net.Conn
	f *fixture
}

func (w *onlyWait) Read([]byte) (int, error) {
	if !w.f.eventually(func() bool { _, err := w.Write(nil); return err != nil || !w.f.hub.Connected("a") }) {
		return 0, fmt.Errorf("timeout")
	}
	return 0, io.EOF
}

// wait lets time pass that is part of what is tested.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// TestLargeMessagesDontStarve: agents that stop within large messages don't
// keep others from sending theirs.
func TestLargeMessagesDontStarve(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Large: 4, Read: time.Hour}})
	endpoint := f.web()
	token := f.token(store.RoleAgent, "a")
	a := dialBare(t, endpoint, token)
	var stuck sync.WaitGroup
	for range 6 { // its share is 2
		stream, err := a.session.Open()
		if err != nil {
			t.Fatal(err)
		}
		stuck.Go(func() { _ = endless(stream, token, 192<<10) })
	}
	stop := f.bystander(endpoint) // pushes 100 KiB at a time
	stop()
	a.close()
	stuck.Wait()
}
