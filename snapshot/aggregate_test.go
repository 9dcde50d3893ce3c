package snapshot_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"waymark/abi"
	"waymark/snapshot"
)

// sample is a list in which every field that counts is set somewhere.
func sample() []snapshot.Resource {
	return []snapshot.Resource{
		{
			Kind: abi.KindInstructionFile, Source: "/w/AGENTS.md", Name: "AGENTS.md", Description: "What to know",
			Status: snapshot.StatusOK, ContentHash: snapshot.Hash("01234567890123456789012345678901"),
			SizeBytes: 3, Resolver: "waymark/context@1.0.0", Payload: []byte("abc"),
		},
		{Kind: abi.KindMCPConfig, Source: "/w/.mcp.json", Status: snapshot.StatusOK, ContentHash: snapshot.Hash("x")},
		{Kind: abi.KindMCPServer, Source: "/w/.mcp.json", Key: "db", Status: snapshot.StatusOK},
		{
			Kind: abi.KindSkill, Source: "/w/skills/é", Key: "k", Name: "e", Status: snapshot.StatusInvalid, Error: "why",
			Attributes: snapshot.Attributes{"mode": {Text: "always"}, "globs": {List: []string{"*.ts", ""}}, "none": {List: []string{}}},
		},
	}
}

// TestAggregateGolden pins the encoding. When it fails, every chat that has
// been pinned would be told that its context changed: rather mend the code.
func TestAggregateGolden(t *testing.T) {
	tests := []struct {
		name string
		in   []snapshot.Resource
		want string
	}{
		{"nothing", nil, "c9020a9160ca885555be90636d8cf5b61c828fbac28d7b6abaedfd4d81e2187d"},
		{"MCP alone is nothing", sample()[1:3], "c9020a9160ca885555be90636d8cf5b61c828fbac28d7b6abaedfd4d81e2187d"},
		{"one file", sample()[:1], "3fdb7e245b38977c3a92eab5b0f6d87d8109af3e70262056266616b77447f16f"},
		{"all", sample(), "6235dcee8538c209750759017a814a61424826c09233bc0aed1f5d3f61e2431f"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := snapshot.Aggregate(test.in).String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestAggregateIgnoresTheOrder(t *testing.T) {
	want := snapshot.Aggregate(sample())
	list := sample()
	slices.Reverse(list)
	if got := snapshot.Aggregate(list); got.String() != want.String() {
		t.Error("another order gives another hash")
	}
	if list[0].Kind != abi.KindSkill {
		t.Error("Aggregate changed the order of its input")
	}
}

func TestAggregateCovers(t *testing.T) {
	skill := func(edit func(*snapshot.Resource)) []snapshot.Resource {
		list := sample()
		edit(&list[3])
		return list
	}
	tests := []struct {
		field   string
		in      []snapshot.Resource
		changes bool
	}{
		{"kind", skill(func(r *snapshot.Resource) { r.Kind = abi.KindHook }), true},
		{"source", skill(func(r *snapshot.Resource) { r.Source += "x" }), true},
		{"key", skill(func(r *snapshot.Resource) { r.Key = "" }), true},
		{"status", skill(func(r *snapshot.Resource) { r.Status = snapshot.StatusOK }), true},
		{"name", skill(func(r *snapshot.Resource) { r.Name = "" }), true},
		{"description", skill(func(r *snapshot.Resource) { r.Description = "d" }), true},
		{"an attribute's text", skill(func(r *snapshot.Resource) { r.Attributes["mode"] = snapshot.Attribute{Text: "never"} }), true},
		{"text or list", skill(func(r *snapshot.Resource) { r.Attributes["none"] = snapshot.Attribute{} }), true},
		{"content hash", skill(func(r *snapshot.Resource) { r.ContentHash = snapshot.Hash{0} }), true},
		{"a row more", append(sample(), snapshot.Resource{Kind: abi.KindHook, Source: "/h"}), true},
		{"error", skill(func(r *snapshot.Resource) { r.Error = "another" }), false},
		{"stale", skill(func(r *snapshot.Resource) { r.Stale = true }), false},
		{"source path", skill(func(r *snapshot.Resource) { r.SourcePath = "/u" }), false},
		{"resolver", skill(func(r *snapshot.Resource) { r.Resolver = "other/r@2" }), false},
		{"size and payload", skill(func(r *snapshot.Resource) { r.SizeBytes, r.Payload = 9, []byte("x") }), false},
	}
	base := snapshot.Aggregate(sample()).String()
	for _, test := range tests {
		if changes := snapshot.Aggregate(test.in).String() != base; changes != test.changes {
			t.Errorf("%s: changes the hash: %v, want %v", test.field, changes, test.changes)
		}
	}
}

// TestAggregateIsUnambiguous moves text from one field to the next: without
// lengths the encodings would be the same.
func TestAggregateIsUnambiguous(t *testing.T) {
	lists := [][]snapshot.Resource{
		{{Kind: abi.KindHook, Source: "/ab", Name: "c"}},
		{{Kind: abi.KindHook, Source: "/a", Key: "b", Name: "c"}},
		{{Kind: abi.KindHook, Source: "/a", Name: "bc"}},
		{{Kind: abi.KindHook, Source: "/a", Description: "bc"}},
		{{Kind: abi.KindHook, Source: "/a", Attributes: snapshot.Attributes{"b": {Text: "c"}}}},
		{{Kind: abi.KindHook, Source: "/a", Attributes: snapshot.Attributes{"b": {List: []string{"c"}}}}},
		{{Kind: abi.KindHook, Source: "/a"}, {Kind: abi.KindHook, Source: "/bc"}},
	}
	seen := make(map[string]int)
	for i, list := range lists {
		hash := hex.EncodeToString(snapshot.Aggregate(list))
		if j, ok := seen[hash]; ok {
			t.Errorf("lists %d and %d have the same hash", i, j)
		}
		seen[hash] = i
	}
}

func BenchmarkAggregate(b *testing.B) {
	resources, _ := snapshot.Assemble(skills(200, payload(8<<10)), snapshot.Caps{})
	for b.Loop() {
		snapshot.Aggregate(resources)
	}
}

func BenchmarkAssemble(b *testing.B) {
	in := skills(200, payload(8<<10))
	for b.Loop() {
		snapshot.Assemble(in, snapshot.Caps{})
	}
}
