package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/snapshot"
	"waymark/test/testenv"
)

// hubProcess is a hub that can be killed.
type hubProcess struct {
	cmd  *exec.Cmd
	http string
	log  sync.WaitGroup
}

// startHub starts one and waits until it is ready. The binary under test is
// the test binary itself; see TestMain.
func startHub(t *testing.T, db, http, socket string) *hubProcess {
	t.Helper()
	p := &hubProcess{cmd: exec.Command("hub", "serve", "--log-format", "json", "--db", db, "--http", http, "--drpc", "unix:"+socket)}
	p.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	var text strings.Builder
	p.log.Go(func() {
		defer close(ready)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			var line struct{ Msg, HTTP string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "hub is ready" {
				ready <- line.HTTP
			}
		}
	})
	var ok bool
	if p.http, ok = <-ready; !ok {
		p.kill()
		t.Fatalf("the hub ended before it was ready:\n%s", &text)
	}
	return p
}

// kill ends it without a chance to do anything about it.
func (p *hubProcess) kill() {
	_ = p.cmd.Process.Kill()
	p.log.Wait()
	_ = p.cmd.Wait() // says that it was killed
}

// busyAgent pushes all the time, and keeps what it has published.
type busyAgent struct {
	id     string
	pusher *push.Pusher

	mu        sync.Mutex // guards published
	published map[uint64]*snapshot.Snapshot
}

func (a *busyAgent) run(ctx context.Context, accepted chan<- struct{}) {
	var s *snapshot.Snapshot
	for version := uint64(1); ctx.Err() == nil; version++ {
		s = &snapshot.Snapshot{Version: version, AggregateHash: fmt.Append(nil, version), Plugins: []snapshot.Plugin{}}
		for i := range 50 {
			text := fmt.Sprint(a.id, " ", (version+uint64(i))/50, strings.Repeat("x", 4000))
			s.Resources = append(s.Resources, snapshot.Resource{
				Kind: abi.KindSkill, Source: fmt.Sprintf("/w/%03d", i), Status: snapshot.StatusOK, SizeBytes: int64(len(text)), Payload: []byte(text),
			})
		}
		a.mu.Lock()
		a.published[version] = s
		a.mu.Unlock()
		a.pusher.Publish(s)
		if a.pusher.Accepted(ctx, version) == nil {
			select {
			case accepted <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}
}

// check requires that what is stored is whole, and not older than what the
// agent was told is stored.
func (a *busyAgent) check(t *testing.T, st store.Store) {
	t.Helper()
	least := uint64(0)
	if last := a.pusher.Status().LastAccepted; last != nil {
		least = last.Version
	}
	got, err := st.Snapshot(t.Context(), store.Query{AgentID: a.id})
	if err != nil {
		if least > 0 {
			t.Errorf("%s: version %d was acknowledged, and what is stored is %v", a.id, least, err)
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	want := a.published[got.Snapshot.Version]
	if got.Snapshot.Version < least || want == nil || !snapshot.SameContent(want, &got.Snapshot) {
		t.Errorf("%s: version %d was acknowledged, and version %d is stored; same as published: %t",
			a.id, least, got.Snapshot.Version, want != nil && snapshot.SameContent(want, &got.Snapshot))
	}
}

// TestKilledInMidPush kills a hub again and again while agents push, over a
// WebSocket and over a socket: what was acknowledged is there, what wasn't is
// there in full or not at all, and the agents find their way back.
func TestKilledInMidPush(t *testing.T) {
	dir := t.TempDir()
	db, socket := "sqlite:"+filepath.Join(dir, "hub.db"), filepath.Join(dir, "s")
	open := func() store.Store {
		st, err := drivers.Open(t.Context(), db, drivers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := open()
	agents := make([]*busyAgent, 4)
	var tokens []string
	for i := range agents {
		agents[i] = &busyAgent{id: fmt.Sprint("agent-", i), published: map[uint64]*snapshot.Snapshot{}}
		text, _, err := hub.CreateToken(t.Context(), st, store.NewToken{Role: store.RoleAgent, AgentID: agents[i].id})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, text)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	address, release, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	server := startHub(t, db, address, socket)
	defer func() { server.kill() }()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	accepted := make(chan struct{})
	for i, a := range agents {
		url := server.http
		if i%2 == 0 {
			url = "unix:" + socket
		}
		opts, err := push.Remote(url, push.RemoteOptions{Token: tokens[i]})
		if err != nil {
			t.Fatal(err)
		}
		opts.MinBackoff, opts.MaxBackoff = 5*time.Millisecond, 50*time.Millisecond
		a.pusher = push.New(opts)
		running.Go(func() { _ = a.pusher.Run(ctx) })
		running.Go(func() { a.run(ctx, accepted) })
	}
	for round := range testenv.Rounds(4, 10, 100) {
		awaitPushes(t, accepted, agents, 10+round) // all are at it
		server.kill()
		st := open()
		for _, a := range agents {
			a.check(t, st)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		server = startHub(t, db, address, socket)
	}
}
