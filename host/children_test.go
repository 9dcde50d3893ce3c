package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/why"
	"waymark/plugins/conventions"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// whose spells what is found with whose it is and when it applies.
func whose(list []snapshot.Resource, dir string) []string {
	var out []string
	for i := range list {
		r := &list[i]
		line := fmt.Sprintf("%s %s %s", r.ID(), r.Status, r.Scope)
		for _, key := range []string{"directory", "mode", "globs"} {
			if a, ok := r.Attributes[key]; ok {
				line += fmt.Sprintf(" %s=%s%s", key, a.Text, strings.Join(a.List, ","))
			}
		}
		out = append(out, relative(line, dir))
	}
	return out
}

var childTree = []string{
	"AGENTS.md = top",
	"a/.git/HEAD = x", "a/AGENTS.md = a", "a/.mcp.json = {}", "a/.cursorrules = rules",
	"a/.cursor/rules/g.mdc = ---\nglobs: src/*.go, /x/\n---\n", "a/.cursor/rules/m.mdc = manual",
	"a/.claude/skills/s/SKILL.md = ---\nname: s\ndescription: d\n---\n",
	"a/.claude/settings.json = {\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
	"a/deep/.git/HEAD = x", "a/deep/AGENTS.md = too deep", "a/.env = secret",
	"b/.git = gitdir: ../.git/modules/b", "b/CLAUDE.md = b", "b/AGENTS.md -> ../AGENTS.md",
	"skills/.git/HEAD = x", "skills/t/SKILL.md = ---\nname: t\ndescription: d\n---\n", "skills/AGENTS.md = of skills",
	"plain/AGENTS.md = no repository",
	"link -> a", ".hidden/.git/HEAD = x", ".hidden/AGENTS.md = hidden", "node_modules/.git/HEAD = x", "node_modules/AGENTS.md = modules",
	"gone/.git -> ../a/.git", "gone/AGENTS.md = its .git is a link",
	"[x]/.git/HEAD = x", "[x]/AGENTS.md = a name that a glob would take for more",
}

// TestChildren: of directories at the top that are repositories of their own the same
// places are looked at, and what lies there is for their files.
func TestChildren(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, childTree)
	own := []string{"instruction_file:AGENTS.md ok project", "skill:skills/t ok project"}
	listed := []string{
		`hook:a/.claude/settings.json#Stop/0/0 ok project directory=a mode=glob globs=a/**`,
		`instruction_file:[x]/AGENTS.md ok project directory=[x] mode=glob globs=\[x\]/**`,
		"instruction_file:a/.cursor/rules/g.mdc ok project directory=a mode=glob globs=a/src/*.go,a/x/",
		"instruction_file:a/.cursor/rules/m.mdc ok project directory=a mode=manual",
		"instruction_file:a/.cursorrules ok project directory=a mode=glob globs=a/**",
		"instruction_file:a/AGENTS.md ok project directory=a mode=glob globs=a/**",
		"instruction_file:b/CLAUDE.md ok project directory=b mode=glob globs=b/**",
		"instruction_file:skills/AGENTS.md ok project directory=skills mode=glob globs=skills/**",
		"mcp_config:a/.mcp.json ok project directory=a mode=glob globs=a/**",
		"skill:a/.claude/skills/s ok project directory=a mode=glob globs=a/**",
	}
	always := make([]string, len(listed))
	for i, line := range listed {
		if before, _, found := strings.Cut(line, " mode=glob"); found && !strings.Contains(line, ".mdc") {
			line = before
		}
		always[i] = line
	}
	for _, tt := range []struct {
		name string
		opts host.Options
		want []string
	}{
		{"by default", host.Options{}, slices.Concat(own, listed)},
		{"always", host.Options{Children: config.ChildrenAlways}, slices.Concat(own, always)},
		{"off", host.Options{Children: config.ChildrenOff}, own},
		{"one excluded", host.Options{Exclude: []string{"a", "skills/AGENTS.md", `\[x\]/AGENTS.md`}}, append(slices.Clone(own), listed[6])},
		{"an instruction file of another name", host.Options{
			Exclude:       []string{"a", "skills", `\[x\]`},
			BuiltinConfig: map[string][]byte{"context": []byte(`{"file_names":["CLAUDE.md"]}`)},
		}, listed[6:7]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Builtin, tt.opts.Roots = module(builtin(t)), []host.RootSpec{{Path: dir, Children: true}}
			report := refresh(t, newHost(t, tt.opts))
			slices.Sort(tt.want)
			got := whose(report.Snapshot.Resources, dir)
			slices.Sort(got)
			compare(t, "resources", got, tt.want)
			compare(t, "warnings", warnings(report, dir), nil)
			if len(report.Outcomes) != 3 {
				t.Errorf("%d runs: the children are to be in those of the root", len(report.Outcomes))
			}
		})
	}
}

// TestTooManyChildren: of many repositories the first 64 are looked into, of many
// directories the first 256 are watched, and both is said.
func TestTooManyChildren(t *testing.T) {
	t.Parallel()
	lines := []string{"AGENTS.md = top"}
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("d%03d/AGENTS.md = x", i))
		if i < 70 {
			lines = append(lines, fmt.Sprintf("d%03d/.git/HEAD = x", i))
		}
	}
	dir := vfstest.Build(t, lines)
	var logs logBuffer
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Logger: debugLogger(&logs), Watch: slow, Roots: []host.RootSpec{{Path: dir, Children: true}}})
	running(t, h)
	s := awaitSnapshot(t, h, "first", func(s *snapshot.Snapshot) bool { return s.Version > 0 })
	if len(s.Resources) != 1+64 {
		t.Errorf("%d resources", len(s.Resources))
	}
	if want := "6 projects are not looked into in " + dir + ": only the first 64 are"; s.SnapshotError != want {
		t.Errorf("the snapshot says %q, want %q", s.SnapshotError, want)
	}
	status := h.Status()
	if c := status.Children; len(c) != 1 || len(c[0].Names) != 64 || c[0].More != 6 || c[0].Unasked != 44 || c[0].Root != dir {
		t.Errorf("children %+v", c)
	}
	for _, want := range []string{"6 projects are", "44 directories are"} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("the log doesn't say %q", want)
		}
	}
	// The way to the root, the root, each directory for its .git, and a project's .git for its index.
	above := strings.Count(dir, "/")
	for h.Status().Watch.Dirs < above+1+256+64 {
		if t.Context().Err() != nil {
			t.Fatal("not all are watched")
		}
		refresh(t, h)
	}
	if n := h.Status().Watch.Dirs; n > above+1+256+64 {
		t.Errorf("%d directories are watched, want %d", n, above+1+256+64)
	}
}

// TestLinkToChild: what the workspace has by a link to a project of its own is the
// workspace's.
func TestLinkToChild(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"a/.git/HEAD = x", "a/AGENTS.md = a", "AGENTS.md -> a/AGENTS.md"})
	report := refresh(t, newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir, Children: true}}}))
	compare(t, "resources", whose(report.Snapshot.Resources, dir), []string{"instruction_file:a/AGENTS.md ok project"})
}

var homeTree = []string{
	"home/.claude/CLAUDE.md = user", "home/.claude/skills/s/SKILL.md = ---\nname: s\ndescription: d\n---\n",
	"home/.claude/settings.json = {\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
	"home/.claude.json = {\"mcpServers\":{\"a\":{\"command\":\"" + secret + "\"}}}",
	"home/.claude/.credentials.json = " + secret, "home/.codex/auth.json = " + secret, "home/.claude/history.jsonl = " + secret,
	"home/.claude/plugins/cache/m/p/1/skills/x/SKILL.md = ---\nname: x\ndescription: old\n---\n",
	"home/.codex/AGENTS.md = codex", "home/.acme/rules.md = own rules",
	"home/AGENTS.md = a project's, if the home is one", "home/skills/t/SKILL.md = ---\nname: t\ndescription: d\n---\n",
	"work/AGENTS.md = work",
}

var userFinds = []string{
	"hook:home/.claude/settings.json#Stop/0/0 ok user",
	"instruction_file:home/.claude/CLAUDE.md ok user", "instruction_file:home/.codex/AGENTS.md ok user",
	"mcp_config:home/.claude.json ok user", "skill:home/.claude/skills/s ok user",
}

// TestUserScope: of a home directory the places of the table are looked at that are for
// users, and nothing else; by the built-in resolvers alone.
func TestUserScope(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, homeTree)
	user := host.RootSpec{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser, Optional: true}
	project := []string{"instruction_file:work/AGENTS.md ok project"}
	own := conventions.Convention{ID: "acme", Readers: []string{"acme"}, Scope: conventions.ScopeUser, Kind: "instruction_file",
		Places: []string{".acme/rules.md"}, Format: conventions.Markdown, Name: conventions.FromFile, Description: conventions.FromHeading}
	ownProject := own
	ownProject.ID, ownProject.Scope, ownProject.Places = "acme-project", conventions.ScopeProject, []string{".codex/auth.json", ".claude/history.jsonl"}
	for _, tt := range []struct {
		name string
		opts host.Options
		work string
		want []string
	}{
		{"beside a workspace", host.Options{}, "work", append(slices.Clone(project), userFinds...)},
		{"as the workspace", host.Options{}, "home", append([]string{"instruction_file:home/AGENTS.md ok project", "skill:home/skills/t ok project"}, userFinds...)},
		{"with conventions of one's own", configured(own, ownProject), "work",
			append(slices.Clone(project), append(slices.Clone(userFinds), "instruction_file:home/.acme/rules.md ok user")...)},
		{"with a file name of one's own", host.Options{BuiltinConfig: map[string][]byte{"context": []byte(`{"more_file_names":[".bashrc","rules.md"]}`)}}, "work",
			append(slices.Clone(project), userFinds...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var logs logBuffer
			tt.opts.Logger = debugLogger(&logs)
			tt.opts.Builtin, tt.opts.Roots = module(builtin(t)), []host.RootSpec{user, {Path: filepath.Join(dir, tt.work), Children: true}}
			report := refresh(t, newHost(t, tt.opts))
			slices.Sort(tt.want)
			got := whose(report.Snapshot.Resources, dir)
			slices.Sort(got)
			compare(t, "resources", got, tt.want)
			if text := allText(t, report, &logs); strings.Contains(text, secret) {
				t.Error("a secret got out")
			}
		})
	}
}

func configured(own ...conventions.Convention) (opts host.Options) {
	opts.Conventions.Own = own
	return opts
}

// TestBlankHome: where there is nothing for any resolver none is run, and the answers are
// the same.
func TestBlankHome(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"home/.bashrc = x", "home/.config/other/x = y", "home/Documents/x = y", "work/AGENTS.md = w"})
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Home: filepath.Join(dir, "home"), Roots: []host.RootSpec{
		{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser}, {Path: filepath.Join(dir, "work")},
	}})
	runs := func() (n int) {
		for _, o := range refresh(t, h).Outcomes {
			if o.Root == filepath.Join(dir, "home") && (o.Fuel > 0 || len(o.Trace) > 0) {
				n++
			}
		}
		return n
	}
	if n := runs(); n > 0 {
		t.Errorf("%d resolvers were run", n)
	}
	for path, want := range map[string]why.Reason{
		"home/.claude/CLAUDE.md": why.ReasonMissing, "home/.claude.json": why.ReasonMissing, "home/.codex/auth.json": why.ReasonHiddenSecret,
		"home/elsewhere/AGENTS.md": why.ReasonOutsideRoots, "home/.bashrc": why.ReasonOutsideRoots,
	} {
		answer, err := h.Why(t.Context(), filepath.Join(dir, path))
		if err != nil || answer.Reason != want {
			t.Errorf("%s: %+v, %v", path, answer, err)
		}
	}
	put(t, filepath.Join(dir, "home/.config/opencode/AGENTS.md"), "o")
	if n := runs(); n != 3 {
		t.Errorf("%d resolvers were run, want all", n)
	}
	if s := h.Current(); payloads(s) != "AGENTS.md=o AGENTS.md=w" {
		t.Errorf("found %s", payloads(s))
	}
}

// TestUserScopeAndModules: what is dropped in doesn't see the home directory.
func TestUserScopeAndModules(t *testing.T) {
	t.Parallel()
	dir := vfstest.Build(t, []string{"home/NOTES.md = x", "home/.claude/CLAUDE.md = user", "work/NOTES.md = y", "plugins/"})
	put(t, filepath.Join(dir, "plugins/texts.wasm"), string(guest(t, "./testdata/dropin")))
	h := newHost(t, host.Options{Builtin: module(builtin(t)), PluginDirs: []string{filepath.Join(dir, "plugins")}, Roots: []host.RootSpec{
		{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser}, {Path: filepath.Join(dir, "work")},
	}})
	report := refresh(t, h)
	for _, o := range report.Outcomes {
		if o.Root == filepath.Join(dir, "home") && !strings.HasPrefix(o.Resolver, "waymark/") && (len(o.Trace) > 0 || len(o.View.Reads) > 0 || o.Fuel > 0) {
			t.Errorf("%s was run in the home directory", o.Resolver)
		}
	}
	if len(report.Outcomes)%2 != 0 || len(report.Outcomes) < 8 {
		t.Errorf("%d outcomes", len(report.Outcomes))
	}
}

// TestLiveScopes: edits in projects and at places of the user are seen, and so are projects
// that come and go; saving any other file in the workspace or in the home makes nothing
// look again.
func TestLiveScopes(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"work/AGENTS.md = one", "work/a/AGENTS.md = a", "home/x = y", "clone/.git/HEAD = x", "clone/AGENTS.md = cloned"})
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: []host.RootSpec{
		{Path: home, Scope: snapshot.ScopeUser}, {Path: work, Children: true},
	}})
	running(t, h)
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	write := func(text string, names ...string) func() error {
		return func() error {
			return errors.Join(os.MkdirAll(filepath.Dir(in(names...)), 0o700), os.WriteFile(in(names...), []byte(text), 0o600))
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"first", func() error { return nil }, "AGENTS.md=one"},
		{"a directory becomes a project", func() error { return os.Mkdir(in("work/a/.git"), 0o700) }, "AGENTS.md=one AGENTS.md=a"},
		{"an edit in it", write("b", "work/a/AGENTS.md"), "AGENTS.md=one AGENTS.md=b"},
		{"a new place in it", write("c", "work/a/.github/copilot-instructions.md"), "AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"a project is moved here", func() error { return os.Rename(in("clone"), in("work/b")) }, "AGENTS.md=one copilot-instructions.md=c AGENTS.md=b AGENTS.md=cloned"},
		{"it is renamed", func() error { return os.Rename(in("work/b"), in("work/0")) }, "AGENTS.md=cloned AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"and goes", func() error { return os.RemoveAll(in("work/0")) }, "AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"a project is no more", func() error { return os.Remove(in("work/a/.git")) }, "AGENTS.md=one"},
		{"a worktree", write("gitdir: /x", "work/a/.git"), "AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"a place of the user", write("u", "home/.claude/CLAUDE.md"), "CLAUDE.md=u AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"an edit there", write("v", "home/.claude/CLAUDE.md"), "CLAUDE.md=v AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"one that lies deeper", write("w", "home/.config/opencode/AGENTS.md"), "CLAUDE.md=v AGENTS.md=w AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
		{"gone", func() error { return os.RemoveAll(in("home/.claude")) }, "AGENTS.md=w AGENTS.md=one copilot-instructions.md=c AGENTS.md=b"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		awaitSnapshot(t, h, step.name, func(s *snapshot.Snapshot) bool { return payloads(s) == step.want })
	}
}

// TestScopesIncremental: whatever happens to projects and to the user's places, a Host that
// goes by events comes to say what one says that looks at everything and remembers nothing.
func TestScopesIncremental(t *testing.T) {
	noLeaks(t)
	r := testenv.Rand(t)
	rounds := testenv.Rounds(2, 20, 200)
	for range rounds {
		dir := vfstest.Build(t, []string{"work/AGENTS.md = x", "home/"})
		roots := []host.RootSpec{
			{Path: filepath.Join(dir, "home"), Scope: snapshot.ScopeUser}, {Path: filepath.Join(dir, "work"), Children: true},
		}
		h := newHost(t, host.Options{Builtin: module(builtin(t)), Watch: slow, Roots: roots})
		running(t, h)
		clean := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: roots, NoMemo: true})
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		var done []string
		for range 15 {
			for range 1 + r.IntN(3) {
				child := filepath.Join(dir, "work", pick("a", "b", "c"))
				path := filepath.Join(child, pick("AGENTS.md", ".mcp.json", ".claude/skills/s/SKILL.md", ".cursor/rules/r.mdc", "x"))
				if r.IntN(3) == 0 {
					path = filepath.Join(dir, "home", pick(".claude/CLAUDE.md", ".claude/skills/s/SKILL.md", ".codex/AGENTS.md", ".claude.json", ".bashrc"))
				}
				what := pick("write", "write", "write", "remove", "project", "project", "none", "gone", "rename")
				done = append(done, what+" "+path)
				switch what {
				case "write":
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
						_ = os.WriteFile(path, []byte(pick("{}", "# x", "---\nname: s\ndescription: d\nglobs: a\n---\n")), 0o600)
					}
				case "remove":
					_ = os.RemoveAll(path)
				case "project":
					_ = os.MkdirAll(filepath.Join(child, ".git"), 0o700)
				case "none":
					_ = os.RemoveAll(filepath.Join(child, ".git"))
				case "gone":
					_ = os.RemoveAll(child)
				case "rename":
					_ = os.Rename(child, filepath.Join(dir, "work", pick("a", "b", "c")))
				}
			}
			want := refresh(t, clean).Snapshot
			awaitSnapshot(t, h, "after\n"+quoteLines(done), func(s *snapshot.Snapshot) bool {
				return slices.Equal(spell(s.Resources, dir), spell(want.Resources, dir)) &&
					slices.Equal(whose(s.Resources, dir), whose(want.Resources, dir))
			})
		}
		if err := errors.Join(h.Close(), clean.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
