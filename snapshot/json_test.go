package snapshot_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/abi"
	"waymark/snapshot"
)

func TestResourceJSON(t *testing.T) {
	tests := []struct {
		name string
		in   snapshot.Resource
		want string
	}{
		{
			name: "every field",
			in: snapshot.Resource{
				Kind: abi.KindSkill, Source: "/w/.agents/skills/foo", Key: "k", SourcePath: "/u", Name: "foo", Description: "<b>",
				Status: snapshot.StatusInvalid, Error: "why", Stale: true, ContentHash: snapshot.Hash{0xab, 0x01}, SizeBytes: 512,
				Resolver:   "waymark/context@1.0.0",
				Attributes: snapshot.Attributes{"globs": {List: []string{"**/*.ts"}}, "mode": {Text: "always"}, "empty": {List: []string{}}},
				Convention: "agents-skills", Readers: []string{"codex", "cursor"}, Scope: snapshot.ScopeUser,
				Findings: []snapshot.Finding{{Code: "name-mismatch", Severity: abi.SeverityWarning, Message: "m"}},
			},
			want: `{"id":"skill:/w/.agents/skills/foo#k","kind":"skill","source":"/w/.agents/skills/foo","source_path":"/u",` +
				`"name":"foo","description":"\u003cb\u003e","status":"invalid","error":"why","stale":true,` +
				`"content_hash":"ab01","size_bytes":512,"resolver":"waymark/context@1.0.0",` +
				`"attributes":{"empty":[],"globs":["**/*.ts"],"mode":"always"},` +
				`"convention":"agents-skills","readers":["codex","cursor"],"scope":"user",` +
				`"findings":[{"code":"name-mismatch","severity":"warning","message":"m"}]}`,
		},
		{
			name: "nothing set",
			want: `{"id":":","kind":"","source":"","source_path":"","name":"","description":"","status":"","error":"","stale":false,` +
				`"content_hash":"","size_bytes":0,"resolver":"","attributes":{},"convention":"","readers":[],"scope":"","findings":[]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var back snapshot.Resource
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.in, back); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceJSONHasNoPayload(t *testing.T) {
	got, err := json.Marshal(snapshot.Resource{Payload: []byte("PAYLOAD")})
	if err != nil || strings.Contains(string(got), "PAYLOAD") || strings.Contains(string(got), "UEFZTE9BRA") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestResourceJSONRefuses(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"a strange id", `{"id":"skill:/b","kind":"skill","source":"/a"}`, "doesn't belong"},
		{"an empty key", `{"id":"skill:/a#","kind":"skill","source":"/a"}`, "no #key"},
		{"a longer source", `{"id":"skill:/ab","kind":"skill","source":"/a"}`, "no #key"},
		{"no id", `{"kind":"skill","source":"/a"}`, "doesn't belong"},
		{"a hash that isn't hexadecimal", `{"id":":","content_hash":"xy"}`, "hash"},
		{"an attribute that is a number", `{"id":":","attributes":{"n":1}}`, "number"},
		{"a list of numbers", `{"id":":","attributes":{"n":[1]}}`, "number"},
		{"a list", `[]`, "array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r snapshot.Resource
			err := json.Unmarshal([]byte(test.in), &r)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestSnapshotJSON(t *testing.T) {
	got, err := json.Marshal(snapshot.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":0,"aggregate_hash":"","payload_bytes":0,"snapshot_error":"","discovery":{"phase":"complete","sources":[]},"resources":[],"plugins":[]}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}

	// What embeds a snapshot, as the hub's answers do, keeps its own fields.
	type stored struct {
		snapshot.Snapshot
		Revision int `json:"revision"`
	}
	in := stored{Revision: 7, Snapshot: snapshot.Snapshot{
		Version: 3, AggregateHash: snapshot.Hash{1}, PayloadBytes: 3, SnapshotError: "no inotify",
		Resources: sample(),
		Plugins:   []snapshot.Plugin{{Name: "waymark", Path: "builtin", State: snapshot.PluginReady}},
	}}
	got, err = json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"revision":7`) || !strings.Contains(string(got), `"resolvers":[]`) {
		t.Errorf("got %s", got)
	}
	var back stored
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, back, cmpopts.IgnoreFields(snapshot.Resource{}, "Payload"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	s := snapshot.Snapshot{Resources: sample()}
	s.Resources, _ = snapshot.Assemble([]snapshot.Candidate{find(abi.KindSkill, "/b"), find(abi.KindSkill, "/a"), find(abi.KindHook, "/c")}, snapshot.Caps{})
	for _, id := range []string{"hook:/c", "skill:/a", "skill:/b"} {
		if r := s.Find(id); r == nil || r.ID() != id {
			t.Errorf("Find(%q) = %v", id, r)
		}
	}
	if r := s.Find("skill:/0"); r != nil {
		t.Errorf("found %v", r)
	}
}

// FuzzResourceJSON: whatever is read can be written, and then reads as the
// same.
func FuzzResourceJSON(f *testing.F) {
	for _, r := range sample() {
		data, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"id":":#\ufffd","attributes":{"a":null,"b":[null]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first snapshot.Resource
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("can't write what was read: %v", err)
		}
		var second snapshot.Resource
		if err := json.Unmarshal(written, &second); err != nil {
			t.Fatalf("can't read %s: %v", written, err)
		}
		if !first.Equal(&second) {
			t.Fatalf("%+v became %+v", first, second)
		}
		snapshot.Aggregate([]snapshot.Resource{first})
	})
}
