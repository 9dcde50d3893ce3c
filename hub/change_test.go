package hub_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"waymark/abi"
	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/ingest"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
)

// on makes a push one against what another one has made.
func on(base *pushtest.Push, p *pushtest.Push) *pushtest.Push {
	p.Base = base.Name()
	return p
}

// has requires what is stored, in the form "source=payload …".
func (f *fixture) has(agent string, version uint64, want string) {
	f.t.Helper()
	got := f.snapshot(agent)
	var rows []string
	for _, r := range got.Snapshot.Resources {
		rows = append(rows, r.Source+"="+string(r.Payload))
	}
	if is := strings.Join(rows, " "); is != want || got.Snapshot.Version != version {
		f.t.Errorf("version %d is stored with %q, want version %d with %q", got.Snapshot.Version, is, version, want)
	}
}

// says requires an answer that is no error.
func (f *fixture) says(response *waymark.PushResponse, err error, want *waymark.PushResponse) {
	f.t.Helper()
	if err != nil || !proto.Equal(response, want) {
		f.t.Fatalf("the answer is %v, %v; want %v", response, err, want)
	}
}

var (
	accepted    = &waymark.PushResponse{Accepted: true}
	notAccepted = &waymark.PushResponse{}
	baseUnknown = &waymark.PushResponse{BaseUnknown: true}
)

// wants is the answer to a push that names these texts.
func wants(texts ...string) *waymark.PushResponse {
	response := &waymark.PushResponse{}
	for _, text := range texts {
		hash := sha256.Sum256([]byte(text))
		response.Wanted = append(response.Wanted, hash[:])
	}
	return response
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	push := func(p *peer, request *pushtest.Push, want *waymark.PushResponse) *pushtest.Push {
		t.Helper()
		response, err := p.pushAny(request)
		f.says(response, err, want)
		return request
	}
	nothing := &pushtest.Push{}
	push(p, on(nothing, &pushtest.Push{Version: 1}), baseUnknown) // which isn't there
	first := push(p, &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/a", "1"), file("/b", "1"), file("/c", "1")}}, accepted)
	second := push(p, on(first, &pushtest.Push{
		Version: 2, SnapshotError: "e", AggregateHash: []byte{2}, Removed: []string{"instruction_file:/c"},
		Resources: []*pushtest.Resource{file("/b", "2"), file("/d", "2")}, Plugins: []*waymark.Plugin{{Name: "p"}},
	}), accepted)
	f.has("a", 2, "/a=1 /b=2 /d=2")
	if got := f.snapshot("a").Snapshot; got.SnapshotError != "e" || len(got.Plugins) != 1 || got.AggregateHash[0] != 2 || got.PayloadBytes != 3 {
		t.Errorf("stored %+v", got)
	}
	push(p, on(first, &pushtest.Push{Version: 3}), baseUnknown)                                                      // an older base
	push(p, on(nothing, &pushtest.Push{Version: 3}), baseUnknown)                                                    // one that never was
	push(p, on(second, &pushtest.Push{Version: 3, Removed: []string{"instruction_file:/c"}}), baseUnknown)           // gone already
	push(p, on(second, &pushtest.Push{Version: 2, Removed: []string{"instruction_file:/a"}}), notAccepted)           // a replay
	third := push(p, on(second, &pushtest.Push{Version: 3, Removed: []string{"instruction_file:/\x00a"}}), accepted) // mended like a source
	f.has("a", 3, "/b=2 /d=2")
	if got := f.snapshot("a").Snapshot; got.SnapshotError != "e" || len(got.Plugins) != 1 {
		t.Errorf("a head that isn't brought doesn't stay: %+v", got)
	}

	// What was pushed in the other protocol is no base, and what it replaces isn't one any more.
	if accepted, err := p.pushCoder(&coder.PushContextStateRequest{Version: 5, Resources: []*coder.ContextResource{coderFile("/x", "5")}}); err != nil || !accepted {
		t.Fatal(accepted, err)
	}
	push(p, on(third, &pushtest.Push{Version: 6}), baseUnknown)
	sixth := push(p, &pushtest.Push{Version: 6, Resources: []*pushtest.Resource{file("/x", "6")}}, accepted)

	// What another connection has pushed is one, whatever its version.
	q := f.dial(f.token(store.RoleAgent, "a"))
	push(q, on(sixth, &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/q", "1")}}), accepted)
	if _, err := p.pushAny(on(sixth, &pushtest.Push{Version: 8})); drpcerr.Code(err) != wire.CodeSuperseded {
		t.Errorf("a delta of a superseded session: %v", err)
	}
	f.has("a", 1, "/q=1 /x=6")
	// What another agent has isn't.
	push(f.dial(f.token(store.RoleAgent, "b")), on(sixth, &pushtest.Push{Version: 1}), baseUnknown)
}

// TestNothing: an agent that comes back with what it has pushed says so in 38 bytes.
func TestNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	first := &pushtest.Push{Version: 300, Resources: []*pushtest.Resource{file("/x", "x")}, Plugins: []*waymark.Plugin{{Name: "p"}}}
	f.dial(f.token(store.RoleAgent, "a")).mustPush(first, true)
	nothing := &waymark.PushRequest{Version: 301, Base: first.Name()}
	if n := proto.Size(nothing); n > 38 {
		t.Errorf("it has %d bytes", n)
	}
	client := func(p *peer) waymark.DRPCContextClient { return waymark.NewDRPCContextClient(p.conn) }
	p := f.dial(f.token(store.RoleAgent, "a"))
	response, err := client(p).Push(p.ctx, nothing)
	f.says(response, err, accepted)
	if got := f.snapshot("a").Snapshot; got.Version != 301 || len(got.Plugins) != 1 || len(got.Resources) != 1 {
		t.Errorf("stored %+v", got)
	}
	p = f.dial(f.token(store.RoleAgent, "b"))
	response, err = client(p).Push(p.ctx, nothing)
	f.says(response, err, baseUnknown)
}

// TestChangeRules: what a change must not do, it doesn't do: nothing is written,
// and the base stays what it was.
func TestChangeRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	last := &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/kept", "text")}}
	p.mustPush(last, true)
	ids := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("skill:/", i))
		}
		return list
	}
	name := func(n int) []byte { return make([]byte, n) }
	for what, tc := range map[string]struct {
		change func(*waymark.PushRequest)
		text   string
	}{
		"removed twice":        {func(r *waymark.PushRequest) { r.Removed = []string{"a", "a"} }, "removed 1: the id appears twice"},
		"twice by NUL":         {func(r *waymark.PushRequest) { r.Removed = []string{"a", "a\x00"} }, "appears twice"},
		"removed and new":      {func(r *waymark.PushRequest) { r.Removed = []string{"instruction_file:/new"} }, "appears twice"},
		"too many removed":     {func(r *waymark.PushRequest) { r.Removed = ids(4001) }, "4001 removed"},
		"long id":              {func(r *waymark.PushRequest) { r.Removed = []string{long(3000)} }, "an id is 3000"},
		"bad row":              {func(r *waymark.PushRequest) { r.Resources[0].Status = 0 }, "status"},
		"row twice":            {func(r *waymark.PushRequest) { r.Resources = append(r.Resources, r.Resources[0]) }, "id appears twice"},
		"version":              {func(r *waymark.PushRequest) { r.Version = 1 << 63 }, "version"},
		"hash":                 {func(r *waymark.PushRequest) { r.Head = &waymark.Head{AggregateHash: make([]byte, 65)} }, "aggregate_hash"},
		"short base":           {func(r *waymark.PushRequest) { r.Base = name(31) }, "the base has 31 bytes"},
		"long name":            {func(r *waymark.PushRequest) { r.Name = name(33) }, "the name has 33 bytes"},
		"no base":              {func(r *waymark.PushRequest) { r.Base = nil }, "without a base"},
		"no base, removed":     {func(r *waymark.PushRequest) { r.Base, r.Head, r.Removed = nil, &waymark.Head{}, ids(1) }, "without a base"},
		"no name":              {func(r *waymark.PushRequest) { r.Name = nil }, "no name"},
		"a head, no name":      {func(r *waymark.PushRequest) { r.Name, r.Resources, r.Payloads, r.Head = nil, nil, nil, &waymark.Head{} }, "no name"},
		"another name":         {func(r *waymark.PushRequest) { r.Base, r.Head = nil, &waymark.Head{} }, "another name than it says"},
		"payload of nobody":    {func(r *waymark.PushRequest) { r.Payloads = append(r.Payloads, []byte("x")) }, "payload 1: no resource has it"},
		"long payload":         {func(r *waymark.PushRequest) { r.Payloads = [][]byte{[]byte(long(256<<10 + 1))} }, "payload is"},
		"many payloads":        {func(r *waymark.PushRequest) { r.Payloads = [][]byte{[]byte(long(40 << 10)), []byte(long(40<<10 - 1))} }, "together"},
		"short body":           {func(r *waymark.PushRequest) { r.Resources[0].Body.Sha256 = name(31) }, "31 bytes"},
		"no body":              {func(r *waymark.PushRequest) { r.Resources[0].Body.Sha256 = nil }, "1 bytes"},
		"huge body":            {func(r *waymark.PushRequest) { r.Resources[0].Body.SizeBytes = 1 << 40 }, "payload is"},
		"body out of range":    {func(r *waymark.PushRequest) { r.Resources[0].Body.SizeBytes = 1 << 63 }, "out of range"},
		"body of another size": {func(r *waymark.PushRequest) { r.Resources[0].Body.SizeBytes++ }, "should have 4"},
		"of mcp_config":        {func(r *waymark.PushRequest) { r.Resources[0].Kind = "mcp_config" }, "mcp_config has no payload"},
		"of an oversize":       {func(r *waymark.PushRequest) { r.Resources[0].Status = waymark.Status_STATUS_OVERSIZE }, "no payload"},
		"known, but another size": {func(r *waymark.PushRequest) {
			r.Resources[0], r.Payloads = file("/other", "text").Named().Wire(), nil
			r.Resources[0].Body.SizeBytes++
		}, "should have 5"},
	} {
		t.Run(what, func(t *testing.T) {
			refused(t, f, "a", tc.text,
				func() (bool, error) {
					request, _ := on(last, &pushtest.Push{Version: last.Version + 1, Resources: []*pushtest.Resource{file("/new", "new")}}).Request()
					tc.change(request)
					response, err := waymark.NewDRPCContextClient(p.conn).Push(p.ctx, request)
					return response.GetAccepted(), err
				},
				func() (bool, error) {
					last = on(last, &pushtest.Push{Version: last.Version + 1})
					return p.push(last)
				})
		})
	}
	f.has("a", last.Version, "/kept=text")
	if _, err := waymark.NewDRPCContextClient(p.conn).Upload(p.ctx, &waymark.UploadRequest{Payloads: [][]byte{[]byte(long(256<<10 + 1))}}); err == nil {
		t.Error("an upload that is too long was taken")
	}
}

// TestDeltaLimits: many small steps don't lead further than one large one.
func TestDeltaLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		row  func(i int) *pushtest.Resource
		step int
		text string
	}{
		"count":  {func(i int) *pushtest.Resource { return file(fmt.Sprint("/", i), "") }, 900, "resources, at most 4000"},
		"bodies": {func(i int) *pushtest.Resource { return file(fmt.Sprint("/", i), long(128<<10-i)) }, 28, "payloads of"},
		"texts": {func(i int) *pushtest.Resource {
			r := file(fmt.Sprint("/", i), "")
			r.Attributes = map[string]*waymark.Attribute{"x": {Value: &waymark.Attribute_Text{Text: long(16<<10 - 10)}}}
			return r
		}, 60, "resources are longer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, hub.Options{Limits: unlimited()})
			p := f.dial(f.token(store.RoleAgent, "a"))
			last, next := &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{tc.row(0)}}, 1
			p.mustPush(last, true)
			for {
				request := on(last, &pushtest.Push{Version: last.Version + 1})
				for range tc.step {
					request.Resources = append(request.Resources, tc.row(next))
					next++
				}
				if _, err := p.push(request); err != nil {
					if !strings.Contains(err.Error(), tc.text) {
						t.Errorf("refused with %v", err)
					}
					break
				}
				if last = request; last.Version > 10 {
					t.Fatalf("%d resources were taken in %d steps", next, last.Version)
				}
			}
			if got := f.snapshot("a").Snapshot; got.Version != last.Version || len(got.Resources) != next-tc.step {
				t.Errorf("version %d with %d resources is stored", got.Version, len(got.Resources))
			}
			// What makes room is taken.
			removed := []string{"instruction_file:/0", "instruction_file:/1"}
			p.mustPush(on(last, &pushtest.Push{Version: last.Version + 1, Removed: removed, Resources: []*pushtest.Resource{tc.row(next)}}), true)
		})
	}
}

// TestWanted: a hub wants what it hasn't of this agent, each once, keeps what has come, and
// wants nothing that it has.
func TestWanted(t *testing.T) {
	t.Parallel()
	results := make(chan ingest.PushResult, 1000) // which come some time after the answers
	f := newFixture(t, hub.Options{Observe: func(o ingest.PushObserved) { results <- o.Result }})
	p := f.dial(f.token(store.RoleAgent, "a"))
	upload := func(p *peer, texts ...string) {
		t.Helper()
		request := &waymark.UploadRequest{}
		for _, text := range texts {
			request.Payloads = append(request.Payloads, []byte(text))
		}
		if _, err := waymark.NewDRPCContextClient(p.conn).Upload(p.ctx, request); err != nil {
			t.Fatal(err)
		}
	}
	first := &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{
		file("/a", "one").Named(), file("/b", "inline"), file("/c", "two").Named(), file("/d", "one").Named(),
	}}
	response, err := p.pushAny(first)
	f.says(response, err, wants("one", "two"))
	if f.snapshot("a") != nil {
		t.Error("something is stored already")
	}
	// That another agent has brought them counts for nothing, also on the same connection.
	upload(p.as(f.token(store.RoleAgent, "other")), "one", "two")
	upload(p, "two")
	first.Resources[1] = first.Resources[1].Named() // it has come
	response, err = p.pushAny(first)
	f.says(response, err, wants("one"))
	// What has come stays for another connection.
	p = f.dial(f.token(store.RoleAgent, "a"))
	upload(p, "one")
	response, err = p.pushAny(first)
	f.says(response, err, accepted)
	f.has("a", 1, "/a=one /b=inline /c=two /d=one")

	// Everything again, in an order and with descriptions of its own.
	p = f.dial(f.token(store.RoleAgent, "a"))
	first.Resources[0].Description = "changed"
	slices.Reverse(first.Resources)
	response, err = p.pushAny(first)
	f.says(response, err, accepted)
	if got := f.snapshot("a").Snapshot; got.Resources[0].Description != "changed" || string(got.Resources[0].Payload) != "one" || got.PayloadBytes != 15 {
		t.Errorf("stored %+v", got)
	}
	// A delta on it, and what moves to another place.
	second := on(first, &pushtest.Push{Version: 2, Removed: []string{"instruction_file:/b"}, Resources: []*pushtest.Resource{file("/e", "five")}})
	p.mustPush(second, true)
	third := on(second, &pushtest.Push{Version: 3, Resources: []*pushtest.Resource{
		file("/moved", "five").Named(), file("/back", "inline").Named(), file("/new", "six").Named(), file("/empty", "").Named(),
	}})
	response, err = p.pushAny(third)
	f.says(response, err, wants("six", ""))
	upload(p, "six", "")
	response, err = p.pushAny(third)
	f.says(response, err, accepted)
	f.has("a", 3, "/a=one /back=inline /c=two /d=one /e=five /empty= /moved=five /new=six")
	observed := map[ingest.PushResult]int{}
	for range 11 {
		observed[<-results]++
	}
	if observed[ingest.PushContinues] != 7 || observed[ingest.PushAccepted] != 4 {
		t.Errorf("observed %v", observed)
	}

	// Another agent may not take what it knows the hash of, but what it has brought.
	other := f.dial(f.token(store.RoleAgent, "third"))
	response, err = other.pushAny(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/a", "six").Named()}})
	f.says(response, err, wants("six"))
	// What is in the history of the agent counts, as long as it is kept.
	last := &pushtest.Push{Version: 4}
	p.mustPush(last, true)
	p.mustPush(&pushtest.Push{Version: 5, Resources: []*pushtest.Resource{file("/a", "six").Named()}}, true)
	for version := uint64(6); version < 120; version++ {
		p.mustPush(&pushtest.Push{Version: version, Resources: []*pushtest.Resource{file("/b", fmt.Sprint(version))}}, true)
	}
	response, err = p.pushAny(&pushtest.Push{Version: 120, Resources: []*pushtest.Resource{file("/a", "six").Named()}})
	f.says(response, err, wants("six"))
	if log := f.log.String(); strings.Contains(log, "inline") {
		t.Error("the log quotes a push")
	}
}

// FuzzDelta walks at random: whatever steps are taken, as deltas or in full,
// what is stored is what was meant.
func FuzzDelta(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed, 20)
	}
	fix := newFixture(f, hub.Options{Limits: unlimited()})
	token := fix.token(store.RoleAgent, "a")
	f.Fuzz(func(t *testing.T, seed uint64, steps int) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		local := *fix
		local.t = t
		p := local.dial(token)
		rows := map[string]string{}
		request := &pushtest.Push{Version: 1}
		for range 1 + max(steps, 0)%40 {
			response, err := p.pushAny(request)
			if err != nil || !response.GetAccepted() {
				t.Fatalf("seed %d, version %d: %v, %v", seed, request.GetVersion(), response, err)
			}
			if rnd.IntN(3) == 0 || request.Version < 3 {
				got := map[string]string{}
				for _, r := range fix.snapshot("a").Snapshot.Resources {
					got[r.Source] = string(r.Payload)
				}
				if !maps.Equal(got, rows) {
					t.Fatalf("seed %d, version %d: %v is stored, want %v", seed, request.Version, got, rows)
				}
			}
			request = step(rnd, request, rows)
		}
	})
}

// step changes rows and returns the push that says so.
func step(rnd *rand.Rand, last *pushtest.Push, rows map[string]string) *pushtest.Push {
	version := last.Version
	request := on(last, &pushtest.Push{Version: version + 1})
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		switch rnd.IntN(4) {
		case 0:
			delete(rows, source)
			request.Removed = append(request.Removed, "instruction_file:"+source)
		case 1:
			rows[source] = fmt.Sprint(version)
			request.Resources = append(request.Resources, file(source, rows[source]))
		}
	}
	for range rnd.IntN(4) {
		if source := fmt.Sprint("/", rnd.IntN(20)); rows[source] == "" && !slices.Contains(request.Removed, "instruction_file:"+source) {
			rows[source] = fmt.Sprint("new ", version)
			request.Resources = append(request.Resources, file(source, rows[source]))
		}
	}
	if rnd.IntN(4) == 0 { // the whole instead
		request.Base, request.Removed, request.Resources = nil, nil, nil
		for source, text := range rows {
			request.Resources = append(request.Resources, file(source, text))
		}
	}
	return request
}

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
	case a.Delta && a.Bytes <= 38:
		kind = "nothing"
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

// TestComesBack: an agent that comes back says what has changed since its last push; what
// has changed at the hub has everything come.
func TestComesBack(t *testing.T) {
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
	c.comes(since, 1, "nothing accepted")
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
	c.comes(since, 4, "delta accepted")

	c.stop()
	if err := os.WriteFile(c.path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	since = time.Now()
	c.start()
	c.comes(since, 4, "nothing full_needed", "whole accepted")
	c.stop()
	since = time.Now()
	c.start()
	c.comes(since, 4, "nothing accepted")
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

// TestPushCuts pushes at random over connections that are cut at any byte, to
// hubs that are killed and started again: what is stored is always one of the
// states whole, and the newest once a connection lasts.
func TestPushCuts(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	rnd := testenv.RandOf(seed, 3)
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
	for round := range testenv.Rounds(12, 40, 2000) {
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

// TestPushLarge brings as much as a hub takes, over both transports, and again
// over a new connection, for which next to nothing moves.
func TestPushLarge(t *testing.T) {
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
	if testenv.Race { // a row takes a hundred times as long then
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

// FuzzUpload uploads whatever, and pushes: nothing is stored, or exactly what was named.
func FuzzUpload(f *testing.F) {
	for _, list := range [][]string{{"one", "two"}, {"two"}, {""}} {
		request := &waymark.UploadRequest{}
		for _, text := range list {
			request.Payloads = append(request.Payloads, []byte(text))
		}
		data, err := proto.Marshal(request)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	st, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "hub.db"), sqlite.Options{History: store.Retention{Revisions: 1}})
	if err != nil {
		f.Fatal(err)
	}
	fix := newFixture(f, hub.Options{Store: st, Limits: unlimited()})
	conn := fix.dial(fix.token(store.RoleAgent, "a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		local := *fix
		local.t = t
		p := &peer{&local, conn.conn, conn.ctx}
		version := uint64(1)
		if now := fix.snapshot("a"); now != nil {
			version = now.Snapshot.Version + 1
		}
		p.mustPush(&pushtest.Push{Version: version}, true)
		pushRaw(t, fix, p, wire.MethodUpload, data)
		response, err := p.pushAny(&pushtest.Push{Version: version + 1, Resources: []*pushtest.Resource{
			file("/a", "one").Named(), file("/b", "inline"), file("/c", "two").Named(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if response.GetAccepted() {
			local.has("a", version+1, "/a=one /b=inline /c=two")
		}
	})
}
