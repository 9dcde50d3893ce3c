package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host/config"
)

func TestErrors(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // the one line, as f:line:col: …
		mark     string // what the carets stand under
	}{
		{"a key at the top", "exclde = []", `f:1:1: unknown key exclde: did you mean exclude?`, "exclde"},
		{"a key in a table", "[limits]\n  tme = \"2s\"", `f:2:3: unknown key limits.tme: did you mean time?`, "tme"},
		{"another case", "[limits]\nTime = \"2s\"", `f:2:1: unknown key limits.Time: did you mean time?`, "Time"},
		{"a key like no other", "[push]\nsecret = \"x\"", `f:2:1: unknown key push.secret: known here: agent, clients, token_file, url`, "secret"},
		{"a table", "\n[limitz]\ntime = \"2s\"", `f:2:2: unknown key limitz: did you mean limits?`, "limitz"},
		{"a dotted key", "watch.quit.x = 1", `f:1:7: unknown key watch.quit: did you mean quiet?`, "quit"},
		{"the first of several", "[watch]\nb = 1\na = 1\n[limits]\nc = 1", `f:2:1: unknown key watch.b: known here: max_wait, quiet, recheck`, "b"},
		{"a strange key", "\"a b\" = 1", `f:1:2: unknown key "a b": known here: builtin, context, convention, conventions, desktop, exclude, limits, mcp, plugin, plugins, push, services, snapshot, watch`, "a b"},

		{"a size that isn't one", `limits.memory = "64MB"`, `f:1:18: limits.memory: "64MB" is not a size: write a whole number of B, KiB, MiB or GiB, like "64KiB"`, "64MB"},
		{"a size of another type", `limits.memory = true`, `f:1:17: limits.memory: a size like "64KiB" or a number of bytes is expected, not true or false`, "true"},
		{"a size out of range", `limits.memory = "2GiB"`, `f:1:18: limits.memory: 2GiB is outside the range from 1MiB to 1GiB`, "2GiB"},
		{"a duration without a unit", `watch.quiet = 15`, `f:1:15: watch.quiet: a duration with its unit, like "150ms", "2s" or "1m" is expected, not a number`, "15"},
		{"a duration that isn't one", `watch.quiet = "soon"`, `f:1:16: watch.quiet: "soon" is not a duration with its unit, like "150ms", "2s" or "1m"`, "soon"},
		{"a fraction", `limits.opens = 1.5`, `f:1:16: limits.opens: a whole number is expected, not a number with a fraction`, "1.5"},
		{"a list that is a string", `exclude = "x"`, `f:1:12: exclude: a list of strings is expected, not a string`, "x"},
		{"a list of numbers", `exclude = ["x", 1]`, `f:1:12: exclude: a list of strings is expected, not a number`, ""},
		{"a table that is a list", `limits = []`, `f:1:11: limits: a table is expected, not a list`, ""},
		{"a date", `push.url = 2020-01-01`, `f:1:12: push.url: a string is expected, not a date or time`, "2020-01-01"},

		{"a rooted pattern", `exclude = ["/x"]`, `f:1:12: exclude: "/x" begins with "/": patterns are relative to each root`, ""},
		{"a directory as a pattern", `exclude = ["x/"]`, `f:1:12: exclude: "x/" ends with "/" and matches nothing: write "x/**" for everything below`, ""},
		{"a pattern that leaves", `exclude = ["../x"]`, `f:1:12: exclude: "../x" matches nothing: leave out ".", ".." and doubled slashes`, ""},
		{"a broken pattern", `exclude = ["[x"]`, `f:1:12: exclude: "[x" is not a pattern: check its brackets and braces`, ""},
		{"patterns that are too many", `exclude = ["x", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"]`, `f:1:12: exclude: "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" makes the braces expand to more than 2048 patterns in all; write fewer alternatives, or * instead of them`, ""},
		{"a plugin's reads that no path matches", "[[plugin]]\nname = \"a\"\nreads = [\"a[/]b\"]", `f:3:10: plugin.reads: "a[/]b" has a slash inside brackets or after a backslash; a name never holds one`, ""},
		{"a relative directory", `plugins.dirs = ["plugins"]`, `f:1:17: plugins.dirs: "plugins" is relative: write a path that begins with "/" or "~/"`, ""},
		{"not a boolean", `services.git = "no"`, `f:1:17: services.git: true or false is expected, not a string`, "no"},
		{"no place", `services.files_within = "home"`, `f:1:26: services.files_within: "home" is not known: write one of workspace, anywhere`, "home"},
		{"a spool above all", "services.spool = \"2GiB\"", `f:1:19: services.spool_total (1GiB) is less than services.spool (2GiB): all processes together need room for at least one`, "2GiB"},
		{"no kind of trust", `mcp.trust = "all"`, `f:1:14: mcp.trust: "all" is not known: did you mean "ask"?`, "all"},
		{"no definition", `mcp.approved = ["abc"]`, `f:1:17: mcp.approved: "abc" is not "sha256:" and 64 lower-case hexadecimal digits: 'agent mcp show NAME' prints the definition`, ""},
		{"no key", `mcp.keys = ["abc"]`, `f:1:13: mcp.keys: it is not the 32 bytes of an Ed25519 public key as base64: 'hub approvals keygen' prints one`, ""},
		{"a server that is no table", "[mcp.servers]\na = 1", `f:2:5: mcp.servers.a: a table is expected, not a number`, "1"},
		{"servers that are no table", "mcp.servers = 1", `f:1:15: mcp.servers: a table of tables is expected, not a number`, "1"},
		{"a server's name", "[mcp.servers.a__b]", `f:1:1: mcp.servers.a__b: the name of a server has no "__" and no "_" at an end: its tools are called SERVER__TOOL`, ""},
		{"a server's key", "[mcp.servers.a]\nof = true", `f:2:1: unknown key mcp.servers.a.of: did you mean off?`, "of"},
		{"no port", "[mcp.servers.a]\nports = [0]", `f:2:10: mcp.servers.a.ports: 0 is outside the range from 1 to 65535`, ""},
		{"no variable", "[mcp.servers.a]\nenv = [\"A=s3cret\"]", `f:2:8: mcp.servers.a.env: it is not the name of a variable: values have no place here`, ""},
		{"out of the workspace", "[mcp.servers.a]\nread = [\"x/../../y\"]", `f:2:9: mcp.servers.a.read: "x/../../y" leads out of the workspace: write an absolute path`, ""},
		{"one server above all", "mcp.server_tools = 2000", `f:1:20: mcp.tools (1000) is less than mcp.server_tools (2000): all servers together need room for at least one`, "2000"},
		{"not an agent's id", `push.agent = "a/b"`, `f:1:15: push.agent: "a/b" isn't the id of an agent: letters, digits and . _ @ : -, at most 128 of them; 'hub token list' shows it`, "a/b"},
		{"not a URL", `push.url = "hub"`, `f:1:13: push.url: it is not a URL: write one like "https://hub.example.com" or "unix:/run/waymark/hub.sock"`, "hub"},
		{"a date for a resolver", "[builtin.config.skills]\na.b = 2020-01-01", `f:1:1: builtin.config: skills: a: b: resolvers get JSON, which has no dates: write it as a string`, ""},
		{"no table for a resolver", "[builtin.config]\nskills = 1", `f:1:1: builtin.config: skills: the table of a resolver is expected, not a number`, ""},

		{"an entry without a name", "[[plugin]]\nrank = 1\n[[plugin]]\nname = \"b\"", `f:1:1: plugin.name: every [[plugin]] entry needs the plugin's name, as "agent status" shows it`, "[["},
		{"two entries of a name", "[[plugin]]\nname = \"b\"\n[[plugin]]\nname = \"b\"", `f:4:9: plugin.name: there is an entry for "b" already: put its keys into one entry`, "b"},
		{"a key of the first entry", "[[plugin]]\nname = \"a\"\nrank = \"x\"\n[[plugin]]\nname = \"b\"\nrank = 2", `f:3:9: plugin.rank: a whole number is expected, not a string`, "x"},
		{"a key of the last entry", "[[plugin]]\nname = \"a\"\nrank = 2\n[[plugin]]\nname = \"b\"\nrnk = 2", `f:6:1: unknown key plugin.rnk: did you mean rank?`, "rnk"},
		{"a limit of an entry", "[[plugin]]\nname = \"a\"\nlimits = { time = \"2m\" }\n[[plugin]]\nname = \"b\"\nlimits.time = \"1s\"", `f:3:12: plugin.limits.time: 2m is outside the range from 1ms to 1m`, "t"},
		{"entries that are a table", "[plugin]\nname = \"a\"", `f:1:1: plugin: a list of tables is expected, not a table: write [[plugin]] above each entry`, "["},
		{"a digest that is too short", "[[plugin]]\nname = \"a\"\nsha256 = \"abc\"", "f:3:11: plugin.sha256: 64 lower-case hexadecimal digits are expected, as `sha256sum` prints them, or \"\"", "abc"},

		{"an agent that isn't one", `conventions.agents = ["codx"]`, `f:1:23: conventions.agents: no convention has the reader "codx": did you mean codex?`, ""},
		{"an agent that is no word", `conventions.agents = ["Codex"]`, `f:1:23: conventions.agents: "Codex" is not lower-case words joined by hyphens, of at most 64 bytes`, ""},
		{"a grant", `conventions.grants = ["hook-command"]`, `f:1:23: conventions.grants: "hook-command" is not known: did you mean "hook-commands"?`, ""},
		{"not strict", `conventions.strict = "yes"`, `f:1:23: conventions.strict: true or false is expected, not a string`, "yes"},
		{"conventions that are a table", "[convention]\nid = \"a\"", `f:1:1: convention: a list of tables is expected, not a table: write [[convention]] above each entry`, "["},
		{"a convention without an id", "[[convention]]\nkind = \"skill\"", `f:1:1: convention.id: every [[convention]] entry needs an id of its own`, "[["},
		{"a convention that is built in", "[[convention]]\nid = \"agents-md\"", `f:2:7: convention.id: "agents-md" is built in: choose another id`, "agents-md"},
		{"two conventions", "[[convention]]\nid = \"a\"\nreaders = [\"r\"]\nplaces = [\"p\"]\nkind = \"command\"\n[[convention]]\nid = \"a\"", `f:7:7: convention.id: there is an entry for "a" already: put its keys into one entry`, "a"},
		{"a convention's kind", "[[convention]]\nid = \"a\"\nkind = \"skills\"", `f:3:9: convention.kind: "skills" is not known: did you mean "skill"?`, "skills"},
		{"a convention's scope", "[[convention]]\nid = \"a\"\nscope = \"all\"", `f:3:10: convention.scope: "all" is not known: write one of project, user`, "all"},
		{"a convention's key", "[[convention]]\nid = \"a\"\nplace = \"x\"", `f:3:1: unknown key convention.place: did you mean places?`, "place"},
		{"the second convention's key", "[[convention]]\nid = \"a\"\nreaders = [\"r\"]\nplaces = [\"p\"]\nkind = \"command\"\n[[convention]]\nid = \"b\"\nmode = \"x\"", `f:8:9: convention.mode: "x" is not known: write one of always, glob, model, manual`, "x"},
		{"a place with braces", "[[convention]]\nid = \"a\"\nplaces = [\"a/{b,c}.md\"]", `f:3:11: convention.places: "a/{b,c}.md" has braces, brackets or a backslash: write a place for each, with * and ** alone`, ""},
		{"a place everywhere", "[[convention]]\nid = \"a\"\nplaces = [\"**/a.md\"]", `f:3:11: convention.places: "**/a.md" would search all of a root: begin with a directory`, ""},
		{"a place without a file", "[[convention]]\nid = \"a\"\nplaces = [\"a/**\"]", `f:3:11: convention.places: "a/**" names no file: write "a/**/*" for all below`, ""},
		{"a convention of nobody", "[[convention]]\nid = \"a\"\nplaces = [\"p\"]\nkind = \"command\"", `f:1:1: convention "a" has no readers: name the agents that read it, like readers = ["codex"]`, "[["},
		{"a convention of nothing", "[[convention]]\nid = \"a\"\nplaces = [\"p\"]\nreaders = [\"r\"]", `f:1:1: convention "a" has no kind: say what they are: instruction_file, skill, subagent, command, hook, mcp_config`, "[["},
		{"globs of no field", "[[convention]]\nid = \"a\"\nplaces = [\"p\"]\nreaders = [\"r\"]\nkind = \"command\"\nmode = \"glob\"", `f:1:1: convention "a" has no globs_key: name the field of the front matter that holds them, since mode is "glob"`, "[["},
		{"quiet above max_wait", `watch.quiet = "1s"`, `f:1:16: watch.max_wait (150ms) is shorter than watch.quiet (1s): a batch of events waits at least for one quiet time`, "1s"},
		{"one above all", `snapshot.max_bytes = 7`, `f:1:22: snapshot.max_bytes (7B) is less than snapshot.max_resource_bytes (256KiB): all resources together need room for at least one`, "7"},

		{"not TOML", "a = \"x\nb = 1", `f:1:7: not TOML: strings cannot contain newlines`, ""},
		{"a key twice", "exclude = []\nexclude = []", `f:2:1: not TOML: Key 'exclude' has already been defined.`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := config.Default().Parse("f", test.in)
			var e *config.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *config.Error", err)
			}
			if e.Error() != test.want {
				t.Errorf("got  %s\nwant %s", e, test.want)
			}
			if got := marked(t, e.Excerpt()); test.mark != "" && got != test.mark {
				t.Errorf("the carets stand under %q, want %q\n%s", got, test.mark, e.Excerpt())
			}
		})
	}
}

// TestAllProblems: every problem is told, in the order of the text, and each once.
func TestAllProblems(t *testing.T) {
	err := config.Default().Parse("f", `exclude = "x"
limits = {tme = 1, fuel = "x"}
[watch]
quiet = "1s"
[snapshot]
max_bytes = "x"
[[plugin]]
name = "a"
rank = "x"
[[plugin]]
rank = "y"
[[plugin]]
name = "a"
rnk = 1`)
	var got []string
	var first *config.Error
	if !errors.As(err, &first) {
		t.Fatalf("%v", err)
	}
	for _, err := range append([]error{first}, first.Unwrap()...) {
		var e *config.Error
		if !errors.As(err, &e) || e.Excerpt() == "" {
			t.Errorf("%v has no place", err)
		}
		place, _, _ := strings.Cut(err.Error(), ": ")
		got = append(got, place+" "+e.Key)
	}
	want := []string{
		"f:1:12 exclude", "f:2:11 limits.tme", "f:2:20 limits.fuel", "f:4:10 watch.quiet", "f:6:14 snapshot.max_bytes",
		"f:9:9 plugin.rank", "f:10:1 plugin", "f:11:9 plugin.rank", "f:13:9 plugin.name", "f:14:1 plugin.rnk",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// TestOneProblem: a value that is wrong isn't held against others, too.
func TestOneProblem(t *testing.T) {
	var e *config.Error
	err := config.Default().Parse("f", "watch.quiet = \"1s\"\nwatch.max_wait = \"soon\"")
	if !errors.As(err, &e) || e.Key != "watch.max_wait" || e.Line != 2 || len(e.Unwrap()) > 0 {
		t.Errorf("%v, and %v", err, e.Unwrap())
	}
}

// TestLocate: what others find wrong has its place in the last file that sets it.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, text := range map[string]string{"a": "[push]\nurl = \"unix:/a\"\n", "b": "\npush.url = \"unix:/b\"\n", "c": "exclude = []\n"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	c, err := config.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Locate(errors.New("no"), "push", "url"); e.Error() != files[1]+":2:13: push.url: no" || marked(t, e.Excerpt()) != "unix:/b" {
		t.Errorf("%s\n%s", e, e.Excerpt())
	}
	if e := c.Locate(errors.New("no"), "watch", "quiet"); e.Line != 0 || !strings.HasSuffix(e.Error(), ": watch.quiet: no") {
		t.Errorf("of no file: %s", e)
	}
}

// marked returns what the carets of an excerpt stand under.
func marked(t *testing.T, excerpt string) string {
	t.Helper()
	lines := strings.Split(excerpt, "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("an excerpt has two lines, not:\n%s", excerpt)
	}
	start := strings.IndexByte(lines[1], '^')
	span := strings.Count(lines[1], "^")
	text := []rune(lines[0])
	if start < 0 || start > len(text) {
		t.Fatalf("no caret in:\n%s", excerpt)
	}
	return string(text[start:min(start+span, len(text))])
}

func TestExcerptIsSafeForATerminal(t *testing.T) {
	err := config.Default().Parse("f", "\texclude = [\"é\x1b[31m\"]")
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(e.Error()+e.Excerpt(), "\x1b") {
		t.Errorf("an escape character gets through: %q", e.Error()+e.Excerpt())
	}
}

func TestNoSecretInErrors(t *testing.T) {
	for _, in := range []string{
		`push.url = "https://user:hunter2@hub.example.com"`,
		"push.url = \"https://user:hunter2@hub.example.com\"\nexclde = []",
	} {
		err := config.Default().Parse("f", in)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

// FuzzParse: no text makes the parser panic, every error has a position inside
// the text, and what is accepted is accepted again on top of itself.
func FuzzParse(f *testing.F) {
	f.Add("exclude = [\"a\"]\n[limits]\ntime = \"1s\"")
	f.Add("[[plugin]]\nname = 'a'\nconfig.x = {a = [1, {b = 2}]}\n[[plugin]]\nname = \"\"\"\n[[plugin]]\n\"\"\"\nrnk = 1")
	f.Add("plugin = [{name = 'x', limits = {opens = 0}}]")
	f.Add("a.b.c = 1\nb = 2020-01-01\nbuiltin.config.x.y = nan")
	f.Add("exclude = [\"\xff\"]")
	f.Fuzz(func(t *testing.T, text string) {
		c := config.Default()
		err := c.Parse("f", text)
		if err == nil {
			if err := c.Parse("f", text); err != nil {
				t.Fatalf("accepted once, then: %v", err)
			}
			return
		}
		var e *config.Error
		if !errors.As(err, &e) {
			t.Fatalf("not a *config.Error: %v", err)
		}
		if lines := strings.Count(text, "\n") + 1; e.Line > lines || e.Line > 0 && e.Col < 1 {
			t.Fatalf("position %d:%d in a text of %d lines", e.Line, e.Col, lines)
		}
		if strings.ContainsAny(e.Error(), "\n\x1b") {
			t.Fatalf("more than one line, or an escape character: %q", e.Error())
		}
		e.Excerpt()
	})
}
