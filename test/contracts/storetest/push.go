package storetest

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var pushTests = map[string]func(*testing.T, store.Store){
	"VersionRules":    testVersionRules,
	"Replace":         testReplace,
	"Superseded":      testSuperseded,
	"PushRefused":     testPushRefused,
	"AgentsDontMix":   testAgentsDontMix,
	"RevisionRises":   testRevisionRises,
	"SameAgain":       testSameAgain,
	"OnlyChangedRows": testOnlyChangedRows,
	"ConcurrentPush":  testConcurrentPush,
	"ConcurrentBegin": testConcurrentBegin,
}

func testVersionRules(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	for _, step := range []struct {
		version  uint64
		initial  bool
		accepted bool
	}{
		{5, false, true}, // nothing is stored yet: any version, initial or not
		{5, false, false},
		{4, false, false},
		{6, false, true},
		{2, true, true}, // initial resets the baseline
		{2, false, false},
		{3, false, true},
		{3, true, true},
		{0, true, true},
		{math.MaxInt64, false, true},
	} {
		was := store.StoredSnapshot{}
		if !step.accepted {
			was = read(t, s, "a")
		}
		p := whole(step.version, skill("s", fmt.Sprint(step)))
		p.Initial = step.initial
		result := push(t, s, "a", g, p)
		if result.Accepted != step.accepted {
			t.Fatalf("%+v: accepted is %v", step, result.Accepted)
		}
		now := read(t, s, "a")
		if result.Revision != now.Revision {
			t.Errorf("%+v: revision %d was answered, %d is stored", step, result.Revision, now.Revision)
		}
		if step.accepted {
			was = store.StoredSnapshot{Snapshot: p.Snapshot, ReceivedAt: now.ReceivedAt, Revision: now.Revision}
			was.Snapshot.PayloadBytes = int64(len(p.Snapshot.Resources[0].Payload))
		}
		if d := diff(was.Snapshot, now.Snapshot); d != "" || was.Revision != now.Revision || !was.ReceivedAt.Equal(now.ReceivedAt) {
			t.Errorf("%+v: stored (-want +got):\n%s", step, d)
		}
	}
}

func testReplace(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	long := skill("long", "text")
	shorter := long
	shorter.Attributes, shorter.Payload, shorter.ContentHash = nil, nil, nil
	shorter.Status, shorter.Error, shorter.Stale = snapshot.StatusExcluded, "too many", false
	empty := skill("long", "")
	pushes := []store.Push{
		whole(1, long, skill("b", "b"), bare(abi.KindMCPConfig, "/w/.mcp.json")),
		whole(2, skill("b", "changed"), long),
		whole(3, shorter, bare(abi.KindInstructionFile, "/w/AGENTS.md")),
		whole(4, empty, bare(abi.KindHook, "/w/AGENTS.md")),
		whole(5),
	}
	pushes[1].Snapshot.SnapshotError = "no inotify"
	pushes[1].Snapshot.AggregateHash = snapshot.Hash{1, 2, 3}
	pushes[1].Snapshot.Plugins = []snapshot.Plugin{{
		Name: "waymark", Version: "1.0.0", Digest: "ab", Path: "builtin", State: snapshot.PluginReady, Resolvers: []string{"skills"},
	}, {Name: "bad", State: snapshot.PluginRejected, Error: "no \"describe\" <&>"}}
	for i, p := range pushes {
		push(t, s, "a", g, p)
		want := p.Snapshot
		want.Resources = sorted(want.Resources)
		want.PayloadBytes = 0
		for _, r := range want.Resources {
			want.PayloadBytes += int64(len(r.Payload))
		}
		if d := diff(want, read(t, s, "a").Snapshot); d != "" {
			t.Errorf("push %d (-want +got):\n%s", i+1, d)
		}
	}
}

func testSuperseded(t *testing.T, s store.Store) {
	older := agent(t, s, "a")
	push(t, s, "a", older, whole(1, skill("old", "1")))
	var newer []int64
	for range 3 {
		g, _, err := s.BeginSession(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		if g <= older || len(newer) > 0 && g <= newer[len(newer)-1] {
			t.Errorf("generation %d follows %d and %d", g, older, newer)
		}
		newer = append(newer, g)
	}
	// Only a push takes over, and only one that is accepted.
	second := full(2, skill("old", "2"))
	push(t, s, "a", older, second)
	if push(t, s, "a", newer[0], whole(2)).Accepted {
		t.Error("a version that is stored is accepted")
	}
	_, err := s.Push(t.Context(), "a", newer[0], whole(3, bare("", "")))
	wantErr(t, err, store.ErrInvalid)
	push(t, s, "a", older, delta(second.Update.Name, 3, nil, skill("old", "3")))
	first := whole(1, skill("new", "1"))
	first.Initial = true
	push(t, s, "a", newer[1], first)
	was := read(t, s, "a")
	for _, generation := range []int64{older, newer[0], newer[2] + 1, 0, -1, math.MaxInt64} {
		// Higher version and initial: the generation alone decides.
		p := whole(100)
		p.Initial = true
		_, err := s.Push(t.Context(), "a", generation, p)
		wantErr(t, err, store.ErrSuperseded)
	}
	if d := diff(was.Snapshot, read(t, s, "a").Snapshot); d != "" {
		t.Errorf("a superseded push wrote (-want +got):\n%s", d)
	}
	if !push(t, s, "a", newer[1], whole(2)).Accepted || !push(t, s, "a", newer[2], whole(3)).Accepted {
		t.Error("the newest sessions are not accepted")
	}
}

func testPushRefused(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	push(t, s, "a", g, whole(1, skill("kept", "text")))
	was := read(t, s, "a")
	with := func(change func(*snapshot.Resource)) store.Push {
		r := skill("bad", "x")
		change(&r)
		return whole(2, skill("new", "new"), r)
	}
	bad := map[string]store.Push{
		"version":        whole(math.MaxInt64 + 1),
		"long id":        with(func(r *snapshot.Resource) { r.Source = strings.Repeat("é", store.MaxResourceID/2) }),
		"same id":        whole(2, skill("x", "1"), skill("x", "2")),
		"same id by #":   whole(2, snapshot.Resource{Kind: "skill", Source: "/a#b"}, snapshot.Resource{Kind: "skill", Source: "/a", Key: "b"}),
		"no kind":        with(func(r *snapshot.Resource) { r.Kind = "" }),
		"no source":      with(func(r *snapshot.Resource) { r.Source = "" }),
		"negative size":  with(func(r *snapshot.Resource) { r.SizeBytes = -1 }),
		"snapshot error": {Snapshot: snapshot.Snapshot{Version: 2, SnapshotError: "\x00"}},
		"a source":       {Snapshot: snapshot.Snapshot{Version: 2, Discovery: snapshot.Discovery{Sources: snapshot.SourceOutcomes{{ID: "a", Error: "\x00"}}}}},
		"plugin":         {Snapshot: snapshot.Snapshot{Version: 2, Plugins: []snapshot.Plugin{{Resolvers: []string{"\xff"}}}}},
	}
	for _, text := range []string{"a\x00b", "a\xffb"} {
		for name, change := range map[string]func(*snapshot.Resource){
			"kind":        func(r *snapshot.Resource) { r.Kind = abi.Kind(text) },
			"source":      func(r *snapshot.Resource) { r.Source = text },
			"key":         func(r *snapshot.Resource) { r.Key = text },
			"source path": func(r *snapshot.Resource) { r.SourcePath = text },
			"name":        func(r *snapshot.Resource) { r.Name = text },
			"description": func(r *snapshot.Resource) { r.Description = text },
			"status":      func(r *snapshot.Resource) { r.Status = snapshot.Status(text) },
			"error":       func(r *snapshot.Resource) { r.Error = text },
			"resolver":    func(r *snapshot.Resource) { r.Resolver = text },
			"attr key":    func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{text: {}} },
			"attr text":   func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"k": {Text: text}} },
			"attr list":   func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"k": {List: []string{text}}} },
		} {
			bad[fmt.Sprintf("%s %q", name, text)] = with(change)
		}
	}
	for name, p := range bad {
		_, err := s.Push(t.Context(), "a", g, p)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		wantErr(t, err, store.ErrInvalid)
	}
	now := read(t, s, "a")
	if d := diff(was.Snapshot, now.Snapshot); d != "" || now.Revision != was.Revision {
		t.Errorf("a refused push wrote (-want +got):\n%s", d)
	}
	// Payloads and hashes are bytes, not text.
	r := skill("bytes", "a\x00\xffb")
	r.ContentHash = snapshot.Hash{0, 0xff}
	push(t, s, "a", g, whole(2, r))
	if body, err := s.ResourceBody(t.Context(), of("a"), r.ID()); err != nil || string(body) != "a\x00\xffb" {
		t.Errorf("payload is %q, %v", body, err)
	}
}

func testAgentsDontMix(t *testing.T, s store.Store) {
	ga, gb := agent(t, s, "a"), agent(t, s, "b")
	push(t, s, "a", ga, whole(7, skill("x", "of a"), skill("only-a", "1")))
	push(t, s, "b", gb, whole(3, skill("x", "of b")))
	if got := read(t, s, "a").Snapshot; got.Version != 7 || len(got.Resources) != 2 || string(got.Resources[1].Payload) != "of a" {
		t.Errorf("agent a has %+v", got)
	}
	push(t, s, "a", ga, whole(8))
	if got := read(t, s, "b").Snapshot; got.Version != 3 || len(got.Resources) != 1 || string(got.Resources[0].Payload) != "of b" {
		t.Errorf("agent b has %+v", got)
	}
	_, err := s.Push(t.Context(), "nobody", 1, whole(1))
	wantErr(t, err, store.ErrNotFound)
	_, _, err = s.BeginSession(t.Context(), "nobody", "")
	wantErr(t, err, store.ErrNotFound)
}

func testRevisionRises(t *testing.T, s store.Store) {
	ga, gb := agent(t, s, "a"), agent(t, s, "b")
	var last int64
	for v := range uint64(4) {
		for id, g := range map[string]int64{"a": ga, "b": gb} {
			result := push(t, s, id, g, whole(v+1, skill("x", fmt.Sprint(id, v))))
			if !result.Accepted || result.Revision <= last {
				t.Errorf("revision %d follows %d", result.Revision, last)
			}
			last = result.Revision
		}
	}
}

func testConcurrentPush(t *testing.T, s store.Store) {
	const agentCount, pushes = 4, 12
	var wg sync.WaitGroup
	seen := make(chan int64, agentCount*pushes)
	for a := range agentCount {
		id := fmt.Sprint("agent-", a)
		g := agent(t, s, id)
		wg.Go(func() {
			for v := range uint64(pushes) {
				result, err := s.Push(t.Context(), id, g, whole(v+1, skill("s", fmt.Sprint(id, v)), skill(fmt.Sprint(v), "")))
				if err != nil || !result.Accepted {
					t.Errorf("%s push %d: %+v, %v", id, v, result, err)
					return
				}
				seen <- result.Revision
			}
		})
		wg.Go(func() {
			for range pushes {
				// A reader sees whole pushes only: two rows, or none yet.
				got, err := s.Snapshot(t.Context(), of(id))
				if err == nil && len(got.Snapshot.Resources) != 2 {
					t.Errorf("%s: %d rows are visible", id, len(got.Snapshot.Resources))
				}
			}
		})
	}
	wg.Wait()
	close(seen)
	unique := map[int64]bool{}
	for r := range seen {
		unique[r] = true
	}
	if len(unique) != agentCount*pushes {
		t.Errorf("%d different revisions for %d pushes", len(unique), agentCount*pushes)
	}
}

func testConcurrentBegin(t *testing.T, s store.Store) {
	agent(t, s, "a")
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[int64]bool{}
	for range 16 {
		wg.Go(func() {
			g, _, err := s.BeginSession(t.Context(), "a", "")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[g] {
				t.Errorf("generation %d, seen %v, %v", g, seen[g], err)
			}
			seen[g] = true
		})
	}
	wg.Wait()
}
