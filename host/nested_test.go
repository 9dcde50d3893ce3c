package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/config"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// gitIn runs git in a directory.
func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "core.fsync=none", "-c", "init.templateDir="}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

var monorepo = []string{
	"AGENTS.md = top", "main.go = x",
	"services/api/AGENTS.md = api", "services/api/CLAUDE.md = @AGENTS.md", "services/api/.claude/CLAUDE.md = of settings",
	"services/[web]/GEMINI.md = web", "services/api/CRUSH.md = nobody reads it there", "services/api/.cursor/rules/x.mdc = rule",
	"services/secret/AGENTS.md -> ../../.env", ".env = TOKEN=x", "services/out/AGENTS.md -> /etc/hostname",
	"node_modules/p/AGENTS.md = dependency", "web/vendor/x/AGENTS.md = vendored", "third_party/x/AGENTS.md = copied", ".codex/AGENTS.md = settings",
	"1/2/3/4/5/6/7/8/AGENTS.md = deep enough", "1/2/3/4/5/6/7/8/9/AGENTS.md = too deep", "ignored/AGENTS.md = ignored", ".gitignore = ignored/\n",
	"child/AGENTS.md = of a repository of its own", "child/deep/AGENTS.md = below it",
}

var monorepoFinds = []string{
	"instruction_file:1/2/3/4/5/6/7/8/AGENTS.md ok project directory=1/2/3/4/5/6/7/8 mode=glob globs=1/2/3/4/5/6/7/8/**",
	"instruction_file:AGENTS.md ok project",
	"instruction_file:child/AGENTS.md ok project directory=child mode=glob globs=child/**",
	"instruction_file:child/deep/AGENTS.md ok project directory=child/deep mode=glob globs=child/deep/**",
	`instruction_file:services/[web]/GEMINI.md ok project directory=services/[web] mode=glob globs=services/\[web\]/**`,
	"instruction_file:services/api/.claude/CLAUDE.md ok project directory=services/api mode=glob globs=services/api/**",
	"instruction_file:services/api/AGENTS.md ok project directory=services/api mode=glob globs=services/api/**",
	"instruction_file:services/api/CLAUDE.md ok project directory=services/api mode=glob globs=services/api/**",
}

// TestNested: instruction files below the top are listed where git's index has them, each for
// the files of its directory and for who looks there; what was copied, is ignored, or lies too
// deep isn't, and no link leads to a secret.
func TestNested(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, monorepo)
	gitIn(t, filepath.Join(dir, "child"), "init", "-q")
	gitIn(t, filepath.Join(dir, "child"), "add", "-A")
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A", "--", ".", ":!child")
	tree := filepath.Join(t.TempDir(), "linked")
	gitIn(t, dir, "commit", "-q", "-m", "x")
	gitIn(t, dir, "worktree", "add", "-q", tree)
	tree, _ = filepath.EvalSymlinks(tree)
	linked := slices.DeleteFunc(slices.Clone(monorepoFinds), func(line string) bool { return strings.Contains(line, "child/") })
	for _, tt := range []struct {
		name, dir string
		opts      host.Options
		want      []string
	}{
		{"a repository", dir, host.Options{}, monorepoFinds},
		{"a linked work tree", tree, host.Options{}, linked},
		{"off", dir, host.Options{Children: config.ChildrenOff}, monorepoFinds[1:2]},
		{"excluded", dir, host.Options{Exclude: []string{"services", "child/deep"}}, monorepoFinds[:3]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Builtin, tt.opts.Roots = module(builtin(t)), []host.RootSpec{{Path: tt.dir, Children: true}}
			report := refresh(t, newHost(t, tt.opts))
			got := whose(report.Snapshot.Resources, tt.dir)
			got = slices.DeleteFunc(got, func(line string) bool {
				return strings.Contains(line, "services/out") || strings.Contains(line, "services/secret")
			})
			slices.Sort(got)
			compare(t, "resources", got, tt.want)
			for i := range report.Snapshot.Resources {
				r := &report.Snapshot.Resources[i]
				if strings.Contains(r.Source, "/services/") && slices.Contains(r.Readers, "zed") {
					t.Errorf("%s: zed reads nothing there: %v", r.ID(), r.Readers)
				}
				if strings.Contains(string(r.Payload), "TOKEN") || r.Status != snapshot.StatusOK && len(r.Payload) > 0 {
					t.Errorf("%s is shown: %q", r.ID(), r.Payload)
				}
			}
		})
	}
}

// TestNestedLive: what git's index says is followed, whoever writes it.
func TestNestedLive(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"AGENTS.md = top", "a/AGENTS.md = a"})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{{Path: dir, Children: true}}})
	running(t, h)
	step := func(name string, do func(), want string) {
		t.Helper()
		do()
		awaitSnapshot(t, h, name, func(s *snapshot.Snapshot) bool {
			var texts []string
			for i := range s.Resources {
				texts = append(texts, string(s.Resources[i].Payload))
			}
			slices.Sort(texts)
			return strings.Join(texts, " ") == want
		})
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	step("no repository", func() {}, "top")
	step("one", func() { gitIn(t, dir, "init", "-q"); gitIn(t, dir, "add", "-A") }, "a top")
	step("an edit", func() { write("a/AGENTS.md", "b") }, "b top")
	step("not any more", func() { gitIn(t, dir, "rm", "-q", "--cached", "-f", "a/AGENTS.md") }, "top")
	step("again", func() { gitIn(t, dir, "add", "-A") }, "b top")
	step("removed", func() {
		if err := os.Remove(filepath.Join(dir, "a/AGENTS.md")); err != nil {
			t.Fatal(err)
		}
	}, "top")
}

// TestTooManyNested: of many files the first 200 are listed, the least deep ones, and it is
// said how many more there are.
func TestTooManyNested(t *testing.T) {
	t.Parallel()
	lines := []string{"z/AGENTS.md = x"}
	for i := range 220 {
		lines = append(lines, fmt.Sprintf("a/d%03d/AGENTS.md = x", i))
	}
	dir := vfstest.Build(t, lines)
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A")
	report := refresh(t, newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir, Children: true}}}))
	got := whose(report.Snapshot.Resources, dir)
	if len(got) != 200 || !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, ":z/AGENTS.md") }) {
		t.Errorf("%d listed: %v", len(got), got)
	}
	if want := "21 instruction files are not listed below " + dir + ": only the first 200 are"; report.Snapshot.SnapshotError != want {
		t.Errorf("the snapshot says %q, want %q", report.Snapshot.SnapshotError, want)
	}
}
