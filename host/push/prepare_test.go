package push_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

func both() []wire.Protocol { return []wire.Protocol{wire.ProtocolWaymark, wire.ProtocolCoder} }

// prepareBoth prepares s for both protocols, checks the rules, and returns
// the two messages with the report for Coder's, the stricter one.
func prepareBoth(t *testing.T, s *snapshot.Snapshot) (*waymark.PushRequest, *coder.PushContextStateRequest, push.HeldBack, int) {
	t.Helper()
	var w *waymark.PushRequest
	var c *coder.PushContextStateRequest
	var held push.HeldBack
	var mended int
	for _, protocol := range both() {
		content, h, n, err := push.Prepare(s, protocol)
		if err != nil {
			t.Fatalf("%s: %v", protocol, err)
		}
		m, err := decode(t, content, protocol)
		if err != nil {
			t.Fatalf("%s: a peer would refuse it: %v", protocol, err)
		}
		switch m := m.(type) {
		case *waymark.PushRequest:
			w = m
		case *coder.PushContextStateRequest:
			c = m
		}
		held, mended = h, n
	}
	return w, c, held, mended
}

func file(source string, change func(*snapshot.Resource)) snapshot.Resource {
	r := snapshot.Resource{
		Kind: abi.KindInstructionFile, Source: source, Status: snapshot.StatusOK, Payload: []byte("text"),
		ContentHash: make([]byte, 32), SizeBytes: 4, Resolver: "waymark/context@1.0.0",
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestHostileResources(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	cases := []struct {
		name   string
		change func(*snapshot.Resource)
		held   push.Reason // empty: it is sent, mended
		check  func(*coder.ContextResource) bool
	}{
		{"source not UTF-8", func(r *snapshot.Resource) { r.Source = "/a\xff\xfe/b" }, "",
			func(r *coder.ContextResource) bool { return r.Source == "/a\uFFFD/b" }},
		{"NUL in source", func(r *snapshot.Resource) { r.Source = "/a\x00b" }, "",
			func(r *coder.ContextResource) bool { return r.Source == "/ab" }},
		{"only NUL in source", func(r *snapshot.Resource) { r.Source = "\x00" }, push.ReasonNoSource, nil},
		{"no source", func(r *snapshot.Resource) { r.Source = "" }, push.ReasonNoSource, nil},
		{"source too long", func(r *snapshot.Resource) { r.Source = "/" + strings.Repeat("x", 1024) }, push.ReasonSourceTooLong, nil},
		{"source path too long", func(r *snapshot.Resource) { r.SourcePath = long }, "",
			func(r *coder.ContextResource) bool { return r.SourcePath == nil }},
		{"error too long", func(r *snapshot.Resource) { r.Error = "x" + long }, "",
			func(r *coder.ContextResource) bool { return r.Error == "x"+strings.Repeat("ä", 2047) }},
		{"description too long", func(r *snapshot.Resource) { r.Kind, r.Description = abi.KindSkill, long }, "",
			func(r *coder.ContextResource) bool { return r.GetSkill().Description == long[:4096] }},
		{"NUL in name", func(r *snapshot.Resource) { r.Kind, r.Name = abi.KindSkill, "a\x00b" }, "",
			func(r *coder.ContextResource) bool { return r.GetSkill().Name == "ab" }},
		{"unknown status", func(r *snapshot.Resource) { r.Status = "fine" }, push.ReasonUnknownStatus, nil},
		{"no status", func(r *snapshot.Resource) { r.Status = "" }, push.ReasonUnknownStatus, nil},
		{"hash too long", func(r *snapshot.Resource) { r.ContentHash = make([]byte, 65) }, "",
			func(r *coder.ContextResource) bool { return r.ContentHash == nil }},
		{"body too large", func(r *snapshot.Resource) { r.Payload = make([]byte, 200<<10) }, "",
			func(r *coder.ContextResource) bool {
				return r.Status == coder.ContextResource_OVERSIZE && r.Error != "" && r.GetInstructionFile() != nil
			}},
		{"payload of an unreadable file", func(r *snapshot.Resource) { r.Status = snapshot.StatusUnreadable }, "",
			func(r *coder.ContextResource) bool { return len(r.GetInstructionFile().Content) == 0 }},
		{"payload of an MCP configuration", func(r *snapshot.Resource) { r.Kind = abi.KindMCPConfig }, "",
			func(r *coder.ContextResource) bool { return r.GetMcpConfig() != nil }},
		{"tools that aren't", func(r *snapshot.Resource) { r.Kind = abi.KindMCPServer }, "",
			func(r *coder.ContextResource) bool {
				return r.GetMcpServer() != nil && r.Status == coder.ContextResource_INVALID
			}},
		{"reserved kind", func(r *snapshot.Resource) { r.Kind = abi.KindSubagent }, push.ReasonKind, nil},
		{"unknown kind", func(r *snapshot.Resource) { r.Kind = "x\xff" }, push.ReasonKind, nil},
		{"mode", func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"mode": {Text: "auto"}} }, push.ReasonMode, nil},
		{"mode is a list", func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"mode": {List: []string{"always"}}} }, push.ReasonMode, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{file("/other", nil), file("/w/AGENTS.md", c.change)}}
			_, m, held, mended := prepareBoth(t, s)
			if c.held != "" {
				if held.Count != 1 || held.Reasons[c.held] != 1 || mended != 0 || len(m.Resources) != 1 {
					t.Errorf("held back %+v, mended %d, %d resources; want one held back as %s", held, mended, len(m.Resources), c.held)
				}
				return
			}
			if held.Count != 0 || mended != 1 || len(m.Resources) != 2 {
				t.Fatalf("held back %+v, mended %d, %d resources; want one mended", held, mended, len(m.Resources))
			}
			if !c.check(m.Resources[1]) {
				t.Errorf("mended to %v", m.Resources[1])
			}
		})
	}
}

func TestNothingToMend(t *testing.T) {
	s := &snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{
		file("/w/AGENTS.md", func(r *snapshot.Resource) {
			r.Attributes = snapshot.Attributes{"mode": {Text: "always"}, "globs": {List: []string{"**/*.go"}}}
		}),
		file("/w/b", func(r *snapshot.Resource) { r.Status, r.Payload = snapshot.StatusOversize, nil }),
	}}
	w, c, held, mended := prepareBoth(t, s)
	if held.Count != 0 || mended != 0 || len(w.Resources) != 2 || len(c.Resources) != 2 {
		t.Errorf("held back %+v, mended %d of a clean snapshot", held, mended)
	}
	if w.Resources[0].Attributes["mode"].GetText() != "always" {
		t.Error("attributes are lost on the way to a hub")
	}
}

// TestHubGetsWhatCoderDoesNot: our own protocol holds nothing back for its
// kind or mode.
func TestHubGetsWhatCoderDoesNot(t *testing.T) {
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{
		file("/hook", func(r *snapshot.Resource) { r.Kind = abi.KindHook }),
		file("/rule", func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"mode": {Text: "glob"}} }),
	}}
	w, c, _, _ := prepareBoth(t, s)
	if len(w.Resources) != 2 || len(c.Resources) != 0 {
		t.Errorf("the hub gets %d, Coder %d; want 2 and 0", len(w.Resources), len(c.Resources))
	}
}

func TestDuplicateSources(t *testing.T) {
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{
		file("/x", func(r *snapshot.Resource) { r.Status, r.Payload = snapshot.StatusInvalid, nil }),
		file("/x", func(r *snapshot.Resource) { r.Kind = abi.KindMCPConfig; r.Payload = nil }),
		file("/x", func(r *snapshot.Resource) { r.Kind, r.Name = abi.KindSkill, "x" }),
		file("/y", func(r *snapshot.Resource) { r.Key = "1" }),
		file("/y", func(r *snapshot.Resource) { r.Key = "2" }),
	}}
	w, c, held, _ := prepareBoth(t, s)
	if len(w.Resources) != 5 {
		t.Errorf("the hub gets %d of 5", len(w.Resources))
	}
	if len(c.Resources) != 2 || c.Resources[0].GetSkill() == nil || held.Reasons[push.ReasonDuplicateSource] != 3 {
		t.Errorf("Coder gets %v, held back %+v; want the valid skill and one /y", c.Resources, held)
	}
}

// TestServers: several servers of one file are rows of their own to Coder, too,
// under their names as its own agent has them, and the file stays beside them.
func TestServers(t *testing.T) {
	server := func(name string, change func(*snapshot.Resource)) snapshot.Resource {
		return file("/w/.mcp.json", func(r *snapshot.Resource) {
			r.Kind, r.Key, r.Name, r.Payload = abi.KindMCPServer, name, name, []byte(`{"tools":[{"name":"t"}]}`)
			if change != nil {
				change(r)
			}
		})
	}
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{
		file("/w/.mcp.json", func(r *snapshot.Resource) { r.Kind, r.Payload = abi.KindMCPConfig, nil }),
		server("a", nil),
		server("b", func(r *snapshot.Resource) { r.Status, r.Error, r.Payload = snapshot.StatusUnreadable, "it ended", nil }),
		server("c", func(r *snapshot.Resource) {
			r.Attributes = snapshot.Attributes{snapshot.AttributeTrimmed: {Text: "2 of 3 tools are left out"}}
		}),
	}}
	w, c, held, mended := prepareBoth(t, s)
	if len(w.Resources) != 4 || len(c.Resources) != 4 || held.Count != 0 || mended != 0 {
		t.Fatalf("%d and %d resources, held back %+v, mended %d", len(w.Resources), len(c.Resources), held, mended)
	}
	var got []string
	for _, r := range c.Resources {
		got = append(got, fmt.Sprintf("%s %s %s %d %s", r.Source, r.Status, r.GetMcpServer().GetServerName(), len(r.GetMcpServer().GetTools()), r.Error))
	}
	want := "[/w/.mcp.json OK  0  a OK a 1  b UNREADABLE b 0 it ended c OK c 1 2 of 3 tools are left out]"
	if fmt.Sprint(got) != want {
		t.Errorf("Coder gets\n%v, want\n%s", got, want)
	}
	if w.Resources[1].Source != "/w/.mcp.json" || w.Resources[1].Key != "a" {
		t.Errorf("the hub gets %v", w.Resources[1])
	}
}

// TestServerTooLargeForAPeer: numbers that are short in the payload can be long on
// the wire; then, too, tools are left out and not all of them.
func TestServerTooLargeForAPeer(t *testing.T) {
	tool := `{"name":"t","input_schema":{"enum":[` + strings.Repeat("1e20,", 99) + `1e20]}}`
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{file("/w/.mcp.json", func(r *snapshot.Resource) {
		r.Kind, r.Key, r.Name = abi.KindMCPServer, "a", "a"
		r.Payload = []byte(`{"tools":[` + strings.Repeat(tool+",", 249) + tool + `]}`)
	})}}
	w, c, _, mended := prepareBoth(t, s)
	r := c.Resources[0]
	if n := len(r.GetMcpServer().GetTools()); n == 0 || n >= 250 || r.Status != coder.ContextResource_OK || mended != 1 {
		t.Errorf("Coder gets %d of 250 tools, %s, mended %d", n, r.Status, mended)
	}
	if got := w.Resources[0]; got.Attributes[snapshot.AttributeTrimmed] != nil || got.Body.GetSizeBytes() != uint64(len(s.Resources[0].Payload)) {
		t.Errorf("the hub, which takes it, gets %v", got)
	}
}

func TestTooManyResources(t *testing.T) {
	s := &snapshot.Snapshot{}
	for i := range 1200 {
		s.Resources = append(s.Resources, file(fmt.Sprintf("/%04d", i), nil))
	}
	_, c, held, _ := prepareBoth(t, s)
	if len(c.Resources) != 1000 || held.Reasons[push.ReasonTooMany] != 200 || c.Resources[999].Source != "/0999" {
		t.Errorf("%d resources, held back %+v; want the first 1000", len(c.Resources), held)
	}
}

func TestTooLargeInAll(t *testing.T) {
	s := &snapshot.Snapshot{}
	for i := range 100 {
		s.Resources = append(s.Resources, file(fmt.Sprintf("/%04d", i), func(r *snapshot.Resource) { r.Payload = make([]byte, 64<<10) }))
	}
	w, c, _, mended := prepareBoth(t, s)
	if len(w.Resources) != 100 || len(c.Resources) != 100 || mended == 0 {
		t.Fatalf("%d and %d resources, mended %d; want all, some without payload", len(w.Resources), len(c.Resources), mended)
	}
	first, last := c.Resources[0], c.Resources[99]
	if first.Status != coder.ContextResource_OK || last.Status != coder.ContextResource_EXCLUDED || last.Error == "" {
		t.Errorf("first is %s, last is %s (%s); want the last to lose", first.Status, last.Status, last.Error)
	}
}

// TestTextsAloneAreTooLarge: without any payload, names and errors can still
// be more than a message takes.
func TestTextsAloneAreTooLarge(t *testing.T) {
	long := strings.Repeat("\x01", 5000)
	s := &snapshot.Snapshot{SnapshotError: long, Plugins: make([]snapshot.Plugin, 500)}
	for range 2000 {
		s.Discovery.Sources = append(s.Discovery.Sources, snapshot.SourceOutcome{ID: long[:2000], Name: long, Outcome: snapshot.Outcome(long), Error: long})
	}
	for i := range s.Plugins {
		s.Plugins[i] = snapshot.Plugin{Name: long, Error: long, Path: long, Resolvers: strings.Split(long, "")}
	}
	for i := range 1000 {
		s.Resources = append(s.Resources, file(fmt.Sprintf("/%04d%s", i, long[:1000]), func(r *snapshot.Resource) {
			r.Kind, r.Name, r.Description, r.Error, r.SourcePath = abi.KindSkill, fmt.Sprint(i, long), long, long, long[:1000]
		}))
	}
	w, _, held, _ := prepareBoth(t, s)
	if held.Reasons[push.ReasonTooLarge] == 0 || len(w.Resources) == 0 {
		t.Errorf("held back %+v, %d resources for the hub", held, len(w.Resources))
	}
}

func TestAttributesAreMended(t *testing.T) {
	attributes := snapshot.Attributes{"a\x00": {Text: "second"}, "a": {Text: "first\xff"}, "list": {List: []string{"x\x00"}}}
	before := maps.Clone(attributes)
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{
		file("/a", func(r *snapshot.Resource) { r.Attributes = attributes }),
		file("/b", func(r *snapshot.Resource) {
			r.Attributes = snapshot.Attributes{"x": {Text: strings.Repeat("x", abi.MaxAttributes)}}
		}),
	}}
	w, _, _, _ := prepareBoth(t, s)
	got := w.Resources[0].Attributes
	if len(got) != 2 || got["a"].GetText() != "first\uFFFD" || got["list"].GetList().Items[0] != "x" {
		t.Errorf("attributes are mended to %v", got)
	}
	if len(w.Resources[1].Attributes) != 0 {
		t.Error("too many attributes are sent")
	}
	if attributes["list"].List[0] != "x\x00" || len(attributes) != len(before) {
		t.Error("the snapshot itself was changed")
	}
}

// TestDeterministic: equal content must be equal bytes, or a push would be
// repeated for nothing.
func TestDeterministic(t *testing.T) {
	s := hostileSnapshot(rand.New(rand.NewPCG(7, 7)))
	for _, protocol := range both() {
		first, _, _, err := push.Prepare(s, protocol)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, _, _, err := push.Prepare(s, protocol)
			if err != nil || !bytes.Equal(first, again) {
				t.Fatalf("%s: prepared differently (%v)", protocol, err)
			}
		}
	}
}

// TestPrepareAfter: what is taken from the push before is what would be made anew,
// whatever has come, gone or changed.
func TestPrepareAfter(t *testing.T) {
	seed := testenv.Seed(t)
	for round := range testenv.Rounds(20, 60, 3000) {
		rnd := testenv.RandOf(seed, uint64(round))
		before := hostileSnapshot(rnd)
		for i := range rnd.IntN(60) { // more than there is room for, in JSON
			before.Resources = append(before.Resources, file(fmt.Sprint("/f", i), func(r *snapshot.Resource) { r.Payload = make([]byte, 64<<10) }))
		}
		for i := range before.Resources {
			before.Resources[i].Order = rnd.IntN(1000)
		}
		after, others := *before, hostileSnapshot(rnd).Resources
		after.Resources = nil
		for _, r := range before.Resources {
			switch rnd.IntN(20) {
			case 0: // it has gone
				continue
			case 1:
				r.Payload = make([]byte, rnd.IntN(300<<10))
			case 2:
				r.Order = rnd.IntN(1000)
			case 3:
				r.Status = snapshot.StatusInvalid
			case 4:
				if len(others) > 0 {
					after.Resources, others = append(after.Resources, others[0]), others[1:]
				}
			}
			after.Resources = append(after.Resources, r)
		}
		for _, protocol := range both() {
			want, wantHeld, wantMended, err := push.Prepare(&after, protocol)
			if err != nil {
				t.Fatal(err)
			}
			got, held, mended, err := push.PrepareAfter(before, &after, protocol)
			if err != nil || !bytes.Equal(got, want) || !reflect.DeepEqual(held, wantHeld) || mended != wantMended {
				t.Fatalf("round %d, %s: %d bytes, %v held, %d mended, %v; want %d, %v, %d", round, protocol,
					len(got), held, mended, err, len(want), wantHeld, wantMended)
			}
		}
	}
}

// FuzzPrepare: whatever a snapshot holds, what is sent breaks no rule.
func FuzzPrepare(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, "/w/AGENTS.md", "skill", "ok", "text", []byte("payload"))
	}
	f.Add(uint64(1), "\xff\x00", "mcp_server", "ok", "\x00", []byte(`{"tools":[{"name":"a\u0000","input_schema":{}}]}`))
	f.Add(uint64(2), "", "mcp_config", "invalid", strings.Repeat("\x01", 5000), bytes.Repeat([]byte("x"), 300<<10))
	f.Fuzz(func(t *testing.T, seed uint64, source, kind, status, text string, payload []byte) {
		s := hostileSnapshot(rand.New(rand.NewPCG(seed, 1)))
		s.SnapshotError = text
		s.Resources = append(s.Resources, snapshot.Resource{
			Kind: abi.Kind(kind), Source: source, Key: text, SourcePath: source, Name: text, Description: text,
			Status: snapshot.Status(status), Error: text, ContentHash: payload, Resolver: text, Payload: payload,
			Attributes: snapshot.Attributes{text: {Text: text}, source: {List: []string{text}}},
			Convention: text, Scope: snapshot.Scope(text), Readers: []string{text, kind},
			Findings: []snapshot.Finding{{Code: kind, Severity: abi.Severity(status), Message: text}},
		})
		s.Plugins = append(s.Plugins, snapshot.Plugin{Name: text, Path: source, Error: text, Resolvers: []string{kind}})
		prepareBoth(t, s)
	})
}

// hostileSnapshot draws from values that each break something.
func hostileSnapshot(rnd *rand.Rand) *snapshot.Snapshot {
	pick := func(values ...string) string { return values[rnd.IntN(len(values))] }
	long := strings.Repeat("ä\x01\"", 2000)
	text := func() string { return pick("", "a", "\x00", "\xff", "a\x00b\xffc", long, strings.Repeat("\x02", 1024)) }
	s := &snapshot.Snapshot{SnapshotError: text(), AggregateHash: make([]byte, rnd.IntN(100))}
	sizes := []int{0, 1, 100, 64 << 10, 300 << 10}
	for range rnd.IntN(120) {
		r := snapshot.Resource{
			Kind:   abi.Kind(pick("instruction_file", "skill", "mcp_config", "mcp_server", "hook", "", "x\xff")),
			Source: pick("", "/", "/a", "/b", "/b\x00", "/"+text(), fmt.Sprint("/", rnd.IntN(1000))),
			Key:    text(), SourcePath: text(), Name: text(), Description: text(), Error: text(), Resolver: text(),
			Status:      snapshot.Status(pick("ok", "ok", "invalid", "unreadable", "excluded", "oversize", "", "fine")),
			ContentHash: make([]byte, rnd.IntN(80)), SizeBytes: rnd.Int64() - rnd.Int64(),
			Payload: make([]byte, sizes[rnd.IntN(len(sizes))]),
		}
		if rnd.IntN(2) == 0 {
			r.Attributes = snapshot.Attributes{text(): {Text: text()}, "l" + text(): {List: []string{text(), text()}}}
		}
		if rnd.IntN(2) == 0 {
			r.Convention, r.Scope, r.Readers = text(), snapshot.Scope(text()), []string{text(), text()}
			r.Findings = []snapshot.Finding{{Code: text(), Severity: abi.Severity(text()), Message: text()}}
		}
		s.Resources = append(s.Resources, r)
	}
	for range rnd.IntN(3) * rnd.IntN(200) {
		s.Discovery.Sources = append(s.Discovery.Sources, snapshot.SourceOutcome{ID: text(), Name: text(), Outcome: snapshot.Outcome(text()), Error: text()})
	}
	return s
}

// TestHoldUser: what is in the home directory isn't sent where it is to stay, in no form of
// a push and not as a part of its hash, and takes no room.
func TestHoldUser(t *testing.T) {
	var candidates []snapshot.Candidate
	for _, r := range []snapshot.Resource{
		{Kind: abi.KindInstructionFile, Source: "/home/u/.claude/CLAUDE.md", Scope: snapshot.ScopeUser, Payload: []byte("private text")},
		{Kind: abi.KindSkill, Source: "/home/u/.claude/skills/s", Name: "s", Scope: snapshot.ScopeUser, Payload: []byte("private text")},
		{Kind: abi.KindSkill, Source: "/w/.claude/skills/s", Name: "s", Scope: snapshot.ScopeProject, Payload: []byte("shared text")},
		{Kind: abi.KindHook, Source: "/w/hooks.json", Key: "k", Scope: snapshot.ScopeProject},
	} {
		r.Status = snapshot.StatusOK
		candidates = append(candidates, snapshot.Candidate{Resource: r})
	}
	whole, shared := &snapshot.Snapshot{}, &snapshot.Snapshot{}
	whole.Resources, _ = snapshot.Assemble(candidates, snapshot.Caps{})
	shared.Resources, _ = snapshot.Assemble(candidates[2:], snapshot.Caps{})
	whole.AggregateHash, shared.AggregateHash = snapshot.Aggregate(whole.Resources), snapshot.Aggregate(shared.Resources)
	for _, protocol := range []wire.Protocol{wire.ProtocolWaymark, wire.ProtocolCoder} {
		got, held, err := push.PrepareHolding(whole, protocol, push.HoldUser)
		if err != nil {
			t.Fatal(err)
		}
		want, _, _, err := push.Prepare(shared, protocol)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) || bytes.Contains(got, []byte("private")) {
			t.Errorf("%v: another push than without them", protocol)
		}
		if held.Reasons[push.ReasonUser] != 2 {
			t.Errorf("%v: held back %+v", protocol, held)
		}
	}
}
