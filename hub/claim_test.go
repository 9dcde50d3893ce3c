package hub_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"storj.io/drpc"

	"waymark/abi"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire/claim"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// everything is a snapshot with all that a row and a head can have, also what an agent
// mends on its way.
func everything(version uint64) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Version: version, AggregateHash: snapshot.Hash{1, 2}, SnapshotError: "no inotify\xff",
		Plugins: []snapshot.Plugin{{Name: "bare"}, {Name: "full", Version: "1", Digest: "ab", Path: "/p", State: snapshot.PluginRejected, Error: "<&>", Resolvers: []string{"r"}}},
		Discovery: snapshot.Discovery{Sources: snapshot.SourceOutcomes{
			{ID: "mcp_server:x", Name: "x", Outcome: snapshot.OutcomeFailed, Error: "no such program"},
		}},
	}
	for i, text := range []string{"", "short", long(128), long(129), long(5000), fmt.Sprint("of version ", version)} {
		r := snapshot.Resource{Kind: abi.KindSkill, Source: fmt.Sprint("/w/", i), Status: snapshot.StatusOK, Payload: []byte(text), SizeBytes: int64(len(text))}
		if i%2 == 0 {
			hash := sha256.Sum256(r.Payload)
			r.ContentHash, r.Key, r.SourcePath, r.Description, r.Resolver = hash[:], "k", "/w", "does\x00 things", "waymark/context@1.0.0"
		}
		if i == 3 {
			r.Attributes = snapshot.Attributes{"globs": {List: []string{"*.go", ""}}, "none": {List: []string{}}, "mode": {Text: "always"}, "empty": {}}
		}
		s.Resources = append(s.Resources, r)
	}
	return &snapshot.Snapshot{
		Version: s.Version, AggregateHash: s.AggregateHash, SnapshotError: s.SnapshotError, Plugins: s.Plugins, Discovery: s.Discovery,
		Resources: append(s.Resources,
			snapshot.Resource{Kind: abi.KindMCPConfig, Source: "/w/.mcp.json", Status: snapshot.StatusUnreadable, Error: "gone", Stale: true},
			snapshot.Resource{Kind: abi.KindSkill, Source: "/w/big", Status: snapshot.StatusOversize, Attributes: snapshot.Attributes{}, SizeBytes: 1 << 40}),
	}
}

// comings is an agent that comes back to a hub which is started again and again.
type comings struct {
	t      *testing.T
	path   string
	pusher *push.Pusher
	end    func()

	mu       sync.Mutex // guards the rest
	hub      *fixture   // nil: it is away
	attempts []string
}

func (c *comings) start() *fixture {
	f, end := startHub(c.t, c.path)
	c.end = end
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hub = f
	return f
}

func (c *comings) stop() {
	c.mu.Lock()
	c.hub = nil
	c.mu.Unlock()
	c.end()
}

func (c *comings) dial(context.Context) (drpc.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hub == nil {
		return nil, net.ErrClosed
	}
	conn, err := c.hub.plain()
	if err != nil {
		return nil, err
	}
	return push.NewConn(conn), nil
}

func (c *comings) observe(a push.Attempt) {
	kind := "whole"
	switch {
	case a.Claim:
		kind = "claim"
		if a.Bytes > 64 {
			c.t.Errorf("a claim has %d bytes", a.Bytes)
		}
	case a.Delta:
		kind = "delta"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Result != push.ResultLost { // as the hub stops
		c.attempts = append(c.attempts, fmt.Sprintf("%s %s", kind, a.Result))
	}
}

// comes waits until a push of the agent was accepted since, and says how it came.
func (c *comings) comes(since time.Time, version uint64, want ...string) {
	c.t.Helper()
	deadline := time.After(timeout)
	for {
		status, changed := c.pusher.Watch()
		if last := status.LastAccepted; last != nil && last.Version == version && last.At.After(since) {
			break
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("not accepted: %+v", status)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.attempts, want) {
		c.t.Errorf("version %d came as %q, want %q", version, c.attempts, want)
	}
	c.attempts = nil
	got := c.hub.snapshot("a")
	if got == nil || got.Snapshot.Version != version || string(got.Snapshot.Resources[slices.IndexFunc(got.Snapshot.Resources, func(r snapshot.Resource) bool {
		return r.Source == "/w/5"
	})].Payload) != fmt.Sprint("of version ", version) {
		c.t.Errorf("version %d: that isn't what is stored", version)
	}
}

// TestClaims: an agent that comes back with what it has pushed says so; what has
// changed meanwhile, on either side, comes whole.
func TestClaims(t *testing.T) {
	t.Parallel()
	c := &comings{t: t, path: filepath.Join(t.TempDir(), "hub.db")}
	f := c.start()
	token := f.token(store.RoleAgent, "a")
	c.pusher = push.New(push.Options{
		Token: token, Dialer: push.DialFunc(c.dial), Observe: c.observe,
		MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, CallTimeout: timeout,
	})
	done := make(chan error, 1)
	go func() { done <- c.pusher.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(c.pusher.Close(), <-done); err != nil {
			t.Error(err)
		}
		c.stop()
	})
	since := time.Now()
	c.pusher.Publish(everything(1))
	c.comes(since, 1, "whole accepted")

	c.stop()
	since = time.Now()
	c.start()
	c.comes(since, 1, "claim accepted")
	since = time.Now()
	c.pusher.Publish(everything(2))
	c.comes(since, 2, "delta accepted") // of which the hub knows nothing but what is stored
	since = time.Now()
	c.pusher.Publish(everything(3))
	c.comes(since, 3, "delta accepted")

	c.stop()
	backup, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	c.pusher.Publish(everything(4)) // while it is away
	since = time.Now()
	c.start()
	c.comes(since, 4, "claim full_needed", "whole accepted")

	c.stop()
	if err := os.WriteFile(c.path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	since = time.Now()
	c.start()
	c.comes(since, 4, "claim full_needed", "whole accepted")
	c.stop()
	since = time.Now()
	c.start()
	c.comes(since, 4, "claim accepted")
}

// nameOf is the name of what a push with these resources makes.
func nameOf(t *testing.T, resources ...*waymark.Resource) []byte {
	t.Helper()
	s, err := convert.FromWaymark(&waymark.PushRequest{Resources: resources})
	if err != nil {
		t.Fatal(err)
	}
	head, err := claim.HeadOf(s)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][sha256.Size]byte
	for i := range s.Resources {
		row, _ := store.Digests(&s.Resources[i])
		rows = append(rows, row)
	}
	name := claim.Of(&head, rows)
	return name[:]
}

// TestClaimLies: a claim is of this agent's own, and comes alone; one that isn't true
// writes nothing, and neither does what builds on it.
func TestClaimLies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	a, b := f.dial(f.token(store.RoleAgent, "a")), f.dial(f.token(store.RoleAgent, "b"))
	a.mustPush(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{file("/x", "x"), file("/y", "y")}}, true)
	b.mustPush(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{file("/x", "other")}}, true)
	name := nameOf(t, file("/y", "y"), file("/x", "x"))
	send := func(p *peer, request *waymark.PushRequest) (*waymark.PushResponse, error) {
		return waymark.NewDRPCContextClient(p.conn).Push(p.ctx, request)
	}
	fullNeeded := &waymark.PushResponse{FullNeeded: true}

	response, err := send(b, &waymark.PushRequest{Version: 2, Initial: true, Claim: name})
	f.says(response, err, fullNeeded)
	response, err = send(b, &waymark.PushRequest{Version: 3, Delta: &waymark.Delta{BaseVersion: 2}})
	f.says(response, err, fullNeeded)
	f.has("b", 1, "/x=other")

	for what, request := range map[string]*waymark.PushRequest{
		"short":     {Version: 2, Initial: true, Claim: name[1:]},
		"later":     {Version: 2, Claim: name},
		"rows":      {Version: 2, Initial: true, Claim: name, Resources: []*waymark.Resource{file("/x", "x")}},
		"plugins":   {Version: 2, Initial: true, Claim: name, Plugins: []*waymark.Plugin{{}}},
		"discovery": {Version: 2, Initial: true, Claim: name, Discovery: &waymark.Discovery{}},
		"delta":     {Version: 2, Initial: true, Claim: name, Delta: &waymark.Delta{BaseVersion: 1}},
		"more":      {Version: 2, Initial: true, Claim: name, More: true},
		"hash":      {Version: 2, Initial: true, Claim: name, AggregateHash: []byte{1}},
		"version":   {Version: 1 << 63, Initial: true, Claim: name},
	} {
		if response, err := send(a, request); err == nil {
			t.Errorf("%s: %v", what, response)
		}
	}
	f.has("a", 1, "/x=x /y=y")

	again := f.dial(f.token(store.RoleAgent, "a"))
	response, err = send(again, &waymark.PushRequest{Version: 7, Initial: true, Claim: name})
	f.says(response, err, stored)
	for what, delta := range map[string]*waymark.PushRequest{
		"another base":     {Version: 8, Delta: &waymark.Delta{BaseVersion: 6}},
		"what isn't there": {Version: 8, Delta: &waymark.Delta{BaseVersion: 7, Removed: []string{"instruction_file:/z"}}},
	} {
		if response, err := send(again, delta); err != nil || !response.GetFullNeeded() {
			t.Errorf("%s: %v, %v", what, response, err)
		}
	}
	response, err = send(again, &waymark.PushRequest{Version: 8, Delta: &waymark.Delta{BaseVersion: 7, Removed: []string{"instruction_file:/y"}}, Resources: []*waymark.Resource{file("/z", "z")}})
	f.says(response, err, stored)
	f.has("a", 8, "/x=x /z=z")
	// A newer connection's push is no base for this one's claim.
	newer := f.dial(f.token(store.RoleAgent, "a"))
	response, err = send(newer, &waymark.PushRequest{Version: 9, Initial: true, Claim: nameOf(t, file("/x", "x"), file("/z", "z"))})
	f.says(response, err, stored)
	newest := f.dial(f.token(store.RoleAgent, "a"))
	newest.mustPush(&waymark.PushRequest{Version: 3, Initial: true, Resources: []*waymark.Resource{file("/n", "n")}}, true)
	if response, err := send(newer, &waymark.PushRequest{Version: 10, Delta: &waymark.Delta{BaseVersion: 9}}); err == nil && !response.GetFullNeeded() {
		t.Errorf("after another connection: %v", response)
	}
	f.has("a", 3, "/n=n")
}
