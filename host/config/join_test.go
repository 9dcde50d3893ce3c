package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/host/config"
)

// values compares what configurations say, and not who has said it.
var values = cmp.Options{cmpopts.IgnoreFields(config.Config{}, "Ignored"), cmpopts.IgnoreUnexported(config.Config{})}

// joins has every key of plugin.toml with the way in which the machine's value and a
// user's become one, and some values: the least first where there is an order, and
// the items of lists.
var joins = map[string]struct {
	join  string
	items []string
}{
	"exclude":                     {"union", []string{`"a"`, `"b/**"`, `"c"`}},
	"plugins.dirs":                {"intersection", []string{`"/a"`, `"~/b"`, `"/c"`}},
	"builtin.disable":             {"union", []string{`"context"`, `"hooks"`, `"x"`}},
	"context.clients":             {"later", []string{`["codex"]`, `["claude"]`}},
	"conventions.agents":          {"choice", []string{`"codex"`, `"claude-code"`, `"cursor"`}},
	"conventions.strict":          {"most", booleans},
	"conventions.user":            {"least", []string{`"off"`, `"local"`, `"pushed"`}},
	"conventions.children":        {"least", []string{`"off"`, `"listed"`, `"always"`}},
	"conventions.grants":          {"intersection", []string{`"hooks"`, `"mcp"`, `"hook-commands"`}},
	"convention.readers":          {"later", []string{`["a"]`, `["b", "c"]`}},
	"convention.places":           {"later", []string{`["a"]`, `["b", "c"]`}},
	"convention.scope":            {"later", []string{`"user"`, `"project"`}},
	"convention.kind":             {"later", []string{`"hook"`, `"command"`}},
	"convention.format":           {"later", []string{`"json"`, `"toml"`}},
	"convention.name":             {"later", []string{`"path"`, `"heading"`}},
	"convention.description":      {"later", []string{`"front_matter"`, `"heading"`}},
	"convention.mode":             {"later", []string{`"model"`, `"always"`}},
	"convention.globs_key":        {"later", []string{`"a"`, `"b"`}},
	"limits.time":                 {"least", []string{`"1ms"`, `"2s"`, `"1m"`}},
	"limits.fuel":                 {"least", []string{"1000000", "2000000", "100000000000000"}},
	"limits.memory":               {"least", sizes},
	"limits.response":             {"least", sizes},
	"limits.logs":                 {"least", []string{`"1KiB"`, "65536", `"1MiB"`}},
	"limits.opens":                {"least", counts},
	"limits.read_bytes":           {"least", sizes},
	"limits.entries":              {"least", counts},
	"snapshot.max_resource_bytes": {"least", []string{"1", `"1KiB"`, `"256KiB"`}},
	"snapshot.max_bytes":          {"least", []string{`"1MiB"`, `"2MiB"`, `"16MiB"`}},
	"snapshot.max_resources":      {"least", counts},
	"watch.quiet":                 {"later", []string{`"1ms"`, `"100ms"`}},
	"watch.max_wait":              {"later", []string{`"1s"`, `"100ms"`}},
	"watch.recheck":               {"later", []string{`"1s"`, `"1h"`}},
	"push.url":                    {"later", []string{`"https://a"`, `"unix:/b"`, `""`}},
	"push.token_file":             {"later", []string{`"/a"`, `"~/b"`, `""`}},
	"push.agent":                  {"later", []string{`"a"`, `"b"`, `""`}},
	"push.clients":                {"least", booleans},
	"services.processes":          {"least", booleans},
	"services.files":              {"least", booleans},
	"services.git":                {"least", booleans},
	"services.desktop":            {"least", booleans},
	"desktop.server":              {"later", []string{`"/a"`, `"~/b"`, `""`}},
	"desktop.window_manager":      {"later", []string{`"/a"`, `"~/b"`, `""`}},
	"desktop.recorder":            {"later", []string{`"/a"`, `"~/b"`, `""`}},
	"desktop.width":               {"later", []string{`320`, `1280`, `7680`}},
	"desktop.height":              {"later", []string{`200`, `800`, `4320`}},
	"desktop.idle":                {"later", []string{`"1m"`, `"1h"`, `"168h"`}},
	"services.tcp":                {"least", booleans},
	"services.hub":                {"least", booleans},
	"services.hide_secrets":       {"most", booleans},
	"services.files_within":       {"least", []string{`"workspace"`, `"anywhere"`}},
	"services.spool":              {"least", []string{`"64KiB"`, `"1MiB"`, `"1GiB"`}},
	"services.spool_total":        {"least", []string{`"64MiB"`, `"1GiB"`, `"2GiB"`}},
	"services.audit":              {"most", []string{`"64KiB"`, `"1MiB"`, `"1GiB"`}},
	"mcp.enabled":                 {"least", booleans},
	"mcp.trust":                   {"least", []string{`"ask"`, `"workspace"`}},
	"mcp.from":                    {"intersection", []string{`"client"`, `"source"`, `"user"`}},
	"mcp.confine":                 {"least", []string{`"server"`, `"none"`}},
	"mcp.require_confined":        {"most", booleans},
	"mcp.allow":                   {"choice", []string{`"a"`, `"b__x"`, `"c?__y"`}},
	"mcp.deny":                    {"union", []string{`"a"`, `"*__delete_*"`, `"c__y"`}},
	"mcp.new_tools":               {"least", []string{`"hold"`, `"take"`}},
	"mcp.approved":                {"later", []string{`["sha256:` + digest("a") + `"]`, `["sha256:` + digest("b") + `"]`, "[]"}},
	"mcp.keys":                    {"machine", []string{`["` + strings.Repeat("A", 43) + `="]`, `["` + strings.Repeat("A", 42) + `E="]`, "[]"}},
	"mcp.connect_timeout":         {"least", []string{`"1s"`, `"30s"`, `"10m"`}},
	"mcp.call_timeout":            {"least", []string{`"1s"`, `"30s"`, `"1h"`}},
	"mcp.idle":                    {"least", []string{`"1s"`, `"30s"`, `"24h"`}},
	"mcp.server_tools":            {"least", []string{"1", "200", "300"}},
	"mcp.tools":                   {"least", []string{"200", "1000", "10000"}},
	"mcp.server_bytes":            {"least", []string{`"1KiB"`, `"1MiB"`, `"2MiB"`}},
	"mcp.bytes":                   {"least", []string{`"1MiB"`, `"4MiB"`, `"32MiB"`}},
	"mcp.result_bytes":            {"least", sizes[:2]},
	"mcp.result_spool":            {"least", []string{`"1MiB"`, `"64MiB"`, `"16GiB"`}},
	"mcp.disk":                    {"least", []string{`"1MiB"`, `"4GiB"`, `"1024GiB"`}},
	"mcp.servers.github.off":      {"most", booleans},
	"mcp.servers.github.read":     {"intersection", []string{`"/a"`, `"~/b"`, `"c"`}},
	"mcp.servers.github.write":    {"intersection", []string{`"/a"`, `"~/b"`, `"c"`}},
	"mcp.servers.github.ports":    {"intersection", []string{"80", "443", "65535"}},
	"mcp.servers.github.unix":     {"least", booleans},
	"mcp.servers.github.env":      {"intersection", []string{`"A"`, `"B"`, `"C"`}},
	"plugin.sha256":               {"machine", []string{`"` + digest("a") + `"`, `"` + digest("b") + `"`, `""`}},
	"plugin.reads":                {"choice", []string{`"a"`, `"b/*"`, `"c/?"`}},
	"plugin.grant_secrets":        {"intersection", []string{`".env"`, `".env*"`, `"x"`}},
	"plugin.rank":                 {"later", []string{"1", "100", "10000"}},
	"plugin.limits.time":          {"least", []string{`"1ms"`, `"2s"`, `"1m"`}},
	"plugin.limits.opens":         {"least", counts},
}

var (
	booleans = []string{"false", "true"}
	sizes    = []string{`"1MiB"`, "2097152", `"16MiB"`}
	counts   = []string{"1", "2", "4000"}
)

func digest(digit string) string { return strings.Repeat(digit, 64) }

// assigned is a file with a value for a key, with what the key's entry can't be without.
func assigned(key, value string) string {
	for list, begin := range map[string]string{
		"plugin.":     "[[plugin]]\nname = \"p\"\n",
		"convention.": "[[convention]]\nid = \"x\"\n",
	} {
		if rest, ok := strings.CutPrefix(key, list); ok {
			entry := map[string]string{"readers": `["r"]`, "places": `["p"]`, "kind": `"hook"`, "globs_key": `"g"`}
			if list == "plugin." {
				entry = map[string]string{}
			}
			entry[rest] = value
			for _, name := range slices.Sorted(maps.Keys(entry)) {
				begin += name + " = " + entry[name] + "\n"
			}
			return begin
		}
	}
	return key + " = " + value + "\n"
}

// expected is what a join makes of two values, each a list of items where it is of lists.
func expected(join string, items, machine, own []string) []string {
	at := func(v []string) int { return slices.Index(items, v[0]) }
	switch join {
	case "least":
		return []string{items[min(at(machine), at(own))]}
	case "most":
		return []string{items[max(at(machine), at(own))]}
	case "machine":
		if v := machine[0]; v == `""` || v == "[]" {
			return own
		}
		return machine
	case "union":
		return slices.Concat(machine, slices.DeleteFunc(slices.Clone(own), func(v string) bool { return slices.Contains(machine, v) }))
	case "intersection", "choice":
		both := slices.DeleteFunc(slices.Clone(own), func(v string) bool { return !slices.Contains(machine, v) })
		switch {
		case join == "choice" && len(machine) == 0:
			return own
		case join == "choice" && len(both) == 0:
			return machine
		}
		return both
	}
	return own // later
}

// TestJoins: for each key, all pairs of values of the machine and of a user give what
// the key's join says, and what of the user's doesn't hold is told.
func TestJoins(t *testing.T) {
	for key, row := range joins {
		t.Run(key, func(t *testing.T) {
			isList := slices.Contains([]string{"union", "intersection", "choice"}, row.join)
			var candidates [][]string
			for i, item := range row.items {
				if !isList {
					candidates = append(candidates, []string{item})
				} else if i == 0 {
					for set := range 1 << len(row.items) {
						var subset []string
						for j, item := range row.items {
							if set&(1<<j) != 0 {
								subset = append(subset, item)
							}
						}
						candidates = append(candidates, subset)
					}
				}
			}
			write := func(v []string) string {
				if isList {
					return "[" + strings.Join(v, ", ") + "]"
				}
				return v[0]
			}
			for _, machine := range candidates {
				for _, own := range candidates {
					got, want := config.Default(), config.Default()
					joined := expected(row.join, row.items, machine, own)
					for _, file := range []struct {
						c          *config.Config
						name, text string
					}{
						{got, config.MachineFile, assigned(key, write(machine))}, {got, "user", assigned(key, write(own))},
						{want, "want", assigned(key, write(joined))},
					} {
						if err := file.c.Parse(file.name, file.text); err != nil {
							t.Fatalf("%s: %v", file.text, err)
						}
					}
					if diff := cmp.Diff(want, got, values); diff != "" {
						t.Errorf("machine %s, user %s (-want +got):\n%s", write(machine), write(own), diff)
					}
					ignored := row.join != "later" && !slices.Equal(joined, own)
					if row.join == "union" {
						ignored = len(own) == 0 && len(machine) > 0
					}
					if ignored != (len(got.Ignored) == 1) {
						t.Errorf("machine %s, user %s: ignored are %v", write(machine), write(own), got.Ignored)
					}
					// A second file of the user's takes the place of the first, and not of the machine's.
					if err := got.Parse("workspace", assigned(key, write(own))); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got, values); diff != "" || ignored != (len(got.Ignored) == 1) {
						t.Errorf("machine %s, user %s twice: %v (-want +got):\n%s", write(machine), write(own), got.Ignored, diff)
					}
				}
			}
		})
	}
}

// TestJoinsAreComplete: every key of plugin.toml is in the table, but for names and for
// what goes to resolvers as it is.
func TestJoinsAreComplete(t *testing.T) {
	text, err := os.ReadFile("../../plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	header, key := regexp.MustCompile(`^#?\s*\[+([a-z._-]+)\]+`), regexp.MustCompile(`^#?\s*([a-z_0-9]+)\s*=\s`)
	section, n := "", 0
	for line := range strings.Lines(string(text)) {
		if m := header.FindStringSubmatch(line); m != nil {
			section = m[1] + "."
		}
		m := key.FindStringSubmatch(line)
		if m == nil || strings.Contains(section, "config.") || section+m[1] == "plugin.name" || section+m[1] == "convention.id" {
			continue
		}
		n++
		if _, ok := joins[section+m[1]]; !ok {
			t.Errorf("%s is missing", section+m[1])
		}
	}
	if n < 70 {
		t.Errorf("only %d keys were found", n)
	}
}

// TestWithin: a pattern of the user's counts where it surely matches nothing that the
// machine's don't.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ key, machine, own, want string }{
		{"mcp.allow", `["github"]`, `["github__get_*", "github", "gitlab", "git*"]`, `["github__get_*", "github"]`},
		{"mcp.allow", `["git*"]`, `["github", "gitlab__x", "git*", "g*", "github*"]`, `["github", "gitlab__x", "git*", "github*"]`},
		{"mcp.allow", `["github__get_*"]`, `["github", "github__get_x", "github__get_*", "github__*", "github__get_a/b", "github__get_a*b"]`, `["github__get_x", "github__get_*", "github__get_a/b", "github__get_a*b"]`},
		{"mcp.allow", `["a*b"]`, `["a*b__x", "axb", "axb__*"]`, `["axb", "axb__*"]`},
		{"mcp.allow", `["a?"]`, `["a*", "a[!x]", "ab"]`, `["ab"]`},
		{"mcp.allow", `["github"]`, `["*"]`, `["github"]`},
		{"mcp.allow", `["github"]`, `[]`, `["github"]`},
		{"plugin.reads", `["docs/**"]`, `["docs/a.md", "docs/*/b", "**", "doc*/**", "{docs,x}/**", "x"]`, `["docs/a.md", "docs/*/b"]`},
		{"plugin.reads", `["**"]`, `["a", "b/**"]`, `["a", "b/**"]`},
		{"plugin.reads", `["*.md"]`, `["a.md", "a/b.md", "?.md", "**"]`, `["a.md"]`},
		{"mcp.servers.x.read", `["/data"]`, `["/data/link", "/"]`, `[]`}, // which may be a link to elsewhere
	} {
		got := config.Default()
		want := parse(t, assigned(c.key, c.want))
		if err := got.Parse(config.MachineFile, assigned(c.key, c.machine)); err != nil {
			t.Fatal(err)
		}
		if err := got.Parse("user", assigned(c.key, c.own)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, values); diff != "" {
			t.Errorf("%s: machine %s, user %s (-want +got):\n%s", c.key, c.machine, c.own, diff)
		}
	}
}

// TestLimitsOfPlugins: neither an entry's limits nor another entry's lift the machine's.
func TestLimitsOfPlugins(t *testing.T) {
	c := config.Default()
	for _, file := range [][2]string{
		{config.MachineFile, "limits = {time = \"1s\", opens = 9}\n[[plugin]]\nname = \"a.limits\"\nlimits.opens = 20\n"},
		{"user", "limits.time = \"1m\"\n[[plugin]]\nname = \"a.limits\"\nlimits = {time = \"2s\", opens = 30}\n[[plugin]]\nname = \"a\"\nlimits = {time = \"5ms\", opens = 30, entries = 7}\n"},
	} {
		if err := c.Parse(file[0], file[1]); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a.limits": "1s 20 100000", "a": "5ms 9 7", "other": "1s 9 100000"} {
		l := c.LimitsOf(name)
		if got := fmt.Sprint(l.Time, l.Opens, l.Entries); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// TestOrigins: of every setting it is said who has set it.
func TestOrigins(t *testing.T) {
	c := config.Default()
	for _, file := range [][2]string{
		{config.MachineFile, "exclude = [\"a\"]\nlimits = {time = \"1s\", opens = 9, logs = \"2KiB\"}\nbuiltin.config.r.a = 1\n[[plugin]]\nname = \"p.q\"\n[mcp.servers.s]\n"},
		{"user", "exclude = [\"b\"]\nlimits = {time = \"2s\", opens = 3, entries = 5}\nbuiltin.config.r.b = 2\nmcp.trust = \"workspace\"\n"},
	} {
		if err := c.Parse(file[0], file[1]); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range c.Settings() {
		got = append(got, fmt.Sprintf("%s = %s of %v", s.Key, s.Value, s.Files))
	}
	m := config.MachineFile
	want := []string{
		"exclude = [a b] of [" + m + " user]", `builtin.config.r = {"a":1,"b":2} of [` + m + " user]", "limits.time = 1s of [" + m + "]",
		"limits.logs = 2KiB of [" + m + "]", "limits.opens = %!s(int=3) of [user]", "limits.entries = %!s(int=5) of [user]",
		"mcp.trust = workspace of [user]", "mcp.servers.s.off = %!s(bool=false) of []", `plugin."p.q".name = p.q of [` + m + "]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]config.Ignored{{Key: "limits.time", File: "user", Value: "2s", InForce: "1s"}}, c.Ignored); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

// TestSettings changes everything, and sees it all.
func TestSettings(t *testing.T) {
	text := `
exclude = ["x*y"]
plugins.dirs = []
builtin.disable = ["skills"]
builtin.config.skills = {deep = true}
limits = {time = "1m", fuel = 1000001, memory = "1MiB", response = 1025, logs = "1KiB", opens = 1, read_bytes = "1KiB", entries = 1}
snapshot = {max_resource_bytes = 1, max_bytes = "1MiB", max_resources = 1}
watch = {quiet = "1s", max_wait = "1m", recheck = "1h"}
push = {url = "unix:/x", token_file = "/t", agent = "dev-1", clients = false}
services = {processes = false, files = false, git = false, desktop = true, tcp = true, hub = true, hide_secrets = false, files_within = "workspace", spool = "1MiB", spool_total = "2MiB", audit = "1MiB"}
desktop = {server = "/x", window_manager = "/x", recorder = "/x", width = 320, height = 200, idle = "1m"}
[mcp]
enabled = false
trust = "workspace"
from = ["source", "user"]
confine = "none"
require_confined = true
allow = ["a*"]
deny = ["a__b"]
new_tools = "hold"
approved = ["sha256:` + strings.Repeat("b", 64) + `"]
keys = ["` + strings.Repeat("A", 43) + `="]
connect_timeout = "1s"
call_timeout = "1h"
idle = "24h"
server_tools = 1
tools = 2
server_bytes = "1KiB"
bytes = "2KiB"
result_bytes = "1KiB"
result_spool = "1MiB"
disk = "1MiB"
[mcp.servers.git-hub]
read = ["~/r"]
write = ["w"]
ports = []
unix = true
env = ["TOKEN"]
[mcp.servers.other]
off = true
ports = [80, 443]
[[plugin]]
name = "acme"
sha256 = "` + strings.Repeat("a", 64) + `"
reads = ["r"]
grant_secrets = [".env*"]
rank = 7
config.rules = {n = 1}
limits = {time = "1s", opens = 2}
[[plugin]]
name = "plain"
`
	if list := config.Default().Settings(); len(list) > 0 {
		t.Errorf("the defaults differ from themselves: %v", list)
	}
	var got []string
	for _, s := range parse(t, text).Settings() {
		value, err := json.Marshal(s.Value)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Key+" = "+string(value))
	}
	want := []string{
		`exclude = ["x*y"]`, `plugins.dirs = []`, `builtin.disable = ["skills"]`, `builtin.config.skills = {"deep":true}`,
		`limits.time = "1m"`, `limits.fuel = 1000001`, `limits.memory = "1MiB"`, `limits.response = "1025B"`,
		`limits.logs = "1KiB"`, `limits.opens = 1`, `limits.read_bytes = "1KiB"`, `limits.entries = 1`,
		`snapshot.max_resource_bytes = "1B"`, `snapshot.max_bytes = "1MiB"`, `snapshot.max_resources = 1`,
		`watch.quiet = "1s"`, `watch.max_wait = "1m"`, `watch.recheck = "1h"`,
		`push.url = "unix:/x"`, `push.token_file = "/t"`, `push.agent = "dev-1"`, `push.clients = false`,
		`services.processes = false`, `services.files = false`, `services.git = false`, `services.desktop = true`, `services.tcp = true`, `services.hub = true`,
		`services.hide_secrets = false`, `services.files_within = "workspace"`,
		`services.spool = "1MiB"`, `services.spool_total = "2MiB"`, `services.audit = "1MiB"`,
		`desktop.server = "/x"`, `desktop.window_manager = "/x"`, `desktop.recorder = "/x"`, `desktop.width = 320`, `desktop.height = 200`, `desktop.idle = "1m"`,
		`mcp.enabled = false`, `mcp.trust = "workspace"`, `mcp.from = ["source","user"]`, `mcp.confine = "none"`, `mcp.require_confined = true`,
		`mcp.allow = ["a*"]`, `mcp.deny = ["a__b"]`, `mcp.new_tools = "hold"`, `mcp.approved = ["sha256:` + strings.Repeat("b", 64) + `"]`,
		`mcp.keys = ["` + strings.Repeat("A", 43) + `="]`,
		`mcp.connect_timeout = "1s"`, `mcp.call_timeout = "1h"`, `mcp.idle = "24h"`, `mcp.server_tools = 1`, `mcp.tools = 2`,
		`mcp.server_bytes = "1KiB"`, `mcp.bytes = "2KiB"`, `mcp.result_bytes = "1KiB"`, `mcp.result_spool = "1MiB"`, `mcp.disk = "1MiB"`,
		`mcp.servers.git-hub.read = ["~/r"]`, `mcp.servers.git-hub.write = ["w"]`,
		`mcp.servers.git-hub.ports = []`, `mcp.servers.git-hub.unix = true`, `mcp.servers.git-hub.env = ["TOKEN"]`,
		`mcp.servers.other.off = true`, `mcp.servers.other.ports = [80,443]`,
		`plugin.acme.sha256 = "` + strings.Repeat("a", 64) + `"`, `plugin.acme.reads = ["r"]`,
		`plugin.acme.grant_secrets = [".env*"]`, `plugin.acme.rank = 7`, `plugin.acme.config.rules = {"n":1}`,
		`plugin.acme.limits.time = "1s"`, `plugin.acme.limits.opens = 2`,
		`plugin.plain.name = "plain"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
