package goisms

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is a program whose commands are walked.
type Program struct {
	Root *cobra.Command
	// Run runs one command line and returns all that it has printed.
	Run func(ctx context.Context, args []string) string
	// Long are commands that would go on for long, by their path without the
	// program's name: they are told to stop before they begin.
	Long []string
	// Files are files to name besides those that everybody knows, by name.
	Files map[string]string
}

// Walk calls every command with hostile values in place of each argument, and
// for each flag in turn. The working directory is a new one.
func (p *Program) Walk(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(dir, strings.ToLower(name)))
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	w := walker{Program: p, t: t, values: hostile(t, dir, p.Files), seen: map[string]bool{}}
	w.walk(p.Root, nil)
	t.Logf("%d command lines", w.lines)
}

type walker struct {
	*Program
	t      *testing.T
	values []string
	seen   map[string]bool // flags, by name and usage
	lines  int
}

var placeholder = regexp.MustCompile(`^[A-Z][A-Z0-9_|]*…?$`)

func (w *walker) walk(cmd *cobra.Command, path []string) {
	for _, sub := range cmd.Commands() {
		if name := sub.Name(); name != "completion" && name != "help" {
			w.walk(sub, append(slices.Clone(path), name))
		}
	}
	if cmd.RunE == nil && cmd.Run == nil {
		return
	}
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if placeholder.MatchString(word) {
			names = append(names, word)
		}
	}
	args := slices.Repeat([]string{"x"}, len(names))
	w.try(path, nil)
	w.try(path, append(slices.Clone(args), "more", "and more"))
	w.try(path, append(slices.Clone(args), "--no-such-flag", "-?"))
	for i := range args {
		for _, value := range w.values {
			hostile := slices.Clone(args)
			hostile[i] = value
			w.try(path, append([]string{"--"}, hostile...))
		}
	}
	try := func(f *pflag.Flag) {
		id := f.Name + ": " + f.Usage
		if f.Name == "help" || w.seen[id] {
			return
		}
		w.seen[id] = true
		for _, value := range w.values {
			w.try(path, append([]string{"--" + f.Name + "=" + value}, args...))
		}
	}
	cmd.LocalFlags().VisitAll(try)
	cmd.InheritedFlags().VisitAll(try)
}

// try runs one command line.
func (w *walker) try(path, args []string) {
	w.t.Helper()
	w.lines++
	if w.lines%share != 0 {
		return
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	if slices.Contains(w.Long, strings.Join(path, " ")) {
		cancel()
	}
	out := w.Run(ctx, append(slices.Clone(path), args...))
	for _, find := range []func(string) string{Find, FindRequest, findControl} {
		if found := find(out); found != "" {
			w.t.Errorf("%q prints %q:\n%s", append(slices.Clone(path), args...), found, out)
		}
	}
}

// findControl returns a character that a terminal would act on.
func findControl(out string) string {
	i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	if i < 0 {
		return ""
	}
	return out[i : i+1]
}

// hostile returns values that nobody expects.
func hostile(t *testing.T, dir string, files map[string]string) []string {
	t.Helper()
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"version":"x","pid":[],"id":{},"plugins":3}`))
	})
	strange := httptest.NewServer(answers)
	t.Cleanup(strange.Close)
	sockets, err := os.MkdirTemp("", "s") // the path of a test's directory may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	listener, err := net.Listen("unix", filepath.Join(sockets, "s"))
	if err != nil {
		t.Fatal(err)
	}
	onSocket := &http.Server{Handler: answers}
	go func() { _ = onSocket.Serve(listener) }()
	t.Cleanup(func() { _ = onSocket.Close() })
	values := []string{
		"", " ", "-1", "nonsense", "9223372036854775808", "1e400", "3h30", "\xff\xfe", "a\nb", "\x1b[31m", strings.Repeat("x", 5000),
		dir, filepath.Join(dir, "missing"), "/dev/null", "/proc/self/mem/x",
		"unix:" + filepath.Join(sockets, "none"), "unix:" + filepath.Join(sockets, "s"), "tcp:127.0.0.1:1", "tcp:x", "127.0.0.1:99999", "nohost.invalid:0",
		"http://127.0.0.1:1", "https://127.0.0.1:1", strange.URL, "http://a b/", "http://%zz/", "ftp://x",
		"postgres://127.0.0.1:1/x?connect_timeout=1", "postgres://%zz", "sqlite:" + filepath.Join(dir, "missing", "db"),
	}
	all := map[string]string{
		"half": `{"a":`, "wrong": `{"sources":3,"plugins":"x","path":[],"version":1}`, "list": `[1,2`,
		"wrong toml": "limits = 3\n[push]\nurl = 7\n", "half toml": "[", "text": "\x00\xff nonsense\n", "empty": "",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		values = append(values, path, "sqlite:"+path)
	}
	slices.Sort(values[len(values)-2*len(all):])
	return values
}

// Bodies are JSON bodies that nobody expects, for an API whose bodies have these
// fields.
func Bodies(fields ...string) []string {
	bodies := []string{"", "{", "[]", "3", `"x"`, "null", "nonsense", "{}x", `{"no_such_field":1}`, "\xff", `{"a":"\ud800"}`, strings.Repeat("[", 20_000)}
	for _, field := range fields {
		for _, value := range []string{"3", "-1.5", `"x"`, "true", "null", "[]", "[3]", "{}", `{"x":[1]}`, "1e400", `"\u0000"`} {
			bodies = append(bodies, fmt.Sprintf("{%q:%s}", field, value))
		}
		bodies = append(bodies, fmt.Sprintf("{%q:1,%q:2}", field, field))
	}
	return bodies
}

// Values are values of queries that nobody expects.
func Values() []string {
	return []string{"", "-1", "x", "9223372036854775808", "1e3", "%zz", "%00", "%FF", "3h30", "soon", "true"}
}
