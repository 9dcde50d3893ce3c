package snapshot_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/snapshot"
)

// find makes an ok candidate of a built-in resolver.
func find(kind abi.Kind, source string, edit ...func(*snapshot.Candidate)) snapshot.Candidate {
	c := snapshot.Candidate{Resource: snapshot.Resource{
		Kind: kind, Source: source, Status: snapshot.StatusOK,
		Resolver: "waymark/builtin@1.0.0", Payload: []byte("text"), SizeBytes: 4,
	}}
	for _, e := range edit {
		e(&c)
	}
	return c
}

func rank(n int) func(*snapshot.Candidate)    { return func(c *snapshot.Candidate) { c.Rank = n } }
func root(n int) func(*snapshot.Candidate)    { return func(c *snapshot.Candidate) { c.Root = n } }
func name(s string) func(*snapshot.Candidate) { return func(c *snapshot.Candidate) { c.Name = s } }
func path(s string) func(*snapshot.Candidate) { return func(c *snapshot.Candidate) { c.Path = s } }
func key(s string) func(*snapshot.Candidate)  { return func(c *snapshot.Candidate) { c.Key = s } }

func bad(s snapshot.Status, why string) func(*snapshot.Candidate) {
	return func(c *snapshot.Candidate) { c.Status, c.Error = s, why }
}

func payload(n int) func(*snapshot.Candidate) {
	return func(c *snapshot.Candidate) { c.Payload, c.SizeBytes = bytes.Repeat([]byte("x"), n), int64(n) }
}

func dropIn(module string) func(*snapshot.Candidate) {
	return func(c *snapshot.Candidate) { c.DropIn, c.Resolver = true, module+"/r@1.0.0" }
}

// TestNames: a file with several names has the readers and modes of all of them.
func TestNames(t *testing.T) {
	t.Parallel()
	known := func(convention, mode string, readers ...string) func(*snapshot.Candidate) {
		return func(c *snapshot.Candidate) {
			c.Convention, c.Readers = convention, readers
			if mode != "" {
				c.Attributes = snapshot.Attributes{"mode": {Text: mode}}
			}
			if mode == "glob" {
				c.Attributes["globs"] = snapshot.Attribute{List: []string{"*.ts"}}
			}
		}
	}
	const file, link, other = "/w/.claude/rules/r.md", "/w/.cursor/rules/r.mdc", "/w/.windsurf/rules/r.md"
	for what, tt := range map[string]struct {
		finds []snapshot.Candidate
		want  string // readers, mode, modes, globs
	}{
		"one mode": {
			[]snapshot.Candidate{find(abi.KindSkill, file, known("a", "", "codex", "pi")), find(abi.KindSkill, file, path(link), known("b", "", "claude-code", "pi"))},
			"claude-code codex pi | {[]} | {[]} | {[]}",
		},
		"always and by globs": {
			[]snapshot.Candidate{find(abi.KindInstructionFile, file, known("a", "", "claude-code", "vscode")), find(abi.KindInstructionFile, file, path(link), known("b", "glob", "cursor"))},
			"claude-code cursor vscode | {[]} | {[claude-code=always cursor=glob vscode=always]} | {[*.ts]}",
		},
		"by globs and always": {
			[]snapshot.Candidate{find(abi.KindInstructionFile, file, known("b", "glob", "cursor")), find(abi.KindInstructionFile, file, path(link), known("a", "", "claude-code"))},
			"claude-code cursor | {glob []} | {[claude-code=always cursor=glob]} | {[*.ts]}",
		},
		"a reader of three names": {
			[]snapshot.Candidate{
				find(abi.KindInstructionFile, file, known("b", "manual", "cursor")), find(abi.KindInstructionFile, file, path(link), known("a", "model", "cursor")), find(abi.KindInstructionFile, file, path(other), known("c", "glob", "cursor")),
			},
			"cursor | {manual []} | {[cursor=glob]} | {[*.ts]}",
		},
		"a module from elsewhere": {
			[]snapshot.Candidate{find(abi.KindSkill, file, known("a", "", "codex")), find(abi.KindSkill, file, path(link), known("b", "", "claude-code"), dropIn("m"))},
			"codex | {[]} | {[]} | {[]}",
		},
		"another project": {
			[]snapshot.Candidate{find(abi.KindSkill, file, known("a", "", "codex")), find(abi.KindSkill, file, path(link), known("b", "", "claude-code"), func(c *snapshot.Candidate) { c.Directory = "lib" })},
			"codex | {[]} | {[]} | {[]}",
		},
	} {
		for range 2 { // in either order
			list, _ := snapshot.Assemble(tt.finds, snapshot.Caps{})
			r := list[0]
			got := fmt.Sprintf("%s | %v | %v | %v", strings.Join(r.Readers, " "), r.Attributes["mode"], r.Attributes[snapshot.AttributeModes], r.Attributes["globs"])
			if got = strings.ReplaceAll(got, "{ ", "{"); len(list) != 1 || got != tt.want {
				t.Errorf("%s: %s, want %s", what, got, tt.want)
			}
			slices.Reverse(tt.finds)
		}
	}
}

// row says in short what became of a resource.
func row(r snapshot.Resource) string {
	s := fmt.Sprintf("%s %s", r.ID(), r.Status)
	if r.Name != "" {
		s += " " + r.Name
	}
	if r.Payload != nil {
		s += fmt.Sprintf(" [%d]", len(r.Payload))
	}
	return s
}

func noteRow(n snapshot.Note) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Path, n.Reason, n.Winner))
}

func TestAssemble(t *testing.T) {
	const md, skill, mcp = abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig
	tests := []struct {
		name  string
		in    []snapshot.Candidate
		want  []string
		notes []string
	}{
		{name: "nothing"},
		{
			name: "in order of id",
			in:   []snapshot.Candidate{find(skill, "/w/b"), find(md, "/w/z"), find(skill, "/w/a")},
			want: []string{"instruction_file:/w/z ok [4]", "skill:/w/a ok [4]", "skill:/w/b ok [4]"},
		},
		{
			name:  "a link collapses into its target, in whatever order",
			in:    []snapshot.Candidate{find(md, "/w/Z.md", path("/w/A.md"), name("link")), find(md, "/w/Z.md", path("/w/Z.md"), name("target"))},
			want:  []string{"instruction_file:/w/Z.md ok target [4]"},
			notes: []string{"/w/A.md collapsed_into instruction_file:/w/Z.md"},
		},
		{
			name:  "the lower rank wins",
			in:    []snapshot.Candidate{find(md, "/w/a", rank(2), root(0), name("two")), find(md, "/w/a", rank(1), root(9), name("one"))},
			want:  []string{"instruction_file:/w/a ok one [4]"},
			notes: []string{"/w/a deduplicated instruction_file:/w/a"},
		},
		{
			name:  "then the earlier root",
			in:    []snapshot.Candidate{find(md, "/w/a", root(1), name("one")), find(md, "/w/a", root(0), name("zero"))},
			want:  []string{"instruction_file:/w/a ok zero [4]"},
			notes: []string{"/w/a deduplicated instruction_file:/w/a"},
		},
		{
			name:  "a valid find replaces an invalid one whatever its rank",
			in:    []snapshot.Candidate{find(skill, "/w/a", bad(snapshot.StatusInvalid, "no name")), find(skill, "/w/a", rank(7), name("a"))},
			want:  []string{"skill:/w/a ok a [4]"},
			notes: []string{"/w/a deduplicated skill:/w/a"},
		},
		{
			name: "the key tells finds of one file apart",
			in:   []snapshot.Candidate{find(abi.KindHook, "/w/h", key("b")), find(abi.KindHook, "/w/h", key("a"))},
			want: []string{"hook:/w/h#a ok [4]", "hook:/w/h#b ok [4]"},
		},
		{
			name: "skills of one name all stay",
			in:   []snapshot.Candidate{find(skill, "/w/1", name("foo")), find(skill, "/w/2", name("foo"), root(1))},
			want: []string{"skill:/w/1 ok foo [4]", "skill:/w/2 ok foo [4]"},
		},
		{
			name: "skills without a name, and other kinds of one name, stay",
			in:   []snapshot.Candidate{find(skill, "/w/1"), find(skill, "/w/2"), find(md, "/w/3", name("n")), find(md, "/w/4", name("n"))},
			want: []string{"instruction_file:/w/3 ok n [4]", "instruction_file:/w/4 ok n [4]", "skill:/w/1 ok [4]", "skill:/w/2 ok [4]"},
		},
		{
			name:  "too large is oversize",
			in:    []snapshot.Candidate{find(md, "/w/a", payload(256<<10)), find(md, "/w/b", payload(256<<10+1))},
			want:  []string{"instruction_file:/w/a ok [262144]", "instruction_file:/w/b oversize"},
			notes: []string{"/w/b oversize"},
		},
		{
			name: "only ok has a payload",
			in: []snapshot.Candidate{
				find(md, "/w/1", bad(snapshot.StatusInvalid, "escapes")), find(md, "/w/2", bad(snapshot.StatusUnreadable, "broken link")),
				find(md, "/w/3", bad(snapshot.StatusOversize, "big")), find(md, "/w/4", payload(0)),
			},
			want:  []string{"instruction_file:/w/1 invalid", "instruction_file:/w/2 unreadable", "instruction_file:/w/3 oversize", "instruction_file:/w/4 ok [0]"},
			notes: []string{"/w/3 oversize"},
		},
		{
			name:  "an MCP configuration keeps nothing of its text",
			in:    []snapshot.Candidate{find(mcp, "/w/.mcp.json", name("secret"), key("secret")), find(mcp, "/w/.mcp.json", rank(1), key("other"))},
			want:  []string{"mcp_config:/w/.mcp.json ok"},
			notes: []string{"/w/.mcp.json deduplicated mcp_config:/w/.mcp.json"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resources, notes := snapshot.Assemble(test.in, snapshot.Caps{})
			if diff := cmp.Diff(test.want, rows(resources, row)); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, rows(notes, noteRow)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func rows[E any](list []E, form func(E) string) []string {
	var out []string
	for _, e := range list {
		out = append(out, form(e))
	}
	return out
}

func TestMCPConfigKeepsOnlyWhatTheHostSaid(t *testing.T) {
	c := find(abi.KindMCPConfig, "/w/.mcp.json", name("tok"), key("tok"), bad(snapshot.StatusInvalid, "mcpServers is no object"))
	c.Description, c.Attributes = "tok", snapshot.Attributes{"tok": {Text: "tok"}}
	c.Payload, c.ContentHash = []byte("tok"), snapshot.Hash{1}
	got, _ := snapshot.Assemble([]snapshot.Candidate{c}, snapshot.Caps{})
	want := []snapshot.Resource{{
		Kind: abi.KindMCPConfig, Source: "/w/.mcp.json", Status: snapshot.StatusInvalid, Error: "mcpServers is no object",
		ContentHash: snapshot.Hash{1}, SizeBytes: 4, Resolver: "waymark/builtin@1.0.0",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Name != "tok" || c.Payload == nil {
		t.Error("Assemble changed its input")
	}
}
