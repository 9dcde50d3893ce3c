package hub_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"storj.io/drpc/drpcerr"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

func deltaOn(base uint64, removed ...string) *waymark.Delta {
	return &waymark.Delta{BaseVersion: base, Removed: removed}
}

// pushAny pushes without an opinion on the answer.
func (p *peer) pushAny(request *waymark.PushRequest) (*waymark.PushResponse, error) {
	return waymark.NewDRPCContextClient(p.conn).Push(p.ctx, request)
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

func TestDeltas(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	push := func(request *waymark.PushRequest, accepted, full bool) {
		t.Helper()
		response, err := p.pushAny(request)
		if err != nil || response.GetAccepted() != accepted || response.GetFullNeeded() != full || response.GetDeltas() != accepted {
			t.Fatalf("version %d: %v, %v", request.GetVersion(), response, err)
		}
	}
	push(&waymark.PushRequest{Version: 1, Delta: deltaOn(0)}, false, true) // nothing to be against
	push(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{file("/a", "1"), file("/b", "1"), file("/c", "1")}}, true, false)
	push(&waymark.PushRequest{
		Version: 2, SnapshotError: "e", AggregateHash: []byte{2}, Delta: deltaOn(1, "instruction_file:/c"),
		Resources: []*waymark.Resource{file("/b", "2"), file("/d", "2")}, Plugins: []*waymark.Plugin{{Name: "p"}},
	}, true, false)
	f.has("a", 2, "/a=1 /b=2 /d=2")
	if got := f.snapshot("a").Snapshot; got.SnapshotError != "e" || len(got.Plugins) != 1 || got.AggregateHash[0] != 2 || got.PayloadBytes != 3 {
		t.Errorf("stored %+v", got)
	}
	push(&waymark.PushRequest{Version: 3, Delta: deltaOn(1)}, false, true)                            // an older base
	push(&waymark.PushRequest{Version: 3, Delta: deltaOn(9)}, false, true)                            // one that never was
	push(&waymark.PushRequest{Version: 3, Delta: deltaOn(2, "instruction_file:/c")}, false, true)     // gone already
	push(&waymark.PushRequest{Version: 2, Delta: deltaOn(2, "instruction_file:/a")}, false, false)    // a replay
	push(&waymark.PushRequest{Version: 3, Delta: deltaOn(2, "instruction_file:/\x00a")}, true, false) // mended like a source
	f.has("a", 3, "/b=2 /d=2")
	push(&waymark.PushRequest{Version: 4, Delta: deltaOn(3)}, true, false)
	f.has("a", 4, "/b=2 /d=2")

	// What was pushed in the other protocol is no base.
	if accepted, err := p.pushCoder(&coder.PushContextStateRequest{Version: 5, Resources: []*coder.ContextResource{coderFile("/x", "5")}}); err != nil || !accepted {
		t.Fatal(accepted, err)
	}
	push(&waymark.PushRequest{Version: 6, Delta: deltaOn(5)}, false, true)
	push(&waymark.PushRequest{Version: 6, Delta: deltaOn(4)}, false, true)
	push(&waymark.PushRequest{Version: 6, Resources: []*waymark.Resource{file("/x", "6")}}, true, false)

	// Nor is what another connection has pushed.
	q := f.dial(f.token(store.RoleAgent, "a"))
	if response, err := q.pushAny(&waymark.PushRequest{Version: 7, Delta: deltaOn(6)}); err != nil || !response.GetFullNeeded() {
		t.Errorf("a delta on another connection's base: %v, %v", response, err)
	}
	push(&waymark.PushRequest{Version: 7, Delta: deltaOn(6)}, true, false) // that wasn't a session yet
	q.mustPush(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{file("/q", "1")}}, true)
	if _, err := p.pushAny(&waymark.PushRequest{Version: 8, Delta: deltaOn(7)}); drpcerr.Code(err) != 10 {
		t.Errorf("a delta of a superseded session: %v", err)
	}
	f.has("a", 1, "/q=1")
}

// TestDeltaRules: what a delta must not do, it doesn't do: nothing is written,
// and the base stays what it was.
func TestDeltaRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	version := uint64(1)
	p.mustPush(&waymark.PushRequest{Version: version, Initial: true, Resources: []*waymark.Resource{file("/kept", "text")}}, true)
	ids := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("skill:/", i))
		}
		return list
	}
	for name, tc := range map[string]struct {
		change func(*waymark.PushRequest)
		text   string
	}{
		"initial":          {func(r *waymark.PushRequest) { r.Initial = true }, "can't be a delta"},
		"removed twice":    {func(r *waymark.PushRequest) { r.Delta.Removed = []string{"a", "a"} }, "removed 1: the id appears twice"},
		"twice by NUL":     {func(r *waymark.PushRequest) { r.Delta.Removed = []string{"a", "a\x00"} }, "appears twice"},
		"removed and new":  {func(r *waymark.PushRequest) { r.Delta.Removed = []string{"instruction_file:/new"} }, "appears twice"},
		"too many removed": {func(r *waymark.PushRequest) { r.Delta.Removed = ids(4001) }, "4001 removed"},
		"long id":          {func(r *waymark.PushRequest) { r.Delta.Removed = []string{long(3000)} }, "an id is 3000"},
		"bad row":          {func(r *waymark.PushRequest) { r.Resources[0].Status = 0 }, "status"},
		"row twice":        {func(r *waymark.PushRequest) { r.Resources = append(r.Resources, file("/new", "")) }, "id appears twice"},
		"version":          {func(r *waymark.PushRequest) { r.Version = 1 << 63 }, "version"},
		"hash":             {func(r *waymark.PushRequest) { r.AggregateHash = make([]byte, 65) }, "aggregate_hash"},
	} {
		t.Run(name, func(t *testing.T) {
			request := &waymark.PushRequest{Version: version + 1, Delta: deltaOn(version), Resources: []*waymark.Resource{file("/new", "new")}}
			tc.change(request)
			refused(t, f, "a", tc.text,
				func() (bool, error) { return p.push(request) },
				func() (bool, error) {
					version++
					return p.push(&waymark.PushRequest{Version: version, Delta: deltaOn(version - 1)})
				})
		})
	}
	f.has("a", version, "/kept=text")
}

// TestDeltaLimits: many small steps don't lead further than one large one.
func TestDeltaLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		row  func(i int) *waymark.Resource
		step int
		text string
	}{
		"count":  {func(i int) *waymark.Resource { return file(fmt.Sprint("/", i), "") }, 900, "1200 resources after the delta"},
		"bodies": {func(i int) *waymark.Resource { return file(fmt.Sprint("/", i), long(128<<10)) }, 28, "payloads are longer"},
		"texts": {func(i int) *waymark.Resource {
			r := file(fmt.Sprint("/", i), "")
			r.Attributes = map[string]*waymark.Attribute{"x": {Value: &waymark.Attribute_Text{Text: long(16<<10 - 10)}}}
			return r
		}, 60, "resources are longer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, hub.Options{})
			p := f.dial(f.token(store.RoleAgent, "a"))
			p.mustPush(&waymark.PushRequest{Version: 1, Initial: true, Resources: []*waymark.Resource{tc.row(0)}}, true)
			version, next := uint64(1), 1
			for {
				request := &waymark.PushRequest{Version: version + 1, Delta: deltaOn(version)}
				for range tc.step {
					request.Resources = append(request.Resources, tc.row(next))
					next++
				}
				if _, err := p.push(request); err != nil {
					if !strings.Contains(err.Error(), strings.Replace(tc.text, "1200", fmt.Sprint(next), 1)) {
						t.Errorf("refused with %v", err)
					}
					break
				}
				if version++; version > 10 {
					t.Fatalf("%d resources were taken in %d steps", next, version)
				}
			}
			if got := f.snapshot("a").Snapshot; got.Version != version || len(got.Resources) != next-tc.step {
				t.Errorf("version %d with %d resources is stored", got.Version, len(got.Resources))
			}
			// What makes room is taken.
			removed := []string{"instruction_file:/0", "instruction_file:/1"}
			p.mustPush(&waymark.PushRequest{Version: version + 1, Delta: deltaOn(version, removed...), Resources: []*waymark.Resource{tc.row(next)}}, true)
		})
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
		request := &waymark.PushRequest{Version: 1, Initial: true}
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
			request = step(rnd, request.Version, rows)
		}
	})
}

// step changes rows and returns the push that says so.
func step(rnd *rand.Rand, version uint64, rows map[string]string) *waymark.PushRequest {
	request := &waymark.PushRequest{Version: version + 1, Delta: deltaOn(version)}
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		switch rnd.IntN(4) {
		case 0:
			delete(rows, source)
			request.Delta.Removed = append(request.Delta.Removed, "instruction_file:"+source)
		case 1:
			rows[source] = fmt.Sprint(version)
			request.Resources = append(request.Resources, file(source, rows[source]))
		}
	}
	for range rnd.IntN(4) {
		if source := fmt.Sprint("/", rnd.IntN(20)); rows[source] == "" && !slices.Contains(request.Delta.Removed, "instruction_file:"+source) {
			rows[source] = fmt.Sprint("new ", version)
			request.Resources = append(request.Resources, file(source, rows[source]))
		}
	}
	if rnd.IntN(4) == 0 { // the whole instead
		request.Delta, request.Resources = nil, nil
		for source, text := range rows {
			request.Resources = append(request.Resources, file(source, text))
		}
	}
	return request
}
