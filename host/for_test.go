package host_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host"
	"waymark/host/applicability"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// forHost is a Host that has looked at a working directory, and at others before it.
func forHost(t testing.TB, dir string, opts host.Options, others ...host.RootSpec) *host.Host {
	t.Helper()
	opts.Builtin = module(builtin(t))
	opts.Roots = append(others, host.RootSpec{Path: dir})
	h := newHost(t, opts)
	refresh(t, h)
	return h
}

// applied spells an answer: a line for each item, with a minus where it doesn't apply.
func applied(a *applicability.Answer, dir string) string {
	var out strings.Builder
	for _, i := range a.Items {
		sign := "+"
		if !i.Applies {
			sign = "-"
		}
		_, _ = fmt.Fprintf(&out, "%s %s (%s: %s)\n", sign, relative(i.Path, dir), i.Mode, relative(i.Reason, dir))
	}
	for _, w := range a.Warnings {
		_, _ = fmt.Fprintln(&out, "!", w)
	}
	return out.String()
}

func mustFor(t testing.TB, h *host.Host, path string) *applicability.Answer {
	t.Helper()
	a, err := h.For(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const forTop = `+ AGENTS.md (always: always, for all files of the workspace)
+ replit.md (always: always, for all files of the workspace)
+ .claude/skills/deploy (always: always, for all files of the workspace; loaded when its description fits)
+ .claude/agents/judge.md (always: always, for all files of the workspace; called when its description fits)
+ mine/AGENTS.md (always: always, for all files: it is of mine)
`

const forModes = `- .cursor/rules/hand.mdc (manual: only when somebody names it)
- .cursor/rules/model.mdc (model: the model decides, by its description)
`

// TestFor: nearest first, with the reason; then what doesn't apply.
func TestFor(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{
		"w/AGENTS.md = top", "w/replit.md = replit", "w/.cursor/rules/go.mdc = ---\nglobs: '**/*.go'\n---\n",
		"w/.cursor/rules/ts.mdc = ---\nglobs: src/**/*.ts,lib/**\n---\n", "w/.cursor/rules/hand.mdc = ---\n---\n",
		"w/.cursor/rules/model.mdc = ---\ndescription: when testing\n---\n",
		"w/.claude/skills/deploy/SKILL.md = ---\nname: deploy\ndescription: how\n---\n",
		"w/.claude/agents/judge.md = ---\nname: judge\ndescription: judges\n---\n",
		"w/src/AGENTS.md = src", "w/src/replit.md = at the top only", "w/src/CLAUDE.md = claude", "w/src/x/AGENTS.md = not on the way",
		"w/src/api/.claude/rules/style.md = ---\npaths: ['*.go', 'v1/']\n---\n", "w/src/api/.claude/commands/git/push.md = push",
		"w/src/api/v1/x.go = x", "w/src/api/CLAUDE.md -> ../AGENTS.md", "w/other/AGENTS.md = other",
		"w/link -> src/api", "mine/AGENTS.md = mine", "alias -> w",
	})
	w := filepath.Join(dir, "w")
	h := forHost(t, w, host.Options{}, host.RootSpec{Path: filepath.Join(dir, "mine"), Source: true})
	const goRule = "+ .cursor/rules/go.mdc (glob: **/*.go matches)\n"
	const noGo = "- .cursor/rules/go.mdc (glob: its glob doesn't match: **/*.go)\n"
	const noTS = "- .cursor/rules/ts.mdc (glob: no glob matches: src/**/*.ts, lib/**)\n"
	const push = "+ src/api/.claude/commands/git/push.md (always: always, for files below src/api; run when somebody calls it)\n"
	// A nested file that is a link to one further up is that one, where it is nearest.
	const api = "+ src/api/CLAUDE.md (always: always, for files below src/api)\n"
	const style = "+ src/api/.claude/rules/style.md (glob: %s matches, below src/api)\n"
	const srcClaude = "+ src/CLAUDE.md (always: always, for files below src)\n"
	const src = "+ src/AGENTS.md (always: always, for files below src)\n" + srcClaude
	inAPI := func(glob string) string {
		return fmt.Sprintf(style, glob) + api + push + srcClaude + goRule + forTop + forModes + noTS
	}
	tests := []struct{ path, want string }{
		{"README", forTop + noGo + forModes + noTS},
		{".", forTop + noGo + forModes + noTS},
		{"src/api/main.go", inAPI("*.go")},
		{"src/api/v1/x.go", inAPI("v1/")},
		{"link/main.go", inAPI("*.go")},          // where a directory's link leads
		{"../alias/link/main.go", inAPI("*.go")}, // and one on the way to the root
		{"x/../src/none/../api/main.go", inAPI("*.go")},
		{"src", src + forTop + noGo + forModes + noTS}, // what a directory holds
		{"src/none/", src + forTop + noGo + forModes + noTS},
		{"src/none/there/a.ts", src + strings.Replace(forTop, "+ AGENTS", "+ .cursor/rules/ts.mdc (glob: src/**/*.ts matches)\n+ AGENTS", 1) + noGo + forModes},
		{"src/AGENTS.md/x.txt", src + forTop + noGo + forModes + noTS}, // below a file: as if it were
	}
	for _, tt := range tests {
		a := mustFor(t, h, w+"/"+tt.path)
		if got := applied(a, dir); strings.ReplaceAll(got, "w/", "") != strings.ReplaceAll(tt.want, "w/", "") {
			t.Errorf("%s:\n%s\nwant\n%s", tt.path, got, tt.want)
		}
		if a.Path != w+"/"+tt.path || a.Root != w {
			t.Errorf("%s: path %s, root %s", tt.path, a.Path, a.Root)
		}
	}
	// A root that the path lies in and that isn't the working directory counts where that
	// has it not.
	a := mustFor(t, h, filepath.Join(dir, "mine/x/y"))
	if a.Root != filepath.Join(dir, "mine") || a.Items[0].Path != "AGENTS.md" || !strings.Contains(applied(a, dir), "for all files: it is of w)") {
		t.Errorf("in a source:\n%s %s", a.Root, applied(a, dir))
	}
	item, err := json.Marshal(mustFor(t, h, w+"/src/a").Items[0])
	want := `{"id":"instruction_file:` + w + `/src/AGENTS.md","kind":"instruction_file","path":"src/AGENTS.md","name":"","mode":"always",` +
		`"applies":true,"reason":"always, for files below src","bytes":3,"tokens":1}`
	if err != nil || string(item) != want {
		t.Errorf("got  %s, %v\nwant %s", item, err, want)
	}
}

// TestForNestedNow: what lies between is read when it is asked for, and an operator's word
// holds there as at the top.
func TestForNestedNow(t *testing.T) {
	t.Parallel()
	w := vfstest.Build(t, []string{"a/b/", "AGENTS.md = top"})
	opts := host.Options{Exclude: []string{"a/b/CLAUDE.md"}, BuiltinNames: map[string]map[string]string{"context": {"SKILL.md": "HOW.md"}},
		BuiltinConfig: map[string][]byte{"context": []byte(`{"meta_file":"HOW.md"}`)}}
	opts.Conventions.Disabled = []string{"gemini-md"}
	h := forHost(t, w, opts)
	for name, text := range map[string]string{
		"a/b/AGENTS.md": "new", "a/b/CLAUDE.md": "excluded", "a/b/GEMINI.md": "switched off",
		"a/.agents/skills/x/HOW.md": "---\nname: x\ndescription: d\n---\n", "a/.agents/skills/y/SKILL.md": "---\nname: y\ndescription: d\n---\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(w, name)), 0o700), os.WriteFile(filepath.Join(w, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, i := range mustFor(t, h, w+"/a/b/c").Items {
		got = append(got, i.Path)
	}
	if strings.Join(got, " ") != "a/b/AGENTS.md a/.agents/skills/x AGENTS.md" {
		t.Errorf("got %q", got)
	}
}

// TestForRefused: what isn't in the workspace, or is secret, gets no answer, and the error
// says nothing that wasn't asked.
func TestForRefused(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{
		"w/AGENTS.md = top", "w/.git/config = SECRET", "w/.env = SECRET", "w/src/.ssh/id = SECRET", "w/.vscode/mcp.json = {}",
		"w/out -> ../away", "w/gone -> ../none", "w/git -> .git", "w/loop -> loop", "w/secret.txt -> .env", "away/AGENTS.md = SECRET",
	})
	w := filepath.Join(dir, "w")
	h := forHost(t, w, host.Options{})
	tests := []struct {
		path string
		want error
	}{
		{"relative", applicability.ErrPath}, {"", applicability.ErrPath}, {w + "/a\x00b", applicability.ErrPath}, {w + "/a\xffb", applicability.ErrPath},
		{w + strings.Repeat("/x", 3000), applicability.ErrPath},
		{dir + "/away/x", applicability.ErrOutside}, {"/", applicability.ErrOutside}, {w + "/../away/x", applicability.ErrOutside}, {w + "/out/x", applicability.ErrOutside},
		{w + "/out/deep/none/x", applicability.ErrOutside}, {w + "/gone/x", applicability.ErrOutside}, {w + "2/x", applicability.ErrOutside},
		{w + "/.git/config", applicability.ErrSecret}, {w + "/.git", applicability.ErrSecret}, {w + "/.git/none/x", applicability.ErrSecret}, {w + "/.env", applicability.ErrSecret},
		{w + "/none/.env", applicability.ErrSecret}, {w + "/src/.ssh/id", applicability.ErrSecret}, {w + "/git/config", applicability.ErrSecret}, {w + "/git/none", applicability.ErrSecret},
		{w + "/loop/x", nil}, {w + "/secret.txt", nil}, {w + "/out", nil}, {w + "/.vscode/mcp.json", nil},
	}
	for _, tt := range tests {
		a, err := h.For(t.Context(), tt.path)
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", tt.path, err, tt.want)
			continue
		}
		if err == nil {
			if got := applied(a, w); got != "+ AGENTS.md (always: always, for all files of the workspace)\n" {
				t.Errorf("%s: %s", tt.path, got)
			}
			continue
		}
		if text := strings.ReplaceAll(err.Error(), tt.path, ""); strings.Contains(text, "away") || strings.Contains(text, "none") || strings.Contains(text, "config") {
			t.Errorf("%s: the error tells more than was asked: %s", tt.path, text)
		}
	}
}

// TestForHostile: what lies between the root and the file is guarded as all else is.
func TestForHostile(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{
		"w/AGENTS.md = top", "away/AGENTS.md = SECRET", "away/skills/x/SKILL.md = ---\nname: SECRET\n---\n", "w/.env = SECRET",
		"w/a/AGENTS.md -> ../../away/AGENTS.md", "w/a/CLAUDE.md |", "w/a/GEMINI.md # 9000000", "w/a/WARP.md -> ../.env",
		"w/a/.agents/skills -> ../../../away/skills", "w/a/.claude/rules -> ..", "w/a/.cursor ^", "w/a/.goosehints -> .goosehints",
		"w/a/[x]*{y}/AGENTS.md = odd", "w/a/xxy/AGENTS.md = not on the way", "w/a/b/.claude -> ../../.claude", "w/.claude/commands/top.md = top",
		"w/a/.claude/CLAUDE.md = ok",
	})
	w := filepath.Join(dir, "w")
	var log logBuffer
	h := forHost(t, w, host.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	a := mustFor(t, h, w+"/a/x")
	if got, want := applied(a, w), `+ a/.claude/CLAUDE.md (always: always, for files below a)
+ AGENTS.md (always: always, for all files of the workspace)
+ .claude/commands/top.md (always: always, for all files of the workspace; run when somebody calls it)
- a/.goosehints (always: unreadable: too many links)
- a/AGENTS.md (always: invalid: the link escapes the root)
- a/CLAUDE.md (always: unreadable: not a regular file)
- a/GEMINI.md (always: oversize: 9000000 bytes, at most 262144 are kept)
- a/.agents/skills (always: invalid: the link escapes the root)
! dropped "a/WARP.md": it is not in the resolver's reads, or hidden
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text, err := json.Marshal(a)
	if err != nil || bytes.Contains(text, []byte("SECRET")) || bytes.Contains(text, []byte("away")) || strings.Contains(log.String(), "SECRET") {
		t.Errorf("it tells what isn't for anyone: %s, %v\n%s", text, err, log.String())
	}
	// Names that are patterns are those directories alone.
	if got := applied(mustFor(t, h, w+`/a/[x]*{y}/f`), w); !strings.HasPrefix(got, `+ a/[x]*{y}/AGENTS.md (always: always, for files below a/[x]*{y})`) || strings.Contains(got, "xxy") {
		t.Errorf("odd names:\n%s", got)
	}
	// What a link further in leads to is listed once, where it is nearest.
	if got := applied(mustFor(t, h, w+"/a/b/f"), w); !strings.HasPrefix(got, "+ a/b/.claude/commands/top.md (always: always, for files below a/b;") || strings.Count(got, "top.md") != 1 {
		t.Errorf("a linked directory:\n%s", got)
	}
}

// TestForDeep: of a path of a thousand directories the first 64 below the root are looked
// into, and the answer says that the others aren't.
func TestForDeep(t *testing.T) {
	t.Parallel()
	w := vfstest.Build(t, []string{"AGENTS.md = top", strings.Repeat("d/", 64) + "AGENTS.md = 64", strings.Repeat("d/", 65) + "AGENTS.md = 65",
		strings.Repeat("d/", 1000) + "AGENTS.md = 1000", strings.Repeat(strings.Repeat("x", 240)+"/", 4) + "AGENTS.md = long"})
	h := forHost(t, w, host.Options{})
	deep := "+ " + strings.Repeat("d/", 64) + "AGENTS.md (always: always, for files below " + strings.Repeat("d/", 63) + "d)\n" +
		"+ AGENTS.md (always: always, for all files of the workspace)\n"
	const bound = "more than 64 below the root, or with a path of more than 960 bytes\n"
	tests := []struct{ path, want string }{
		{strings.Repeat("d/", 64) + "f", deep},
		{strings.Repeat("d/", 65) + "f", deep + "! 1 directory is not looked into: " + bound},
		{strings.Repeat("d/", 1000) + "f", deep + "! 936 directories are not looked into: " + bound},
		{strings.Repeat("d/", 1900) + "f", deep + "! 936 directories are not looked into: " + bound}, // those that are there
		{strings.Repeat("none/", 800) + "f", "+ AGENTS.md (always: always, for all files of the workspace)\n"},
		{strings.Repeat(strings.Repeat("x", 240)+"/", 4) + "f", "+ AGENTS.md (always: always, for all files of the workspace)\n! 1 directory is not looked into: " + bound},
	}
	for _, tt := range tests {
		if got := applied(mustFor(t, h, w+"/"+tt.path), w); got != tt.want {
			t.Errorf("%d names: got\n%s\nwant\n%s", strings.Count(tt.path, "/"), got, tt.want)
		}
	}
}

// forUsed is what the last answer has read, as the log says it.
func forUsed(t *testing.T, log *logBuffer) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if _, rest, ok := strings.Cut(lines[i], "looked into directories for one file"); ok {
			used, _, _ := strings.Cut(rest, " took=")
			return used
		}
	}
	t.Fatalf("nothing was looked into:\n%s", log.String())
	return ""
}

// TestForNothingWalked: what an answer looks at is the same whatever else the tree holds,
// beside the file, below the directories on the way, and elsewhere.
func TestForNothingWalked(t *testing.T) {
	t.Parallel()
	used := map[string]string{}
	for _, size := range []int{0, testenv.Rounds(50, 400, 400)} {
		lines := []string{"AGENTS.md = top", "a/AGENTS.md = a", "a/b/.cursor/rules/x.mdc = ---\nalwaysApply: true\n---\n", "a/b/c/f.go = f"}
		for i := range size {
			lines = append(lines, fmt.Sprintf("a/b/c/%d.go = x", i), fmt.Sprintf("a/dir%d/AGENTS.md = x", i), fmt.Sprintf("a/b/%d/CLAUDE.md = x", i), fmt.Sprintf("e/%d = x", i))
		}
		w := vfstest.Build(t, lines)
		var log logBuffer
		h := forHost(t, w, host.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		for _, path := range []string{"a/b/c/f.go", "a/b/none", "a/x"} {
			a := mustFor(t, h, w+"/"+path)
			key := path + "\n" + applied(a, w)
			now := forUsed(t, &log)
			if before, known := used[key]; known && before != now || !known && size > 0 {
				t.Errorf("%s: %s with %d files more, %s without", path, now, 4*size, before)
			}
			used[key] = now
			t.Logf("%s:%s", path, now)
		}
	}
	if len(used) != 3 {
		t.Errorf("the answers differ: %v", used)
	}
}

// BenchmarkFor: an answer on a tree of 30,000 files, four directories deep.
func BenchmarkFor(b *testing.B) {
	dir := b.TempDir()
	for i := range 30_000 {
		name := filepath.Join(dir, fmt.Sprintf("p%d/src/d%d/e%d/f%d.go", i%30, i/30%10, i/300%10, i))
		if i < 3000 {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, []byte("package x"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "p1/AGENTS.md", "p1/src/CLAUDE.md", "p1/src/.cursor/rules/go.mdc", ".claude/skills/x/SKILL.md", ".cursor/rules/go.mdc"} {
		path := filepath.Join(dir, name)
		text := "---\nname: x\ndescription: y\nglobs: '**/*.go'\n---\ntext\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	h := benchHost(b, host.Options{Roots: []host.RootSpec{{Path: dir}}})
	refresh(b, h)
	path := filepath.Join(dir, "p1/src/d1/e1/f331.go")
	if a := mustFor(b, h, path); len(a.Items) != 7 || a.Items[0].Kind != abi.KindInstructionFile {
		b.Fatalf("got\n%s", applied(a, dir))
	}
	var took []time.Duration
	for b.Loop() {
		h.Settle(b.Context()) // questions come one at a time
		took = append(took, timed(func() { mustFor(b, h, path) }))
	}
	report(b, "for", median(took))
}
