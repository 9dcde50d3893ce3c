package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/host/config"
	"waymark/internal/defaults"
	"waymark/plugins/conventions"
)

// parse lays texts over the defaults.
func parse(t *testing.T, texts ...string) *config.Config {
	t.Helper()
	c := config.Default()
	for _, text := range texts {
		if err := c.Parse("test.toml", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	return c
}

func TestDefaultsAreThoseOfTheFile(t *testing.T) {
	// Over an empty Config, so that a key that the file lacks shows.
	fromFile := &config.Config{}
	if err := fromFile.Parse("plugin.toml", config.Annotated()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), fromFile, values); diff != "" {
		t.Errorf("Default and plugin.toml differ (-Default +plugin.toml):\n%s", diff)
	}
}

// TestExampleEntry reads the entry that plugin.toml shows in comments.
func TestExampleEntry(t *testing.T) {
	_, example, ok := strings.Cut(config.Annotated(), "# [[plugin]]")
	if !ok {
		t.Fatal("plugin.toml shows no [[plugin]] entry")
	}
	text := "[[plugin]]" + strings.ReplaceAll(example, "\n#", "\n")
	text = strings.ReplaceAll(text, "equal ranks: in order", "# equal ranks: in order")
	got := parse(t, text).Entry("acme-rules")
	want := config.Plugin{Name: "acme-rules", Rank: defaults.Rank, Config: got.Config, Limits: config.Limits{Time: 5 * time.Second}}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := string(got.Config["cursor-rules"]); text != `{"max_files":10}` {
		t.Errorf("config is %s", text)
	}
}

// TestExampleConvention reads the one that plugin.toml shows in comments.
func TestExampleConvention(t *testing.T) {
	_, example, _ := strings.Cut(config.Annotated(), "# [[convention]]")
	example, _, ok := strings.Cut(example, "\n\n")
	if !ok {
		t.Fatal("plugin.toml shows no [[convention]]")
	}
	got := parse(t, "[[convention]]"+strings.ReplaceAll(example, "\n#", "\n")).OwnConventions()
	want := []conventions.Convention{{
		ID: "acme-rules", Readers: []string{"acme"}, Places: []string{".acme/rules/**/*.md"}, Scope: conventions.ScopeProject,
		Kind: abi.KindInstructionFile, As: "instruction file", Format: conventions.Markdown, Name: conventions.FromFile, Description: conventions.FromHeading,
		Applies: conventions.Applies{Mode: "glob", GlobsKey: "globs"},
	}}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConventions: a later file changes a key of one, and switched-off agents take
// their conventions along.
func TestConventions(t *testing.T) {
	first := `
[[convention]]
id = "a"
readers = ["acme", "codex"]
places = ["a/*/SKILL.md"]
kind = "skill"
[[convention]]
id = "b"
readers = ["acme"]
places = ["b"]
kind = "hook"
`
	c := parse(t, first, "[[convention]]\nid = \"b\"\nformat = \"json\"\n[conventions]\nagents = [\"codex\"]")
	own := c.OwnConventions()
	if len(own) != 2 || own[0].Name != conventions.FromField || own[1].Format != conventions.JSON || own[1].Kind != abi.KindHook {
		t.Errorf("%+v", own)
	}
	off := c.DisabledConventions()
	for id, want := range map[string]bool{"a": false, "b": true, "agents-md": false, "claude-md": true} {
		if slices.Contains(off, id) != want {
			t.Errorf("%s: switched off is %t", id, !want)
		}
	}
	if off := config.Default().DisabledConventions(); off != nil {
		t.Errorf("by default %q are switched off", off)
	}
}

func TestEveryKey(t *testing.T) {
	got := parse(t, `
exclude = ["vendor/**"]
plugins.dirs = ["/p", "~/p"]
builtin.disable = ["skills"]
[builtin.config]
context = { file_names = ["A.md"] }
skills = { n = 1, big = 9007199254740993, f = 0.5, html = "<&>", list = [1, { a = true }], empty = {} }
[limits]
time = "1m"
fuel = 1_000_000
memory = "1GiB"
response = 2048
logs = "2KiB"
opens = 1
read_bytes = "3MiB"
entries = 7
[snapshot]
max_resource_bytes = "10B"
max_bytes = "1MiB"
max_resources = 1000
[watch]
quiet = "1ms"
max_wait = "1s"
recheck = "1h"
[push]
url = "https://hub.example.com"
token_file = "~/.token"
[services]
processes = false
files = false
git = false
tcp = true
hide_secrets = false
files_within = "workspace"
spool = "1MiB"
spool_total = "2MiB"
audit = "3MiB"
[conventions]
agents = ["codex", "acme"]
strict = true
user = "pushed"
children = "always"
grants = ["hooks", "hook-commands"]
[[convention]]
id = "acme-rules"
readers = ["acme"]
places = [".acme/rules/**/*.md", ".acmerules-*"]
scope = "user"
kind = "instruction_file"
format = "text"
name = "path"
description = "front_matter"
mode = "glob"
globs_key = "paths"
[[plugin]]
name = "a"
sha256 = "`+strings.Repeat("0a", 32)+`"
reads = ["x/*"]
grant_secrets = [".env"]
rank = 10
config.r = { k = "v" }
limits.opens = 3
[[plugin]]
name = "b"
`)
	want := config.Default()
	want.Exclude = []string{"vendor/**"}
	want.Plugins.Dirs = []string{"/p", "~/p"}
	want.Builtin.Disable = []string{"skills"}
	want.Builtin.Config = map[string]rawJSON{"context": rawJSON(`{"file_names":["A.md"]}`)}
	want.Builtin.Config["skills"] = []byte(`{"big":9007199254740993,"empty":{},"f":0.5,"html":"<&>","list":[1,{"a":true}],"n":1}`)
	want.Limits = config.Limits{
		Time: time.Minute, Fuel: 1_000_000, Memory: config.GiB, Response: 2048, Logs: 2 * config.KiB,
		Opens: 1, ReadBytes: 3 * config.MiB, Entries: 7,
	}
	want.Snapshot = config.Snapshot{MaxResourceBytes: 10, MaxBytes: config.MiB, MaxResources: 1000}
	want.Watch = config.Watch{Quiet: time.Millisecond, MaxWait: time.Second, Recheck: time.Hour}
	want.Push = config.Push{URL: "https://hub.example.com", TokenFile: "~/.token", Clients: true}
	want.Services = config.Services{
		TCP: true, FilesWithin: config.FilesWorkspace, Spool: config.MiB, SpoolTotal: 2 * config.MiB, Audit: 3 * config.MiB,
	}
	want.Conventions = config.Conventions{Agents: []string{"codex", "acme"}, Strict: true, User: config.UserPushed, Children: config.ChildrenAlways, Grants: []string{"hooks", "hook-commands"}}
	want.Own = []config.Convention{{
		ID: "acme-rules", Readers: []string{"acme"}, Places: []string{".acme/rules/**/*.md", ".acmerules-*"}, Scope: conventions.ScopeUser,
		Kind: abi.KindInstructionFile, Format: conventions.Text, Name: conventions.FromPath, Description: conventions.FromField,
		Mode: "glob", GlobsKey: "paths",
	}}
	want.Entries = []config.Plugin{
		{
			Name: "a", SHA256: strings.Repeat("0a", 32), Reads: []string{"x/*"}, GrantSecrets: []string{".env"}, Rank: 10,
			Limits: config.Limits{Opens: 3},
		},
		{Name: "b", Rank: defaults.Rank},
	}
	want.Entries[0].Config = map[string]rawJSON{"r": rawJSON(`{"k":"v"}`)}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMerge(t *testing.T) {
	got := parse(t, `
exclude = ["a", "b"]
[limits]
time = "1s"
opens = 1
[builtin.config.context]
max = 1
deep = { a = 1, b = 2 }
[[plugin]]
name = "p"
rank = 5
reads = ["x", "y"]
config.r = { a = 1, b = 2 }
limits.time = "3s"
[[plugin]]
name = "q"
`, `
exclude = ["c"]
limits.time = "4s"
[builtin.config.context]
file_names = ["X.md"]
deep.b = 3
[[plugin]]
name = "new"
[[plugin]]
name = "p"
reads = []
config.r.b = 3
config.s = {}
limits.opens = 9
`)
	want := config.Default()
	want.Exclude = []string{"c"}
	want.Limits.Time, want.Limits.Opens = 4*time.Second, 1
	want.Builtin.Config = map[string]rawJSON{"context": rawJSON(`{"deep":{"a":1,"b":3},"file_names":["X.md"],"max":1}`)}
	want.Entries = []config.Plugin{
		{
			Name: "p", Rank: 5, Limits: config.Limits{Time: 3 * time.Second, Opens: 9},
			Config: map[string]rawJSON{"r": rawJSON(`{"a":1,"b":3}`), "s": rawJSON(`{}`)},
		},
		{Name: "q", Rank: defaults.Rank},
		{Name: "new", Rank: defaults.Rank},
	}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLimitsOf(t *testing.T) {
	c := parse(t, `
[[plugin]]
name = "p"
limits = { time = "3s", memory = "2MiB" }
`)
	want := config.Default().Limits
	if diff := cmp.Diff(want, c.LimitsOf("unknown")); diff != "" {
		t.Errorf("without an entry (-want +got):\n%s", diff)
	}
	want.Time, want.Memory = 3*time.Second, 2*config.MiB
	if diff := cmp.Diff(want, c.LimitsOf("p")); diff != "" {
		t.Errorf("with an entry (-want +got):\n%s", diff)
	}
	if e := c.Entry("unknown"); e.Rank != defaults.Rank || e.Name != "unknown" {
		t.Errorf("entry of an unknown plugin: %+v", e)
	}
}
