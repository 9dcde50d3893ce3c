package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// pluginDir makes a plugin directory that holds modules by name.
func pluginDir(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dropin loads testdata/dropin with a configuration of its resolver "rows"
// onto a root.
func dropin(t *testing.T, dir string, table map[string]any, opts host.Options, entry plugin.Entry) (*host.Host, *logBuffer) {
	t.Helper()
	config, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	logs := &logBuffer{}
	entry.Name, entry.Config = "dropin", map[string][]byte{"rows": config}
	opts.Plugins = append(opts.Plugins, entry)
	opts.PluginDirs = []string{pluginDir(t, map[string][]byte{"dropin.wasm": guest(t, "./testdata/dropin")})}
	opts.Roots = append(opts.Roots, host.RootSpec{Path: dir})
	opts.Logger = debugLogger(logs)
	return newHost(t, opts), logs
}

// TestDropInRows: a bad row costs the row, and the warning says which and why.
func TestDropInRows(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{
		"docs/a.md = A", "docs/b\\c = x", "other.md = outside of reads", "docs/dir/x = y", "docs/broken -> nothing",
		"docs/away -> $OUT/secret.txt", "docs/out -> $OUT/dir", "docs/pipe |", "docs/.env = x", "docs/.mcp.json = {}", "docs/to-secret -> .env",
		"docs/to-other -> ../other.md",
	})
	rows := []struct{ row, want, warn string }{
		{"instruction_file|docs/a.md|docs/a.md", "instruction_file:docs/a.md ok", ""},
		{"command|docs/a.md||inline text|globs||k1", "command:docs/a.md#k1 ok", ""},
		{"command|docs/dir|||no content", "command:docs/dir ok", ""},
		{"command|docs/dir|docs/dir||||k2", "command:docs/dir#k2 invalid it is a directory", ""},
		{"command|docs/a.md|||x|invalid|k3", "command:docs/a.md#k3 invalid the resolver gives no reason", ""},
		{"command|docs/broken|docs/broken", "command:docs/broken unreadable the link is broken", ""},
		{"command|docs/broken||inline||invalid|k4", "command:docs/broken#k4 unreadable the link is broken", ""},
		{"command|docs/away|docs/away", "command:docs/away invalid the link escapes the root", ""},
		{"command|docs/away||inline|||k5", "command:docs/away#k5 invalid the link escapes the root", ""},
		{"command|docs/away|||||k6", "command:docs/away#k6 invalid the link escapes the root", ""},
		{"command|docs/out/file|docs/out/file", "command:docs/out/file invalid the link escapes the root", ""},
		{"command|docs/pipe|docs/pipe", "command:docs/pipe unreadable not a regular file", ""},
		{"skill|docs/to-other|docs/to-other", "skill:other.md ok", ""}, // in reads by the path asked for
		{"command|docs/a.md||" + strings.Repeat("x", 257<<10) + "|||big", "command:docs/a.md#big oversize 263168 bytes, at most 262144 are kept", ""},
		{"command|docs/a.md|docs/a.md|||unreadable", "", `dropped "docs/a.md": its status is not for a resolver to give: "unreadable"`},
		{"command|docs/a.md|docs/a.md||long:256||n1", "command:docs/a.md#n1 ok", ""},
		{"command|docs/a.md|docs/a.md||long:257", "", `dropped "docs/a.md": its name is longer than 256 bytes`},
		{"command|docs/a.md|docs/a.md||description", "", `dropped "docs/a.md": its description is longer than 4096 bytes`},
		{"command|docs/a.md|docs/a.md||error", "", `dropped "docs/a.md": its error is longer than 4096 bytes`},
		{"command|docs/a.md|docs/a.md||attributes", "", `dropped "docs/a.md": its attributes have more than 16384 bytes`},
		{"command|docs/a.md|docs/a.md||||" + strings.Repeat("k", 257), "", `dropped "docs/a.md": its key is longer than 256 bytes`},
		{"hook|docs/a.md|docs/a.md", "", `dropped "docs/a.md": its kind is not declared: "hook"; declared are instruction_file, skill, command`},
		{"mcp_server|docs/a.md|docs/a.md", "", `dropped "docs/a.md": its kind is not declared: "mcp_server"; declared are instruction_file, skill, command`},
		{"mcp_config|docs/a.md|docs/a.md", "", `dropped "docs/a.md": its kind is not declared: "mcp_config"; declared are instruction_file, skill, command`},
		{"|docs/a.md", "", `dropped "docs/a.md": its kind is not declared: ""; declared are instruction_file, skill, command`},
		{"command|../out/secret.txt|docs/a.md", "", `dropped "../out/secret.txt": its path is not a clean path relative to the root`},
		{"command|docs/../../x", "", `dropped "docs/../../x": its path is not a clean path relative to the root`},
		{"command|..", "", `dropped "..": its path is not a clean path relative to the root`},
		{"command|/etc/passwd|/etc/passwd", "", `dropped "/etc/passwd": its path is not a clean path relative to the root`},
		{"command|docs/a\x00.md", "", "dropped \"docs/a\ufffd.md\": its path is not a clean path relative to the root"},
		{"command|docs/b\\c|docs/b\\c", "", `dropped "docs/b\\c": its path is not a clean path relative to the root`},
		{"command|docs/./a.md", "", `dropped "docs/./a.md": its path is not a clean path relative to the root`},
		{"command||docs/a.md", "", `dropped "": its path is not a clean path relative to the root`},
		{"command|docs/a.md|../out/secret.txt", "", `dropped "docs/a.md": its content names a path that is not clean and relative to the root`},
		{"command|docs/a.md|/etc/passwd", "", `dropped "docs/a.md": its content names a path that is not clean and relative to the root`},
		{"command|other.md|other.md", "", `dropped "other.md": it is not in the resolver's reads, or hidden`},
		{"command|docs/a.md|other.md", "", `dropped "docs/a.md": it names a file that the resolver may not read`},
		{"command|docs/a.md|docs/.env", "", `dropped "docs/a.md": it names a file that the resolver may not read`},
		{"command|docs/a.md|docs/to-secret", "", `dropped "docs/a.md": it names a file that the resolver may not read`},
		{"command|docs/a.md|docs/.mcp.json", "", `dropped "docs/a.md": it names a file that the resolver may not read`},
		{"command|docs/a.md|docs/missing", "", `dropped "docs/a.md": its content names a file that doesn't exist`},
		{"command|docs/missing", "", `dropped "docs/missing": there is no such file`},
		{"command|docs/a.md/below", "", `dropped "docs/a.md/below": there is no such file`},
	}
	var texts, want, warn []string
	for _, r := range rows {
		texts = append(texts, r.row)
		if r.want != "" {
			want = append(want, r.want)
		}
		if r.warn != "" {
			warn = append(warn, r.warn)
		}
	}
	h, _ := dropin(t, dir, map[string]any{"row": texts}, host.Options{}, plugin.Entry{})
	report := refresh(t, h)
	got := lines(report.Snapshot.Resources, dir)
	slices.Sort(want)
	slices.Sort(got)
	compare(t, "resources", got, want)
	compare(t, "warnings", warnings(report, dir), warn)
	for i := range report.Snapshot.Resources {
		if r := &report.Snapshot.Resources[i]; r.Key == "k1" {
			globs := r.Attributes["globs"]
			if string(r.Payload) != "inline text" || !slices.Equal(globs.List, []string{"**/*.ts", "ab"}) || r.Attributes["mode"].Text != "auto" {
				t.Errorf("%+v", r)
			}
		}
	}
	if p := report.Snapshot.Plugins[0]; p.State != snapshot.PluginReady || p.Error != "" {
		t.Errorf("bad rows cost the plugin: %+v", p)
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s, %d: got %.200q\nwant %.200q", what, i, g, w)
		}
	}
}

// TestDropInTokens: a resolver that reads a token can't tell it.
func TestDropInTokens(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{".mcp.json = " + secret, "a = x", "b = x", "dir/"})
	h, logs := dropin(t, dir, map[string]any{}, host.Options{}, plugin.Entry{})
	report := refresh(t, h)
	compare(t, "resources", lines(report.Snapshot.Resources, dir), []string{
		"mcp_config:.mcp.json ok",
		"mcp_config:a invalid the resolver calls it invalid",
		"mcp_config:b invalid the resolver calls it invalid",
		"mcp_config:dir invalid it is a directory",
	})
	compare(t, "warnings", warnings(report, dir), []string{
		"dropped resource 6: its content names a file that doesn't exist",
		"dropped resource 7: its kind is not declared; declared are mcp_config",
		"dropped resource 8: its status is not for a resolver to give",
		"dropped resource 9: its kind is not declared; declared are mcp_config",
		"dropped resource 5: there is no such file",
	})
	if text := allText(t, report, logs); strings.Contains(text, secret) {
		t.Errorf("the token got out: %s", text)
	}
}

// TestDropInFloods: more rows or bytes than one module may have.
func TestDropInFloods(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"AGENTS.md = a"})
	many := testenv.Rounds(10_000, 100_000, 100_000)
	tests := []struct {
		name        string
		table       map[string]any
		response    int
		caps        snapshot.Caps
		ok, exclude int
		reason      string
		warn, err   string
		lost        string
	}{
		{name: "rows", table: map[string]any{"flood": 300}, ok: 200, exclude: 100, reason: "the plugin dropin has more than 200 resources"},
		{name: "bytes", table: map[string]any{"flood": 40, "big": 40}, response: 4 << 20, ok: 25, exclude: 15, reason: "the plugin dropin has more than 1048576 bytes in all"},
		{
			name: "very many rows", table: map[string]any{"flood": many}, response: 16 << 20, ok: 200, exclude: 3800,
			reason: "the plugin dropin has more than 200 resources", warn: fmt.Sprintf("%d resources in one answer; the first 4000 are kept", many),
			lost: fmt.Sprintf("%d resources are not listed: a snapshot has at most 4000 (%[1]d of ", many-4000),
		},
		{
			name: "as many as a snapshot may list", table: map[string]any{"flood": 4001}, response: 16 << 20,
			caps: snapshot.Caps{MaxResources: 4000, DropInResources: 4000}, ok: 4000,
			warn: "4001 resources in one answer; the first 4000 are kept",
			lost: "1 resource is not listed: a snapshot has at most 4000 (1 of ",
		},
		{name: "an answer that is too long", table: map[string]any{"flood": many}, response: testenv.Rounds(256<<10, 0, 0), err: "are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := host.Options{Caps: tt.caps}
			opts.Limits.Response, opts.Limits.Memory = tt.response, 512<<20
			h, _ := dropin(t, dir, tt.table, opts, plugin.Entry{})
			report := refresh(t, h)
			var ok, excluded int
			for _, r := range report.Snapshot.Resources {
				switch r.Status {
				case snapshot.StatusOK:
					ok++
				case snapshot.StatusExcluded:
					excluded++
					if r.Error != tt.reason {
						t.Fatalf("excluded because %s", r.Error)
					}
				}
			}
			if ok != tt.ok || excluded != tt.exclude {
				t.Errorf("%d ok, %d excluded; want %d and %d", ok, excluded, tt.ok, tt.exclude)
			}
			if got := strings.Join(warnings(report, dir), "\n"); got != tt.warn {
				t.Errorf("warnings %q, want %q", got, tt.warn)
			}
			if got := report.Snapshot.SnapshotError; (got != "") != (tt.lost != "") || !strings.HasPrefix(got, tt.lost) || tt.lost != "" && !strings.Contains(got, "of dropin/") {
				t.Errorf("it says of what isn't listed %q, want %q", got, tt.lost)
			}
			p := report.Snapshot.Plugins[0]
			if !strings.Contains(p.Error, tt.err) || (tt.err != "") != (p.State == snapshot.PluginFailing) {
				t.Errorf("plugin %+v", p)
			}
		})
	}
}

// TestDropInOptions: what the operator says about one module.
func TestDropInOptions(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"docs/a.md = A", "docs/b.md = B", "docs/.env = E", "AGENTS.md = built in"})
	table := map[string]any{"row": []string{"command|docs/a.md|docs/a.md", "command|docs/b.md|docs/b.md", "command|docs/.env|docs/.env"}}
	tests := []struct {
		name  string
		entry plugin.Entry
		want  []string
		err   string
	}{
		{"nothing", plugin.Entry{}, []string{"command:docs/a.md ok", "command:docs/b.md ok"}, ""},
		{"narrowed", plugin.Entry{Reads: []string{"docs/b*"}}, []string{"command:docs/b.md ok"}, ""},
		{"granted", plugin.Entry{GrantSecrets: []string{".env*"}}, []string{"command:docs/.env ok", "command:docs/a.md ok", "command:docs/b.md ok"}, ""},
		{"granted what doesn't exist", plugin.Entry{GrantSecrets: []string{"passwords"}}, nil, "is not an entry of the secret list"},
		{"a bad pattern", plugin.Entry{Reads: []string{"["}}, nil, "narrow"},
		{"few files", plugin.Entry{FileLimits: vfs.Limits{Entries: 2}}, nil, "entries = 2"},
		{"a short answer", plugin.Entry{Limits: limitsOf(60)}, nil, "60 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := dropin(t, dir, table, host.Options{}, tt.entry)
			report := refresh(t, h)
			compare(t, "resources", lines(report.Snapshot.Resources, dir), tt.want)
			p := report.Snapshot.Plugins[0]
			if !strings.Contains(p.Error, tt.err) || tt.err == "" && p.Error != "" {
				t.Errorf("plugin %+v, want error %q", p, tt.err)
			}
		})
	}
}
