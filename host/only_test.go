package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// TestOnly: one resolver of a module runs alone, and after Reconfigure another,
// or all.
func TestOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "builtin.wasm")
	if err := os.WriteFile(file, builtin(t), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := host.Options{
		PluginFiles: []string{file}, Only: []string{"context"}, NoMemo: true,
		Roots: []host.RootSpec{{Path: vfstest.Build(t, []string{"AGENTS.md = text", ".mcp.json = {}"})}},
	}
	h := newHost(t, opts)
	resolvers := func() []string {
		t.Helper()
		report, err := h.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, o := range report.Outcomes {
			list = append(list, o.Resolver)
		}
		return list
	}
	if got := resolvers(); !slices.Equal(got, []string{"waymark/context"}) {
		t.Errorf("at first: %v", got)
	}
	for _, only := range [][]string{{"hooks"}, {"context", "mcp-config"}, nil} {
		opts.Only = only
		if err := h.Reconfigure(t.Context(), testOptions(opts)); err != nil {
			t.Fatal(err)
		}
		got := resolvers()
		slices.Sort(got)
		want := append([]string(nil), only...)
		if only == nil {
			want = []string{"context", "hooks", "mcp-config"}
		}
		if strings.Join(got, " ") != "waymark/"+strings.Join(want, " waymark/") {
			t.Errorf("only %v: %v", only, got)
		}
	}
}

// TestUsage: an outcome tells what the run has used, and what it has looked at
// as far as that may be told.
func TestUsage(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"docs/a.md = 12345", ".mcp.json = ghp_aToken"})
	h, _ := dropin(t, dir, map[string]any{"row": []string{"instruction_file|docs/a.md|docs/a.md"}}, host.Options{}, plugin.Entry{})
	report, err := h.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, tokens := outcomeOf(t, report, "dropin/rows"), outcomeOf(t, report, "dropin/tokens")
	if rows.Memory < 1<<16 || rows.Memory%(1<<16) != 0 || rows.Used.ReadBytes != 5 || rows.Used.Entries < 1 {
		t.Errorf("memory %d, used %+v", rows.Memory, rows.Used)
	}
	shown, withheld := rows.Observed()
	at := slices.IndexFunc(shown, func(d vfs.Dep) bool { return d.Path == "docs/a.md" && d.Kind == vfs.DepRead })
	if at < 0 || withheld != 0 || len(shown) != len(rows.Trace) {
		t.Errorf("observed %+v, %d withheld", shown, withheld)
	}
	shown, withheld = tokens.Observed()
	for _, d := range shown {
		if d.Path != "." || d.Target != "" {
			t.Errorf("a resolver that reads everything may not have %+v shown", d)
		}
	}
	if withheld == 0 || len(tokens.Trace) < withheld {
		t.Errorf("%d of %d withheld", withheld, len(tokens.Trace))
	}
	if tokens.LogsDropped == 0 {
		t.Error("its log lines are withheld, and should be counted")
	}
}

func outcomeOf(t *testing.T, report *host.Report, resolver string) *resolve.Outcome {
	t.Helper()
	for i := range report.Outcomes {
		if report.Outcomes[i].Resolver == resolver {
			return &report.Outcomes[i]
		}
	}
	t.Fatalf("there is no %s", resolver)
	return nil
}

// TestConfigure: the options say what the configuration says.
func TestConfigure(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plugin.toml")
	err := os.WriteFile(file, []byte(`exclude = ["vendor/**"]
[builtin]
disable = ["skills"]
[builtin.config.context]
file_names = ["X.md"]
[limits]
time = "3s"
fuel = 5000000
memory = "1MiB"
response = "2KiB"
logs = "3KiB"
opens = 6
read_bytes = "7KiB"
entries = 8
[snapshot]
max_resource_bytes = "9KiB"
max_bytes = "10KiB"
max_resources = 11
[watch]
quiet = "12ms"
max_wait = "130ms"
recheck = "14s"
[[plugin]]
name = "acme"
reads = ["a/**"]
rank = 3
config.one = { key = "value" }
limits = { opens = 2, time = "1s" }
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts := host.Options{CacheDir: "stays", PluginDirs: []string{"stays"}, Plugins: []plugin.Entry{{Name: "goes"}}}
	opts.Configure(c)
	checks := map[string]bool{
		"exclude": slices.Equal(opts.Exclude, []string{"vendor/**"}),
		"builtin": slices.Equal(opts.DisableBuiltin, []string{"skills"}) && string(opts.BuiltinConfig["context"]) == `{"file_names":["X.md"]}`,
		"limits": opts.Limits.Time == 3*time.Second && opts.Limits.Fuel == 5_000_000 && opts.Limits.Memory == 1<<20 &&
			opts.Limits.Response == 2<<10 && opts.Limits.Logs == 3<<10,
		"file limits": opts.FileLimits == vfs.Limits{Opens: 6, ReadBytes: 7 << 10, Entries: 8},
		"caps":        opts.Caps.MaxResourceBytes == 9<<10 && opts.Caps.MaxBytes == 10<<10 && opts.Caps.MaxResources == 11,
		"watch":       opts.Watch.Quiet == 12*time.Millisecond && opts.Watch.MaxWait == 130*time.Millisecond && opts.Watch.Recheck == 14*time.Second,
		"the rest":    opts.CacheDir == "stays" && slices.Equal(opts.PluginDirs, []string{"stays"}),
	}
	for what, ok := range checks {
		if !ok {
			t.Errorf("%s: %+v", what, opts)
		}
	}
	if len(opts.Plugins) != 1 {
		t.Fatalf("plugins %+v", opts.Plugins)
	}
	p := opts.Plugins[0]
	if p.Name != "acme" || p.Rank != 3 || !slices.Equal(p.Reads, []string{"a/**"}) || string(p.Config["one"]) != `{"key":"value"}` ||
		p.Limits.Time != time.Second || p.FileLimits.Opens != 2 || p.FileLimits.Entries != 0 {
		t.Errorf("plugin %+v", p)
	}
}
