package rules_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/convert"
	"waymark/wire/rules"
	"waymark/wire/waymark"
)

// TestMendedPasses: whatever a resource is, after mending it passes the check
// of the other end, also once it has gone over the wire, and isn't mended again.
func TestMendedPasses(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(100, 1000, 100_000) {
		checkMended(t, r)
	}
}

func checkMended(t *testing.T, r *rand.Rand) {
	t.Helper()
	resource := randomResource(r)
	shared := resource
	attributes, readers, findings := clone(resource.Attributes), slices.Clone(resource.Readers), slices.Clone(resource.Findings)
	_, err := rules.Mend(&resource)
	if !reflect.DeepEqual(attributes, shared.Attributes) {
		t.Fatalf("what is shared was changed (-before +after):\n%s", cmp.Diff(attributes, shared.Attributes))
	}
	if !slices.Equal(readers, shared.Readers) || !slices.Equal(findings, shared.Findings) {
		t.Fatal("readers or findings that are shared were changed")
	}
	if err != nil {
		if rules.Check(&resource) == nil {
			t.Fatalf("%v, but the check lets it pass", err)
		}
		return
	}
	if convert.BodyJSON(&resource) > wire.MaxBodyJSON {
		resource.Payload = nil // that is the sender's to do
	}
	if err := rules.Check(&resource); err != nil {
		t.Fatalf("mended, and yet: %v", err)
	}
	before := resource
	if changed, err := rules.Mend(&resource); changed || err != nil || !reflect.DeepEqual(before, resource) {
		t.Fatalf("mended twice: %v, %v\n%s", changed, err, cmp.Diff(before, resource))
	}
	head := snapshot.Snapshot{Version: 1, AggregateHash: bytes(r, wire.MaxHash+2), SnapshotError: text(r, wire.MaxError), Discovery: randomDiscovery(r)}
	sources, phase := slices.Clone(head.Discovery.Sources), head.Discovery.Phase
	given := head.Discovery.Sources
	rules.MendHead(&head)
	if !slices.Equal(given, sources) || head.Discovery.Phase != phase {
		t.Fatal("what is shared was changed, or the phase")
	}
	head.Resources = snapshot.Resources{resource}
	if p, err := rules.Waymark(pushOf(&head)); err != nil || p.Snapshot.SnapshotError != head.SnapshotError || p.Snapshot.Resources[0].ID() != resource.ID() {
		t.Fatalf("waymark.v1: %v", err)
	}
	if !convert.KnownToCoder(resource.Kind) {
		return
	}
	other, err := convert.ToCoder(&head)
	if err != nil { // the payload of an mcp_server that isn't one
		return
	}
	if s, err := rules.Coder(other); err != nil || s.Resources[0].Source != resource.Source {
		t.Fatalf("coder.agent.v2: %v", err)
	}
}

// pushOf is a push of everything.
func pushOf(s *snapshot.Snapshot) *waymark.PushRequest {
	request := &waymark.PushRequest{Version: s.Version, Name: make([]byte, 32), Head: convert.HeadToWaymark(s)}
	for i := range s.Resources {
		request.Resources = append(request.Resources, convert.ResourceToWaymark(&s.Resources[i], convert.BodyOf(&s.Resources[i])))
	}
	return request
}

// TestMend says what becomes of each field that breaks its rule.
func TestMend(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for name, tc := range map[string]struct {
		change func(r *snapshot.Resource)
		want   error                           // why it can't be mended
		check  func(r *snapshot.Resource) bool // where it can
	}{
		"nothing":         {change: func(*snapshot.Resource) {}, check: func(r *snapshot.Resource) bool { return r.Source == "/a" }},
		"kind":            {change: func(r *snapshot.Resource) { r.Kind = "other" }, want: rules.ErrKind},
		"no source":       {change: func(r *snapshot.Resource) { r.Source = "" }, want: rules.ErrSource},
		"NULs for source": {change: func(r *snapshot.Resource) { r.Source = "\x00\x00" }, want: rules.ErrSource},
		"source":          {change: func(r *snapshot.Resource) { r.Source = long }, want: rules.ErrTooLong},
		"key":             {change: func(r *snapshot.Resource) { r.Key = long }, want: rules.ErrTooLong},
		"status":          {change: func(r *snapshot.Resource) { r.Status = "fine" }, want: rules.ErrStatus},
		"not UTF-8":       {change: func(r *snapshot.Resource) { r.Source = "/a\xff" }, check: func(r *snapshot.Resource) bool { return r.Source == "/a\uFFFD" }},
		"half a path":     {change: func(r *snapshot.Resource) { r.SourcePath = long }, check: func(r *snapshot.Resource) bool { return r.SourcePath == "" }},
		"description":     {change: func(r *snapshot.Resource) { r.Description = "x" + long }, check: func(r *snapshot.Resource) bool { return r.Description == "x"+long[:4094] }},
		"error":           {change: func(r *snapshot.Resource) { r.Error = long }, check: func(r *snapshot.Resource) bool { return r.Error == long[:4096] }},
		"hash":            {change: func(r *snapshot.Resource) { r.ContentHash = make([]byte, 65) }, check: func(r *snapshot.Resource) bool { return r.ContentHash == nil }},
		"attributes": {change: func(r *snapshot.Resource) {
			r.Attributes = snapshot.Attributes{"a": {Text: strings.Repeat("x", abi.MaxAttributes)}}
		}, check: func(r *snapshot.Resource) bool { return r.Attributes == nil }},
		"keys become one": {change: func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"a\x00": {Text: "2"}, "a": {Text: "1"}} }, check: func(r *snapshot.Resource) bool { return len(r.Attributes) == 1 && r.Attributes["a"].Text == "1" }},
		"convention":      {change: func(r *snapshot.Resource) { r.Convention = long }, check: func(r *snapshot.Resource) bool { return r.Convention == "" }},
		"scope":           {change: func(r *snapshot.Resource) { r.Scope = snapshot.Scope(long) }, check: func(r *snapshot.Resource) bool { return r.Scope == "" }},
		"readers": {change: func(r *snapshot.Resource) {
			r.Readers = append([]string{"b\x00", long}, make([]string, abi.MaxReaders)...)
		}, check: func(r *snapshot.Resource) bool { return len(r.Readers) == abi.MaxReaders && r.Readers[0] == "b" }},
		"findings": {change: func(r *snapshot.Resource) {
			r.Findings = append([]snapshot.Finding{{Code: "c\xff", Message: long}, {Code: long}, {Severity: abi.Severity(long)}}, make([]snapshot.Finding, abi.MaxFindings)...)
		}, check: func(r *snapshot.Resource) bool {
			return len(r.Findings) == abi.MaxFindings && r.Findings[0].Code == "c\uFFFD" && len(r.Findings[0].Message) == abi.MaxMessage
		}},
		"a secret payload": {change: func(r *snapshot.Resource) { r.Kind = abi.KindMCPConfig }, check: func(r *snapshot.Resource) bool { return r.Payload == nil }},
		"excluded payload": {change: func(r *snapshot.Resource) { r.Status = snapshot.StatusExcluded }, check: func(r *snapshot.Resource) bool { return r.Payload == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			r := snapshot.Resource{Kind: abi.KindSkill, Source: "/a", Name: "a", Status: snapshot.StatusOK, Payload: []byte("x")}
			tc.change(&r)
			changed, err := rules.Mend(&r)
			switch {
			case tc.want != nil:
				if !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
			case err != nil || !tc.check(&r):
				t.Errorf("%v: %+v", err, r)
			case changed != (name != "nothing"):
				t.Errorf("changed is %v", changed)
			}
		})
	}
}

func clone(attributes snapshot.Attributes) snapshot.Attributes {
	if attributes == nil {
		return nil
	}
	copied := make(snapshot.Attributes, len(attributes))
	for key, a := range attributes {
		a.List = slices.Clone(a.List)
		copied[key] = a
	}
	return copied
}

// text is short, at the limit or above it, and now and then not even a text.
func text(r *rand.Rand, limit int) string {
	n := []int{0, 1, 8, limit - 1, limit, limit + 1, 3 * limit}[r.IntN(7)]
	pieces := []string{"x", "ä", "😀", "\x00", "\xff", "\xe4", " ", "\u2028"}
	only := r.IntN(2) == 0 // only what is right
	var b strings.Builder
	for b.Len() < n {
		if only {
			b.WriteString(pieces[r.IntN(3)])
		} else {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
	}
	return b.String()
}

func bytes(r *rand.Rand, limit int) []byte { return make([]byte, r.IntN(limit+1)) }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func randomDiscovery(r *rand.Rand) snapshot.Discovery {
	d := snapshot.Discovery{Phase: pick(r, snapshot.PhasePending, snapshot.PhaseComplete)}
	for range r.IntN(4) {
		d.Sources = append(d.Sources, snapshot.SourceOutcome{
			ID: text(r, 2080), Name: text(r, abi.MaxName), Outcome: snapshot.Outcome(text(r, rules.MaxOutcome)), Error: text(r, wire.MaxError),
		})
	}
	return d
}

// TestDiscovery: what is longer than an agent would send is cut by it, and refused
// by a hub beyond its bounds.
func TestDiscovery(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, sources := range map[string]snapshot.SourceOutcomes{
		"without an id": {{Name: "a"}}, "id": {{ID: long}}, "name": {{ID: "a", Name: long}},
		"outcome": {{ID: "a", Outcome: snapshot.Outcome(long)}}, "error": {{ID: "a", Error: long}},
		"many": make(snapshot.SourceOutcomes, rules.MaxSources+1),
	} {
		s := snapshot.Snapshot{Version: 1, Discovery: snapshot.Discovery{Phase: snapshot.PhasePending, Sources: sources}}
		if _, err := rules.Waymark(pushOf(&s)); err == nil {
			t.Errorf("%s: a hub takes it", name)
		}
		rules.MendHead(&s)
		if _, err := rules.Waymark(pushOf(&s)); err != nil || !s.Discovery.Pending() {
			t.Errorf("%s: mended, and yet: %v", name, err)
		}
	}
	// A word of a newer agent is none that a hub would refuse.
	s := snapshot.Snapshot{Version: 1, Discovery: snapshot.Discovery{Sources: snapshot.SourceOutcomes{{ID: "a", Outcome: "asleep"}}}}
	if _, err := rules.Waymark(pushOf(&s)); err != nil {
		t.Error(err)
	}
}

func randomResource(r *rand.Rand) snapshot.Resource {
	resource := snapshot.Resource{
		Kind:   pick[abi.Kind](r, "instruction_file", "skill", "mcp_config", "mcp_server", "hook", "command", "sk\x00ill", "other"),
		Source: pick(r, "/a", text(r, wire.MaxSource)), Key: pick(r, "", text(r, rules.MaxKey)), SourcePath: text(r, wire.MaxSource),
		Name: text(r, abi.MaxName), Description: text(r, abi.MaxDescription), Error: text(r, wire.MaxError), Resolver: text(r, rules.MaxResolver),
		Status:      pick(r, snapshot.StatusOK, snapshot.StatusInvalid, snapshot.StatusExcluded, snapshot.StatusOversize, "none"),
		ContentHash: bytes(r, wire.MaxHash+2), SizeBytes: r.Int64N(100), Stale: r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		resource.Payload = bytes(r, 300<<10)
	}
	if r.IntN(2) == 0 {
		resource.Attributes = snapshot.Attributes{}
		for range r.IntN(5) {
			a := snapshot.Attribute{Text: text(r, 40)}
			if r.IntN(2) == 0 {
				a = snapshot.Attribute{List: []string{text(r, 8), text(r, abi.MaxAttributes/2)}}
			}
			resource.Attributes[text(r, 8)] = a
		}
	}
	if r.IntN(2) == 0 {
		resource.Convention, resource.Scope = text(r, abi.MaxWord), snapshot.Scope(text(r, abi.MaxWord))
		for range r.IntN(abi.MaxReaders + 2) {
			resource.Readers = append(resource.Readers, text(r, abi.MaxWord))
		}
		for range r.IntN(abi.MaxFindings + 2) {
			resource.Findings = append(resource.Findings, snapshot.Finding{
				Code: text(r, abi.MaxWord), Severity: abi.Severity(text(r, abi.MaxWord)), Message: text(r, abi.MaxMessage),
			})
		}
	}
	return resource
}
