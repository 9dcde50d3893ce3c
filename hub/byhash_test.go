package hub_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"

	"waymark/abi"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/snapshot"
	"waymark/test/race"
	"waymark/test/randtest"
	"waymark/wire"
	"waymark/wire/waymark"
)

// named is file with what names its text in place of that.
func named(source, text string) *waymark.Resource {
	r := file(source, "")
	hash := sha256.Sum256([]byte(text))
	r.Payload, r.Body = nil, &waymark.Body{Sha256: hash[:], SizeBytes: uint64(len(text))}
	r.SizeBytes = uint64(len(text))
	return r
}

// pushMore goes on with a push.
func (p *peer) pushMore(request *waymark.PushMoreRequest) (*waymark.PushResponse, error) {
	return waymark.NewDRPCContextClient(p.conn).PushMore(p.ctx, request)
}

func payloads(version uint64, list ...*waymark.Payload) *waymark.PushMoreRequest {
	return &waymark.PushMoreRequest{Version: version, Payloads: list}
}

func payload(resource uint32, text string) *waymark.Payload {
	return &waymark.Payload{Resource: resource, Payload: []byte(text)}
}

// says requires an answer that is no error.
func (f *fixture) says(response *waymark.PushResponse, err error, want *waymark.PushResponse) {
	f.t.Helper()
	if err != nil || !proto.Equal(response, want) {
		f.t.Fatalf("the answer is %v, %v; want %v", response, err, want)
	}
}

var stored = &waymark.PushResponse{Accepted: true, Deltas: true}

func wants(indices ...uint32) *waymark.PushResponse {
	return &waymark.PushResponse{Continues: true, Wanted: indices}
}

// TestByHash: a hub wants what it hasn't of this agent, stores all when the last of
// it is there, and wants nothing that it has.
func TestByHash(t *testing.T) {
	t.Parallel()
	results := make(chan hub.PushResult, 10) // which come some time after the answers
	f := newFixture(t, hub.Options{Observe: func(o hub.PushObserved) { results <- o.Result }})
	p := f.dial(f.token(store.RoleAgent, "a"))
	opened, err := waymark.NewDRPCContextClient(p.conn).Open(p.ctx, &waymark.OpenRequest{})
	if takes := opened.GetTakes(); err != nil || !takes.GetByHash() || takes.GetMaxMessage() != 1<<20 || takes.GetMaxResources() != 4000 || takes.GetMaxBytes() != 16<<20 {
		t.Fatalf("open: %v, %v", opened, err)
	}
	list := []*waymark.Resource{named("/a", "one"), file("/b", "inline"), named("/c", "two"), named("/d", "one")}
	response, err := p.pushAny(&waymark.PushRequest{Version: 1, Initial: true, Resources: list})
	f.says(response, err, wants(0, 2, 3))
	if f.snapshot("a") != nil {
		t.Error("something is stored already")
	}
	response, err = p.pushMore(payloads(1, payload(2, "two"), payload(0, "one")))
	f.says(response, err, wants())
	response, err = p.pushMore(payloads(1, payload(3, "one")))
	f.says(response, err, stored)
	f.has("a", 1, "/a=one /b=inline /c=two /d=one")

	// Everything again, in an order and with heads of its own, on another connection.
	p = f.dial(f.token(store.RoleAgent, "a"))
	list[0].Description = "changed"
	slices.Reverse(list)
	response, err = p.pushAny(&waymark.PushRequest{Version: 1, Initial: true, Resources: list})
	f.says(response, err, stored)
	if got := f.snapshot("a").Snapshot; got.Resources[0].Description != "changed" || string(got.Resources[0].Payload) != "one" || got.PayloadBytes != 15 {
		t.Errorf("stored %+v", got)
	}
	// A delta on it, and what moves to another place.
	response, err = p.pushAny(&waymark.PushRequest{Version: 2, Delta: deltaOn(1, "instruction_file:/b"), Resources: []*waymark.Resource{file("/e", "five")}})
	f.says(response, err, stored)
	response, err = p.pushAny(&waymark.PushRequest{Version: 3, Resources: []*waymark.Resource{named("/moved", "five"), named("/back", "inline"), named("/new", "six"), named("/empty", "")}})
	f.says(response, err, wants(2, 3))
	response, err = p.pushMore(payloads(3, payload(2, "six"), payload(3, "")))
	f.says(response, err, stored)
	f.has("a", 3, "/back=inline /empty= /moved=five /new=six")
	observed := map[hub.PushResult]int{}
	for range 7 {
		observed[<-results]++
	}
	if observed[hub.PushContinues] != 3 || observed[hub.PushAccepted] != 4 {
		t.Errorf("observed %v", observed)
	}
}

// TestByHashInParts: a manifest may come in several messages.
func TestByHashInParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: unlimited()})
	p := f.dial(f.token(store.RoleAgent, "a"))
	const n = 600
	var rows []*waymark.Resource
	for i := range n {
		rows = append(rows, named(fmt.Sprintf("/%04d", i), fmt.Sprint("text ", i%7)))
	}
	response, err := p.pushAny(&waymark.PushRequest{Version: 1, Initial: true, More: true, Resources: rows[:200]})
	f.says(response, err, wants())
	response, err = p.pushMore(&waymark.PushMoreRequest{Version: 1, More: true, Resources: rows[200:400]})
	f.says(response, err, wants())
	response, err = p.pushMore(&waymark.PushMoreRequest{Version: 1, Resources: rows[400:]})
	if err != nil || len(response.GetWanted()) != n {
		t.Fatal(len(response.GetWanted()), err)
	}
	more := payloads(1)
	for _, i := range response.GetWanted() {
		more.Payloads = append(more.Payloads, payload(i, fmt.Sprint("text ", i%7)))
	}
	response, err = p.pushMore(more)
	f.says(response, err, stored)
	if got := f.snapshot("a").Snapshot; len(got.Resources) != n || string(got.Resources[n-1].Payload) != "text 4" {
		t.Errorf("%d resources are stored", len(got.Resources))
	}
	if got := f.hub.Stats().Gathered; got != 0 {
		t.Errorf("%d bytes are still reserved", got)
	}
}

// TestByHashOfAnother: that another agent has a text counts for nothing, nor does
// what is no longer kept of the agent itself.
func TestByHashOfAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	f.dial(f.token(store.RoleAgent, "other")).mustPush(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{file("/a", "secret")}}, true)
	p := f.dial(f.token(store.RoleAgent, "a"))
	claim := func(version uint64, want *waymark.PushResponse) {
		t.Helper()
		response, err := p.pushAny(&waymark.PushRequest{Version: version, Resources: []*waymark.Resource{named("/a", "secret")}})
		f.says(response, err, want)
	}
	claim(1, wants(0))
	if f.snapshot("a") != nil {
		t.Fatal("a claim was stored")
	}
	// Also for one that has pushed something.
	p.mustPush(&waymark.PushRequest{Version: 2, Resources: []*waymark.Resource{file("/b", "mine")}}, true)
	claim(3, wants(0))
	// On one connection, too.
	both := p.as(f.token(store.RoleAgent, "other"))
	if response, err := both.pushMore(payloads(3, payload(0, "secret"))); drpcerr.Code(err) != wire.CodeBusy {
		t.Errorf("another agent goes on with it: %v, %v", response, err)
	}
	response, err := p.pushMore(payloads(3, payload(0, "secret")))
	f.says(response, err, stored)
	f.has("a", 3, "/a=secret")

	// What is in the history of the agent counts, as long as it is kept.
	p.mustPush(&waymark.PushRequest{Version: 4}, true)
	claim(5, stored)
	for version := uint64(6); version < 120; version++ {
		p.mustPush(&waymark.PushRequest{Version: version, Resources: []*waymark.Resource{file("/b", fmt.Sprint(version))}}, true)
	}
	claim(120, wants(0))
}

// TestByHashLies: an agent that lies gets an error, and nothing is stored of what it
// says, nor kept.
func TestByHashLies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: unlimited()})
	p := f.dial(f.token(store.RoleAgent, "a"))
	version := uint64(1)
	p.mustPush(&waymark.PushRequest{Version: version, Initial: true, Resources: []*waymark.Resource{file("/kept", "text")}}, true)
	request := func(change func(*waymark.Resource)) *waymark.PushRequest {
		r := named("/new", "a new text")
		if change != nil {
			change(r)
		}
		return &waymark.PushRequest{Version: version + 1, Resources: []*waymark.Resource{named("/kept", "text"), r}}
	}
	good := func() (bool, error) {
		version++
		return p.push(&waymark.PushRequest{Version: version, Resources: []*waymark.Resource{named("/kept", "text")}})
	}
	for name, tc := range map[string]struct {
		change func(*waymark.Resource)
		text   string
	}{
		"short hash":     {func(r *waymark.Resource) { r.Body.Sha256 = r.Body.Sha256[1:] }, "31 bytes"},
		"no hash":        {func(r *waymark.Resource) { r.Body.Sha256 = nil }, "1 bytes"},
		"both":           {func(r *waymark.Resource) { r.Payload = []byte("a new text") }, "what stands for it"},
		"huge":           {func(r *waymark.Resource) { r.Body.SizeBytes = 1 << 40 }, "payload is"},
		"out of range":   {func(r *waymark.Resource) { r.Body.SizeBytes = 1 << 63 }, "out of range"},
		"of mcp_config":  {func(r *waymark.Resource) { r.Kind = "mcp_config" }, "mcp_config has no payload"},
		"of an oversize": {func(r *waymark.Resource) { r.Status = waymark.Status_STATUS_OVERSIZE }, "no payload"},
		"known, but another size": {func(r *waymark.Resource) {
			*r = *proto.CloneOf(named("/new", "text"))
			r.Body.SizeBytes++
		}, "should have 5"},
		"same, but another size": {func(r *waymark.Resource) {
			*r = *proto.CloneOf(named("/kept", "text"))
			r.Key, r.Body.SizeBytes = "", 9
		}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, f, "a", tc.text, func() (bool, error) { return p.push(request(tc.change)) }, good)
		})
	}
	t.Run("the same row in another size", func(t *testing.T) {
		r := named("/kept", "text")
		r.Body.SizeBytes = 5
		r.SizeBytes = 4
		refused(t, f, "a", "should have 5", func() (bool, error) {
			return p.push(&waymark.PushRequest{Version: version + 1, Resources: []*waymark.Resource{r}})
		}, good)
	})
	t.Run("a delta", func(t *testing.T) {
		refused(t, f, "a", "can't be a push by hash", func() (bool, error) {
			return p.push(&waymark.PushRequest{Version: version + 1, Delta: deltaOn(version), Resources: []*waymark.Resource{named("/x", "y")}})
		}, good)
		refused(t, f, "a", "can't be a push by hash", func() (bool, error) {
			return p.push(&waymark.PushRequest{Version: version + 1, Delta: deltaOn(version), More: true, Resources: []*waymark.Resource{file("/x", "y")}})
		}, good)
	})
	for name, tc := range map[string]struct {
		more func() *waymark.PushMoreRequest
		text string
	}{
		"another text":     {func() *waymark.PushMoreRequest { return payloads(version+1, payload(1, "another as")) }, "another SHA-256"},
		"another length":   {func() *waymark.PushMoreRequest { return payloads(version+1, payload(1, "short")) }, "5 bytes and should have 10"},
		"what is known":    {func() *waymark.PushMoreRequest { return payloads(version+1, payload(0, "text")) }, "isn't wanted"},
		"what isn't there": {func() *waymark.PushMoreRequest { return payloads(version+1, payload(1<<31, "text")) }, "isn't wanted"},
		"twice": {func() *waymark.PushMoreRequest {
			return payloads(version+1, payload(1, "a new text"), payload(1, "a new text"))
		}, "isn't wanted"},
		"nothing":         {func() *waymark.PushMoreRequest { return payloads(version + 1) }, "no payloads"},
		"another version": {func() *waymark.PushMoreRequest { return payloads(version, payload(1, "a new text")) }, "version"},
		"resources": {func() *waymark.PushMoreRequest {
			return &waymark.PushMoreRequest{Version: version + 1, Resources: []*waymark.Resource{file("/x", "")}}
		}, "after they were complete"},
		"more": {func() *waymark.PushMoreRequest { return &waymark.PushMoreRequest{Version: version + 1, More: true} }, "after they were complete"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, f, "a", tc.text, func() (bool, error) {
				response, err := p.pushAny(request(nil))
				f.says(response, err, wants(1))
				response, err = p.pushMore(tc.more())
				if _, again := p.pushMore(payloads(version+1, payload(1, "a new text"))); drpcerr.Code(again) != wire.CodeBusy {
					t.Errorf("the push goes on after the error: %v", again)
				}
				return response.GetAccepted(), err
			}, good)
		})
	}
	t.Run("endless", func(t *testing.T) {
		refused(t, f, "a", "5000 resources, at most", func() (bool, error) {
			return pushEndlessly(p, version+1, 1000, func(i int) *waymark.Resource { return file(fmt.Sprint("/", i), "") })
		}, good)
		refused(t, f, "a", "bytes of a manifest", func() (bool, error) {
			return pushEndlessly(p, version+1, 100, func(i int) *waymark.Resource { return file(fmt.Sprint("/", i), long(9<<10)) })
		}, good)
		refused(t, f, "a", "parts", func() (bool, error) {
			return pushEndlessly(p, version+1, 10, func(i int) *waymark.Resource {
				r := file(fmt.Sprint("/", i), "")
				r.Attributes = map[string]*waymark.Attribute{}
				for j := range 1000 {
					r.Attributes[fmt.Sprint(j)] = &waymark.Attribute{Value: &waymark.Attribute_Text{}}
				}
				return r
			})
		}, good)
		refused(t, f, "a", "no resources", func() (bool, error) {
			return pushEndlessly(p, version+1, 0, func(int) *waymark.Resource { return nil })
		}, good)
		refused(t, f, "a", "before the resources are complete", func() (bool, error) {
			if _, err := p.pushAny(&waymark.PushRequest{Version: version + 1, More: true, Resources: []*waymark.Resource{named("/a", "b")}}); err != nil {
				t.Fatal(err)
			}
			response, err := p.pushMore(payloads(version+1, payload(0, "b")))
			return response.GetAccepted(), err
		}, good)
	})
	if _, err := p.pushAny(&waymark.PushRequest{Version: version + 1, More: true, Resources: []*waymark.Resource{file("/a", long(170<<10)), file("/b", long(1<<19)), file("/c", long(1<<19))}}); drpcerr.Code(err) != wire.CodeTooLarge {
		t.Errorf("a message of more than a MiB: %v", err)
	}
	if got := f.hub.Stats().Gathered; got != 0 {
		t.Errorf("%d bytes are still reserved", got)
	}
	if log := f.log.String(); strings.Contains(log, "a new text") || strings.Contains(log, "another as") {
		t.Error("the log quotes a push")
	}
}

// pushEndlessly begins a push and goes on with it for ever.
func pushEndlessly(p *peer, version uint64, each int, row func(int) *waymark.Resource) (bool, error) {
	request := &waymark.PushRequest{Version: version, More: true}
	var err error
	for i := 0; err == nil; {
		var list []*waymark.Resource
		for range each {
			list = append(list, row(i))
			i++
		}
		if request != nil {
			request.Resources = list
			_, err = p.pushAny(request)
			request = nil
			continue
		}
		_, err = p.pushMore(&waymark.PushMoreRequest{Version: version, More: true, Resources: list})
	}
	return false, err
}

// TestByHashBounds: what waits for its next message takes bounded room for bounded
// time, one of each agent.
func TestByHashBounds(t *testing.T) {
	t.Parallel()
	limits := unlimited()
	limits.Gathered = 300_000
	f := newFixture(t, hub.Options{Limits: limits})
	begin := func(p *peer, n int) error {
		_, err := p.pushAny(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{named("/a", long(n))}})
		return err
	}
	a, b := f.dial(f.token(store.RoleAgent, "a")), f.dial(f.token(store.RoleAgent, "b"))
	if err := errors.Join(begin(a, 150_000), begin(b, 100_000)); err != nil {
		t.Fatal(err)
	}
	c := f.dial(f.token(store.RoleAgent, "c"))
	if err := begin(c, 100_000); drpcerr.Code(err) != wire.CodeBusy {
		t.Errorf("there is room for a third: %v", err)
	}
	// A new one takes the old one's place, on the same connection and on another.
	if err := begin(a, 140_000); err != nil {
		t.Error(err)
	}
	newer := f.dial(f.token(store.RoleAgent, "a"))
	if err := begin(newer, 20_000); err != nil {
		t.Error(err)
	}
	if _, err := a.pushMore(payloads(1, payload(0, long(140_000)))); drpcerr.Code(err) != wire.CodeBusy {
		t.Errorf("the older one goes on: %v", err)
	}
	if err := begin(c, 100_000); err != nil {
		t.Error(err)
	}
	// The end of a connection makes room.
	if err := b.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if !f.eventually(func() bool { return f.hub.Stats().Gathered < 150_000 }) {
		t.Errorf("%d bytes are reserved", f.hub.Stats().Gathered)
	}
	response, err := newer.pushMore(payloads(1, payload(0, long(20_000))))
	f.says(response, err, stored)
	response, err = c.pushMore(payloads(1, payload(0, long(100_000))))
	f.says(response, err, stored)
	if got := f.hub.Stats().Gathered; got != 0 {
		t.Errorf("%d bytes are still reserved", got)
	}
}

// TestByHashTime: who dribbles loses what has come.
func TestByHashTime(t *testing.T) {
	t.Parallel()
	inSynctest(t, hub.Options{Limits: transport.Limits{Read: 30 * time.Second, Handshake: time.Hour}}, func(t *testing.T, f *fixture, _ string) {
		p := f.dial(f.token(store.RoleAgent, "a"))
		request := &waymark.PushRequest{Version: 1, Initial: true}
		for i := range 100 {
			request.Resources = append(request.Resources, named(fmt.Sprint("/", i), fmt.Sprint(i)))
		}
		if _, err := p.pushAny(request); err != nil {
			t.Fatal(err)
		}
		i := uint32(0)
		for ; i < 100; i++ {
			time.Sleep(5 * time.Second)
			if _, err := p.pushMore(payloads(1, payload(i, fmt.Sprint(i)))); err != nil {
				if drpcerr.Code(err) != wire.CodeBusy {
					t.Error(err)
				}
				break
			}
		}
		if i < 4 || i > 8 || f.hub.Stats().Gathered != 0 {
			t.Errorf("%d payloads were taken, %d bytes are reserved", i, f.hub.Stats().Gathered)
		}
	})
}

// cutter is a line that ends after a number of bytes.
type cutter struct {
	net.Conn

	mu   sync.Mutex // guards left
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= len(p); c.left < 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// TestByHashCuts pushes at random over connections that are cut at any byte, to
// hubs that are killed and started again: what is stored is always one of the
// states whole, and the newest once a connection lasts.
func TestByHashCuts(t *testing.T) {
	t.Parallel()
	seed := randtest.Seed(t)
	rnd := randtest.Of(seed, 3)
	path := filepath.Join(t.TempDir(), "hub.db")
	var f *fixture
	var end func()
	start := func() { f, end = startHub(t, path) }
	start()
	token := f.token(store.RoleAgent, "a")
	states := map[string]bool{"": true}
	state := func(s *snapshot.Snapshot) string {
		var b strings.Builder
		for _, r := range s.Resources {
			fmt.Fprintf(&b, "%s=%x ", r.Source, sha256.Sum256(r.Payload))
		}
		return b.String()
	}
	s := &snapshot.Snapshot{}
	for round := range randtest.Rounds(12, 40, 2000) {
		s = randomFiles(rnd, s)
		states[state(s)] = true
		wait := rnd.IntN(3) > 0
		opts := push.Options{
			Token: token, MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, CallTimeout: timeout,
			Dialer: push.DialFunc(func(context.Context) (drpc.Conn, error) {
				conn, err := f.plain()
				if err != nil {
					return nil, err
				}
				left := 1 << 40
				if !wait || rnd.IntN(2) == 0 { // Run's goroutine is the only one that draws meanwhile
					left = rnd.IntN(200_000)
				}
				return push.NewConn(&cutter{Conn: conn, left: left}), nil
			}),
		}
		pusher := push.New(opts)
		done := make(chan error, 1)
		go func() { done <- pusher.Run(context.Background()) }()
		pusher.Publish(s)
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		if wait {
			if err := pusher.Accepted(ctx, s.Version); err != nil {
				t.Fatalf("round %d: %v, %s", round, err, pusher.Status().LastError)
			}
		}
		cancel()
		if err := errors.Join(pusher.Close(), <-done); err != nil && !errors.Is(err, push.ErrClosed) { // before Run could begin
			t.Fatal(err)
		}
		if rnd.IntN(3) == 0 {
			end()
			start()
		}
		var got string
		if stored := f.snapshot("a"); stored != nil {
			got = state(&stored.Snapshot)
		}
		if !states[got] || wait && got != state(s) {
			t.Fatalf("round %d: what is stored isn't what was pushed", round)
		}
	}
	end()
}

// startHub starts a hub over a database, and returns what ends it.
func startHub(t *testing.T, path string) (f *fixture, end func()) {
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f = &fixture{t: t, store: st, log: new(safeBuffer)}
	limits := withTimeouts(unlimited())
	if f.hub, err = hub.New(hub.Options{Store: st, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	line := newPipes("drpc")
	f.plain = line.dial
	served := make(chan error, 1)
	go func() { served <- f.hub.ServeDRPC(context.Background(), line) }()
	return f, func() {
		err := f.hub.Close()
		if ended := <-served; ended != hub.ErrClosed { // before it had begun
			err = errors.Join(err, ended)
		}
		if err = errors.Join(err, st.Close()); err != nil {
			t.Error(err)
		}
	}
}

// randomFiles makes the next snapshot: many texts stay, move or come back.
func randomFiles(rnd *rand.Rand, before *snapshot.Snapshot) *snapshot.Snapshot {
	next := &snapshot.Snapshot{Version: before.Version + 1}
	for i := range 60 {
		if rnd.IntN(6) == 0 {
			continue
		}
		r := snapshot.Resource{Kind: abi.KindSkill, Source: fmt.Sprintf("/w/%02d", i), Status: snapshot.StatusOK}
		text := fmt.Sprintf("%d", rnd.IntN(40))
		r.Payload = []byte(strings.Repeat(text, 1+rnd.IntN(2)*3000))
		next.Resources = append(next.Resources, r)
	}
	return next
}

// TestByHashLarge brings as much as a hub takes, over both transports, and again
// over a new connection, for which next to nothing moves.
func TestByHashLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	server := listen(t, hub.ListenOptions{
		HTTP: "127.0.0.1:0", DRPC: []string{"tcp:127.0.0.1:0"}, DB: "sqlite:shared",
		Databases: hub.Databases{
			Check: func(string) error { return nil },
			Open:  func(context.Context, string, hub.StoreOptions) (store.Store, error) { return f.store, nil },
		},
	})
	stop := run(t, server)
	n := wire.MaxHubResources
	if race.Enabled { // a row takes a hundred times as long then
		n = 200
	}
	size := wire.MaxHubBytes / n
	for agent, url := range map[string]string{"web": server.HTTPURL(), "plain": server.DRPC()[0]} {
		s := &snapshot.Snapshot{Version: 1}
		for i := range n {
			r := snapshot.Resource{Kind: abi.KindSkill, Source: fmt.Sprintf("/w/.agents/skills/skill-%04d", i), Name: fmt.Sprint("skill-", i), Status: snapshot.StatusOK}
			r.Payload = fmt.Appendf(nil, "%s %d %s", agent, i, long(size))[:size]
			hash := sha256.Sum256(r.Payload)
			r.ContentHash, r.SizeBytes = hash[:], int64(size)
			s.Resources = append(s.Resources, r)
		}
		var sent []int
		for range 2 {
			opts, err := push.Remote(url, push.RemoteOptions{Token: f.token(store.RoleAgent, agent)})
			if err != nil {
				t.Fatal(err)
			}
			opts.CallTimeout = timeout
			opts.Observe = func(a push.Attempt) { sent = append(sent, a.Bytes) }
			pusher := push.New(opts)
			done := make(chan error, 1)
			go func() { done <- pusher.Run(context.Background()) }()
			pusher.Publish(s)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			if err := pusher.Accepted(ctx, 1); err != nil {
				t.Error(err, pusher.Status())
			}
			cancel()
			if err := errors.Join(pusher.Close(), <-done); err != nil {
				t.Error(err)
			}
		}
		if len(sent) != 2 || sent[0] < wire.MaxHubBytes/100*99 || sent[1] > wire.MaxHubBytes*3/100 {
			t.Errorf("%s: %v bytes were sent", agent, sent)
		}
		got := f.snapshot(agent)
		if got == nil || len(got.Snapshot.Resources) != n || !snapshot.SameContent(s, &got.Snapshot) {
			t.Errorf("%s: that isn't what is stored", agent)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// FuzzPushMore goes on with a push in whatever way: nothing is stored, or exactly
// what was named.
func FuzzPushMore(f *testing.F) {
	for _, seed := range []*waymark.PushMoreRequest{
		payloads(2, payload(0, "one"), payload(2, "two")),
		payloads(2, payload(0, "two"), payload(2, "one")),
		payloads(2, payload(1, "inline")),
		{Version: 2, More: true, Resources: []*waymark.Resource{named("/x", "y")}},
	} {
		data, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
		f.Add(data, true)
	}
	st, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "hub.db"), sqlite.Options{History: store.Retention{Revisions: 1}})
	if err != nil {
		f.Fatal(err)
	}
	fix := newFixture(f, hub.Options{Store: st, Limits: unlimited()})
	conn := fix.dial(fix.token(store.RoleAgent, "a"))
	f.Fuzz(func(t *testing.T, data []byte, more bool) {
		local := *fix
		local.t = t
		p := &peer{&local, conn.conn, conn.ctx}
		p.mustPush(&waymark.PushRequest{Version: 1, Initial: true}, true)
		response, err := p.pushAny(&waymark.PushRequest{Version: 2, Initial: true, More: more, Resources: []*waymark.Resource{named("/a", "one"), file("/b", "inline"), named("/c", "two")}})
		want := wants(0, 2)
		if more {
			want = wants()
		}
		local.says(response, err, want)
		if pushRaw(t, fix, p, wire.MethodPushMore, data) && !more {
			local.has("a", 2, "/a=one /b=inline /c=two")
		}
	})
}
