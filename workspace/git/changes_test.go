package git_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/git"
)

// ask asks for diffs over HTTP.
func (s *server) ask(ctx context.Context, asked agentapi.GitQuestion) (*agentapi.GitDiffs, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	url := "http" + strings.TrimSuffix(strings.TrimPrefix(s.url, "ws"), agentapi.PathGitWatch) + agentapi.PathGitDiff
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, problem.Read(resp, "agent")
	}
	defer func() { _ = resp.Body.Close() }()
	answer := new(agentapi.GitDiffs)
	return answer, json.NewDecoder(resp.Body).Decode(answer)
}

// changes are the diffs of a repository, at paths relative to the directory, before those of
// repositories within it.
func (s *server) changes(paths ...string) agentapi.GitDiff {
	s.Helper()
	for i := range paths {
		paths[i] = s.at(paths[i])
	}
	answer, err := s.ask(s.Context(), agentapi.GitQuestion{Paths: paths})
	if err != nil {
		s.Fatal(err)
	}
	for i, r := range answer.Repositories {
		if i > 0 && !strings.HasPrefix(r.RepoRoot, answer.Repositories[0].RepoRoot+"/") {
			s.Fatalf("the answer is %+v", answer)
		}
	}
	return answer.Repositories[0]
}

// said is what a list of files says, one a line.
func said(d agentapi.GitDiff) string {
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "%s +%d -%d", f.Path, f.Added, f.Removed)
		if f.RenamedFrom != "" {
			b.WriteString(" from " + f.RenamedFrom)
		}
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wants compares what is said of a question.
func (s *server) wants(paths []string, want string) agentapi.GitDiff {
	s.Helper()
	d := s.changes(paths...)
	if got := said(d); got != want {
		s.Errorf("%q: got\n%swant\n%s\n%s", paths, got, want, d.Diff)
	}
	return d
}

const (
	secret  = " (not shown: the secret list names it)\n"
	derived = " (not shown: another name of it, now or before, may be one that isn't shown)\n"
	large   = " (too large for this answer)\n"
)

// TestChanges: what is staged, modified, untracked, deleted and renamed is named with its
// lines, and its diff is there.
func TestChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "1\n2\n3\n", "b", "b\n", "gone", "gone\n", "old name", strings.Repeat("same\n", 20), "mode", "m\n", "kind", "k\n")
	p.write("a", "1\n2\n3\n4\n")
	p.write("b", "staged\n")
	p.git("", "add", "b")
	p.write("new", "new\nno end")
	p.write("dir/-dash", "dash\n")
	p.write("intended", "i\n")
	p.git("", "add", "-N", "intended")
	p.write("empty", "")
	p.remove("gone")
	p.git("", "mv", "old name", "new name")
	p.git("", "update-index", "--chmod=+x", "mode")
	if err := os.Chmod(p.at("mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.remove("kind")
	p.write("kind/inner", "inner\n")
	p.link("/etc/passwd", "link")
	p.git("", "init", "-q", "own")
	p.write("own/x", "x\n")
	if err := syscall.Mkfifo(p.at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, launcher := range both(t) {
		d := p.serve("", launcher).wants(nil, "a +1 -0\nb +1 -1\ndir/-dash +1 -0\nempty +0 -0\ngone +0 -1\nintended +1 -0\nkind +0 -1\nkind/inner +1 -0\nlink +1 -0\n"+
			"mode +0 -0\nnew +2 -0\nnew name +0 -0 from old name\nown/ +0 -0 (a git repository of its own)\n")
		has(t, d.Diff, "+4\n", "-b\n+staged\n", "+new\n+no end\n\\ No newline", "+++ b/dir/-dash\n", "-gone\n", "rename from old name\nrename to new name\n", "+i\n", "new mode 100755", "+/etc/passwd\n", "+inner")
		hasNot(t, d.Diff, "root:")
		if d.RepoRoot != p.dir || d.Branch != "main" {
			t.Errorf("it is %q on %q", d.RepoRoot, d.Branch)
		}
	}
	// git takes it for a patch.
	d := p.serve("", nil).changes()
	p.git("", "reset", "-q", "intended")
	p.git("", "stash", "-q", "-u")
	p.remove("own")
	p.write("../patch", d.Diff)
	p.git("", "apply", "../patch")
}

// TestChangesSecrets: a secret costs its own diff, whatever it was called before or is now,
// and nothing else.
func TestChangesSecrets(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("PASSWORD=hunter2\n", 5)
	for name, c := range map[string]struct {
		make func(p *place)
		want string
	}{
		"untracked":        {func(p *place) { p.write(".env", body) }, ".env +0 -0" + secret},
		"in a directory":   {func(p *place) { p.write("sub/.aws/credentials", body) }, "sub/.aws/credentials +0 -0" + secret},
		"in another case":  {func(p *place) { p.write("sub/.ENV.local", body) }, "sub/.ENV.local +0 -0" + secret},
		"changed":          {func(p *place) { p.write("id_rsa", body+"x") }, "id_rsa +0 -0" + secret},
		"staged":           {func(p *place) { p.write(".env", body); p.git("", "add", "-A") }, ".env +0 -0" + secret},
		"deleted":          {func(p *place) { p.remove("id_rsa") }, "id_rsa +0 -0" + secret},
		"renamed from one": {func(p *place) { p.git("", "mv", "id_rsa", "notes") }, "notes +0 -0 from id_rsa" + derived},
		"moved from one":   {func(p *place) { p.remove("id_rsa"); p.write("notes", body+"id") }, "id_rsa +0 -0" + secret + "notes +0 -0" + derived},
		"twice from one": {func(p *place) { p.remove("id_rsa"); p.write("notes", body+"id"); p.write("more", body+"id") },
			"id_rsa +0 -0" + secret + "more +0 -0" + derived + "notes +0 -0" + derived},
		"renamed to one": {func(p *place) { p.git("", "mv", "plain", "server.key") }, "server.key +0 -0 from plain" + secret},
		"a link to it":   {func(p *place) { p.write(".env", body); p.link(".env", "link") }, ".env +0 -0" + secret + "link +1 -0\n"},
		"another name of it": {func(p *place) {
			p.write(".env", body)
			if err := os.Link(p.at(".env"), p.at("name")); err != nil {
				p.Fatal(err)
			}
		}, ".env +0 -0" + secret + "name +0 -0" + derived},
		"ignored, by another name": {func(p *place) {
			p.write(".git/info/exclude", ".env\n")
			p.write(".env", body)
			if err := os.Link(p.at(".env"), p.at("name")); err != nil {
				p.Fatal(err)
			}
		}, "name +0 -0" + derived},
		"a directory": {func(p *place) { p.repo(".ssh", "id", body) }, ".ssh/ +0 -0" + secret},
		"a submodule": {func(p *place) {
			p.repo("../lib", "l", body)
			p.git("", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", ".ssh")
		}, ".gitmodules +3 -0\n.ssh +0 -0" + secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.repo("", "id_rsa", body+"id", "plain", strings.Repeat("plain\n", 9), "keep", "k\n")
			c.make(p)
			p.write("keep", "kept\n")
			p.write("z/new", "new\n")
			s := p.serve("", nil)
			d := s.changes()
			if strings.ReplaceAll(said(d), "keep +1 -1\n", "") != c.want+"z/new +1 -0\n" {
				t.Errorf("got\n%swant\n%s", said(d), c.want)
			}
			has(t, d.Diff, "+kept\n", "+new\n")
			hasNot(t, d.Diff, "hunter", "PASSWORD")
			has(t, s.wants([]string{"z"}, "z/new +1 -0\n").Diff, "+new\n")
			for _, f := range d.Files {
				if path := strings.TrimSuffix(f.Path, "/"); f.Note != "" && f.Note != "a git repository of its own" && path != ".ssh" {
					hasNot(t, s.changes(path).Diff, "hunter")
				}
			}
		})
	}
}

// TestChangesPaths: paths are found, whatever they look like, and what isn't there is said.
func TestChangesPaths(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n", "sub/a", "a\n", "sub/b", "b\n", "sub/gone", "g\n", "subtle", "s\n", "clean", "c\n", "dir/x", "x\n", "dir/y/z", "z\n", "kind", "k\n", "sub/old", strings.Repeat("o\n", 9))
	names := []string{"new\nline", `quote"d`, "-rf", "sp ace", "bad\xff", ":(glob)*", ":!x", "*", "[a]", "back\\slash", "tab\t", "ünï", "a -> b"}
	for _, name := range names {
		p.write("odd/"+name, "odd\n")
	}
	for _, name := range []string{"a", "sub/a", "subtle"} {
		p.write(name, "changed\n")
	}
	p.remove("dir")
	p.remove("kind")
	p.write("kind/in", "in\n")
	p.remove("sub/gone")
	p.git("", "mv", "sub/old", "sub/new")
	p.repo("inner", "i", "i\n")
	p.write("inner/i", "changed\n")
	p.link("sub", "way")
	p.link("../outside", "out")
	p.repo("../outside", "o", "o\n")
	p.write("../outside/o", "changed\n")
	for _, root := range []string{"", "sub"} {
		s := p.serve(root, nil)
		const sub = "sub/a +1 -1\nsub/gone +0 -1\nsub/new +0 -0 from sub/old\n"
		s.wants([]string{"sub"}, sub)
		s.wants([]string{"sub/"}, sub)
		s.wants([]string{"sub/../sub/a"}, "sub/a +1 -1\n")
		s.wants([]string{"sub/gone"}, "sub/gone +0 -1\n")
		s.wants([]string{"sub/old"}, "sub/new +0 -0 from sub/old\n")
		s.wants([]string{"sub/b"}, "")
		s.wants([]string{"dir/"}, "dir/x +0 -1\ndir/y/z +0 -1\n")
		s.wants([]string{"dir/y"}, "dir/y/z +0 -1\n")
		s.wants([]string{"kind"}, "kind +0 -1\nkind/in +1 -0\n")
		s.wants([]string{"sub/a", "sub/b"}, "sub/a +1 -1\n")
		for _, path := range []string{"sub/none", "sub/none/more", "sub/a/more", "none", "a/more", "dir/none", "kind/none", "a\x00"} {
			if d, err := s.ask(t.Context(), agentapi.GitQuestion{Paths: []string{p.at(path)}}); problem.CodeOf(err)/100 != 4 {
				t.Errorf("%q of %q: %+v, %v", path, root, d, err)
			}
		}
	}
	s := p.serve("", nil)
	for _, name := range names {
		if name != "bad\xff" { // which JSON can't say
			s.wants([]string{"odd/" + name}, "odd/"+name+" +1 -0\n")
		}
	}
	s.wants([]string{"way/a"}, "sub/a +1 -1\n")
	s.wants([]string{"way"}, "way +1 -0\n")
	s.wants([]string{"inner"}, "i +1 -1\n")
	s.wants([]string{"inner/i"}, "i +1 -1\n")
	if got := said(s.changes(".")); !strings.Contains(got, "inner/ +0 -0 (a git") || !strings.Contains(got, "subtle +1 -1\n") || !strings.Contains(got, "bad\uFFFD") {
		t.Errorf("all is\n%s", got)
	}
	for _, path := range []string{p.at("out/o"), p.at("../outside/o"), p.at(".."), "/"} {
		if d, err := s.ask(t.Context(), agentapi.GitQuestion{Paths: []string{path}}); problem.CodeOf(err) != 404 {
			t.Errorf("%q: %+v, %v", path, d, err)
		}
	}
	for _, q := range []agentapi.GitQuestion{{Paths: []string{"sub"}}, {Paths: []string{""}}} {
		if d, err := s.ask(t.Context(), q); problem.CodeOf(err) != 400 {
			t.Errorf("%+v: %+v, %v", q, d, err)
		}
	}
}

// TestChangesNested: changes of submodules, of repositories within one that doesn't track
// them, and of those below a directory that is none are found, and nothing behind a link.
func TestChangesNested(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("../lib", "l", "l\n")
	p.repo("many/a", "x", "x\n")
	p.repo("many/deep/b", "x", "x\n")
	p.repo("many/clean", "x", "x\n")
	p.repo("many/node_modules/c", "x", "x\n")
	p.repo("main", "x", "x\n")
	p.git("main", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", p.at("../lib"), "mod/lib")
	p.git("main", "commit", "-qm", "with a submodule")
	p.git("main/mod/lib", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", p.at("../lib"), "again")
	p.git("main/mod/lib", "commit", "-qm", "with another one")
	p.git("main", "commit", "-qam", "newer")
	p.repo("main/own", "o", "o\n")
	p.link(p.at("../lib"), "main/away")
	for _, name := range []string{"many/a/x", "many/deep/b/x", "many/node_modules/c/x", "main/mod/lib/l", "main/mod/lib/again/l", "main/own/o", "../lib/l"} {
		p.write(name, "changed\n")
	}
	list := func(root string, paths ...string) string {
		answer, err := p.serve(root, nil).ask(t.Context(), agentapi.GitQuestion{Paths: paths})
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for _, r := range answer.Repositories {
			fmt.Fprintf(&b, "%s: %s", strings.TrimPrefix(r.RepoRoot, p.dir+"/"), strings.ReplaceAll(said(r), "\n", "; "))
			b.WriteByte('\n')
			for _, f := range r.Files {
				if f.Note == "" && f.Removed > 0 && !strings.Contains(r.Diff, "+changed") {
					t.Errorf("%s of %s has no diff", f.Path, r.RepoRoot)
				}
			}
		}
		return b.String() + answer.Message
	}
	for _, c := range []struct {
		root  string
		paths []string
		want  string
	}{
		{"many", nil, "many/a: x +1 -1; \nmany/clean: \nmany/deep/b: x +1 -1; \n"},
		{"many", []string{p.at("many/deep")}, "many/deep/b: x +1 -1; \n"},
		{"main", nil, "main: away +1 -0; own/ +0 -0 (a git repository of its own); \nmain/mod/lib: l +1 -1; \nmain/own: o +1 -1; \nmain/mod/lib/again: l +1 -1; \n"},
		{"main", []string{p.at("main/mod")}, "main: \nmain/mod/lib: l +1 -1; \nmain/mod/lib/again: l +1 -1; \n"},
		{"main", []string{p.at("main/mod/lib/l")}, "main/mod/lib: l +1 -1; \n"},
	} {
		if got := list(c.root, c.paths...); got != c.want {
			t.Errorf("%s %q: got\n%swant\n%s", c.root, c.paths, got, c.want)
		}
	}
	if err := os.MkdirAll(p.at("empty/dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := list("empty"); !strings.Contains(got, "there is no git repository") {
		t.Errorf("of none: %s", got)
	}
}

// TestChangesLarge: one large text costs itself.
func TestChangesLarge(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n", "grown", "g\n", "line", "l\n", "image", "\x00")
	p.write("a", "changed\n")
	p.write("grown", strings.Repeat("another line\n", 100_000))
	p.write("line", strings.Repeat("long ", 100_000)+"\n")
	p.write("image", "\x00\x01")
	p.write("new", strings.Repeat("a line\n", 100_000))
	p.write("late", strings.Repeat("text\n", 40_000)+"\x00")
	huge, err := os.Create(p.at("huge"))
	if err == nil {
		err = errors.Join(huge.Truncate(1<<40), huge.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	p.write("z", "z\n")
	s := p.serve("", nil)
	d := s.wants(nil, "a +1 -1\ngrown +100000 -1"+large+"huge +0 -0 (too large to be counted)\nimage +0 -0 (binary)\nlate +0 -0 (binary)\nline +1 -1"+large+"new +100000 -0"+large+"z +1 -0\n")
	has(t, d.Diff, "+changed\n", "+z\n")
	if len(d.Diff) > 32<<10 {
		t.Errorf("it has %d bytes", len(d.Diff))
	}
	d = s.wants([]string{"new"}, "new +100000 -0"+large)
	if len(d.Diff) < 31<<10 || len(d.Diff) > 32<<10 {
		t.Errorf("of one file it has %d bytes", len(d.Diff))
	}
	has(t, d.Diff, "@@ -0,0 +1,100000 @@\n+a line\n")
}

// TestChangesBinary: what an attribute says is binary is told to be.
func TestChangesBinary(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", ".gitattributes", "*.lock -diff\n", "a.lock", "1\n")
	p.write("a.lock", "2\n")
	p.write("b.lock", "1\n")
	p.serve("", nil).wants(nil, "a.lock +0 -0 (binary)\nb.lock +1 -0 (binary)\n")
}

// TestChangesWithin: who is to stay in the workspace is told of no file outside, and a chat of
// the repositories in which it has worked.
func TestChangesWithin(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n", "dir/b", "b\n", "moved", strings.Repeat("moved\n", 9)+"outside\n")
	p.write("a", "changed\n")
	p.write("dir/b", "changed\n")
	p.write("new", "n\n")
	p.write("dir/new", "n\n")
	p.repo("other", "o", "o\n")
	p.write("other/o", "changed\n")
	p.git("", "mv", "moved", "dir/moved")
	p.write("dir/moved", strings.Repeat("moved\n", 9)+"end\n")
	for _, within := range []bool{false, true} {
		s := p.serveWith("dir", nil, func(o git.Options) git.Options {
			o.Within = func(context.Context) bool { return within }
			return o
		})
		want := "a +1 -1\ndir/b +1 -1\ndir/moved +1 -1 from moved\ndir/new +1 -0\nnew +1 -0\nother/ +0 -0 (a git repository of its own)\n"
		if within {
			want = "dir/b +1 -1\ndir/moved +0 -0 from moved" + derived + "dir/new +1 -0\n"
		}
		d := s.wants(nil, want)
		if within {
			hasNot(t, d.Diff, "a/a", "a/new", "outside")
		}
		caller := agentapi.Caller{Chat: chat(1)}
		s.Touched(caller, p.at("other/o"))
		for path, code := range map[string]int{p.at("other/o"): 0, p.at("a"): 404, p.at("dir/b"): 0} {
			if within && path == p.at("other/o") {
				code = 404
			}
			if _, err := s.Diff(t.Context(), caller, agentapi.GitQuestion{Paths: []string{path}}); problem.CodeOf(err) != code || code == 0 && err != nil {
				t.Errorf("within %t, %s: %v", within, path, err)
			}
		}
		if all, err := s.Diff(t.Context(), caller, agentapi.GitQuestion{}); err != nil || len(all.Repositories) != 1 || said(all.Repositories[0]) != map[bool]string{false: "o +1 -1\n"}[within] {
			t.Errorf("within %t, of the chat: %+v, %v", within, all, err)
		}
	}
}

// TestChangesMany: all files are named and counted, with the diffs that have room.
func TestChangesMany(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	for i := range 3000 {
		p.write(fmt.Sprintf("d%d/%04d", i%7, i), "n\n")
	}
	s := p.serve("", nil)
	d := s.changes()
	if n := strings.Count(d.Diff, "diff --git"); len(d.Files) != 3000 || n < 100 || n != 3000-strings.Count(said(d), large) || strings.Count(said(d), " +1 -0") != 3000 {
		t.Errorf("%d files are named, %d with a diff", len(d.Files), n)
	}
	if d := s.changes("d6"); len(d.Files) != 428 || !strings.HasPrefix(d.Diff, "diff --git a/d6/0006") {
		t.Errorf("of one directory %d files are named", len(d.Files))
	}
	for i := range 1500 {
		p.write(fmt.Sprintf("e/%04d", i), "n\n")
	}
	if d := s.changes(); len(d.Files)+d.Omitted != 4500 || d.Omitted != 500 {
		t.Errorf("%d files are named, %d aren't", len(d.Files), d.Omitted)
	}
}

// TestChangesStates: whatever state a repository is in.
func TestChangesStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(p *place)
		root string
		want string
	}{
		"unborn": {func(p *place) {
			p.git("", "init", "-q")
			p.write("a", "a\n")
			p.write("b", "b\n")
			p.git("", "add", "b")
		}, "", "a +1 -0\nb +1 -0\n"},
		"conflict": {func(p *place) {
			p.repo("", "f", "1\n", "g", "1\n")
			p.git("", "checkout", "-q", "-b", "side")
			p.write("f", "side\n")
			p.write("g", "side\n")
			p.git("", "commit", "-qam", "side")
			p.git("", "checkout", "-q", "main")
			p.write("f", "main\n")
			p.write("g", "main\n")
			p.git("", "commit", "-qam", "main")
			_, _ = p.plain("", "merge", "side")
			p.remove("g")
			p.write("other", "o\n")
		}, "", "f +4 -0\ng +0 -1\nother +1 -0\n"},
		"work tree": {func(p *place) {
			p.repo("main", "a", "a\n")
			p.git("main", "worktree", "add", "-q", "-b", "side", "../tree")
			p.write("tree/a", "b\n")
		}, "tree", "a +1 -1\n"},
		"below": {func(p *place) {
			p.repo("", "a", "a\n", "dir/b", "b\n")
			p.write("a", "b\n")
			p.write("dir/new", "n\n")
		}, "dir", "a +1 -1\ndir/new +1 -0\n"},
		"sparse": {func(p *place) {
			p.repo("", "in/a", "a\n", "out/b", "b\n")
			p.git("", "sparse-checkout", "set", "--cone", "--sparse-index", "in")
			p.write("in/a", "b\n")
		}, "", "in/a +1 -1\n"},
		"superproject": {func(p *place) {
			p.repo("lib", "l", "l\n")
			p.repo("super", "s", "s\n")
			p.git("super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
			p.git("super", "commit", "-qm", "lib")
			p.write("super/lib/l", "changed\n")
			p.git("super/lib", "commit", "-qam", "changed")
		}, "super", "lib +1 -1\n"},
		"line endings": {func(p *place) {
			p.repo("", "a", "1\n2\n")
			p.git("", "config", "core.autocrlf", "true")
			p.write("a", "1\r\n2\r\n3\r\n")
			p.write("new", "1\r\n2\r\n")
		}, "", "a +1 -0\nnew +2 -0\n"},
		"nothing": {func(p *place) { p.repo("", "a", "a\n") }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c.make(p)
			before := snapshot(t, p.dir)
			d := p.serve(c.root, confined(t)).wants(nil, c.want)
			if strings.Contains(d.Diff, "Unmerged") || strings.Count(d.Diff, "diff --git") != len(d.Files) {
				t.Errorf("the diff is\n%s", d.Diff)
			}
			if after := snapshot(t, p.dir); strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Error("something was written")
			}
		})
	}
	p := newPlace(t)
	p.repo("", "a", "a\n")
	p.write("../none/x", "x\n")
	if _, err := p.serve("../none", nil).ask(t.Context(), agentapi.GitQuestion{}); problem.CodeOf(err) != 404 {
		t.Errorf("without a repository: %v", err)
	}
	p.write(".git/HEAD", "nonsense\n")
	answer, err := p.serve("", nil).ask(t.Context(), agentapi.GitQuestion{})
	if err != nil || len(answer.Repositories) > 0 || !strings.HasPrefix(answer.Message, p.dir+": ") {
		t.Errorf("a damaged one: %+v, %v", answer, err)
	}
}

// TestChangesEnd: the end of the call ends git.
func TestChangesEnd(t *testing.T) {
	dir := t.TempDir()
	started, ended := filepath.Join(dir, "started"), filepath.Join(dir, "ended")
	for _, path := range []string{started, ended} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A git that compares for ever, and holds a pipe open as long as it lives.
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	git := "#!/bin/sh\ncase \" $* \" in\n*\" diff \"*) exec 3>" + ended + "; echo $$ >" + started + "; sleep 1000;;\n*) exec " + program + " \"$@\";;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(git), 0o700); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	p.repo("", "a", "a\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := p.serve("", nil)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := s.ask(ctx, agentapi.GitQuestion{})
		answered <- err
	}()
	held, err := os.OpenFile(ended, os.O_RDONLY, 0) // until git is there
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		var b [1]byte
		_, _ = held.Read(b[:]) // until nobody holds the other end
	}()
	select {
	case <-over:
	case <-time.After(patient):
		t.Error("git goes on")
	}
}

// BenchmarkChanges compares a diff for one call with what plain git takes to list the files
// and to say what has changed in those that it knows. Both take turns, and what the processor
// did for each, in this process and in git, is told beside the time.
func BenchmarkChanges(b *testing.B) {
	for name, c := range map[string]struct{ files, lines, changed int }{
		"400,000 lines of 3,000 untracked files": {3000, 400_000 / 3000, 1},
		"400,000 lines of one untracked file":    {1, 400_000, 1},
		"30 MB of one untracked file":            {1, 750_000, 1},
		"100,000 changed lines":                  {1, 1, 100_000},
	} {
		b.Run(name, func(b *testing.B) {
			p := newPlace(b)
			p.repo("", "known", strings.Repeat("a line of a file\n", c.changed))
			p.write("known", strings.Repeat("another line of a file\n", c.changed))
			for i := range c.files {
				p.write(fmt.Sprintf("new/%d/%d", i%30, i), strings.Repeat("a line of forty characters or some more\n", c.lines))
			}
			s := p.serve("", confined(b))
			measure := func(who string, do func()) {
				began, cpu := time.Now(), processor(b)
				do()
				took[who+"-ms"] += time.Since(began)
				took[who+"-cpu-ms"] += processor(b) - cpu
			}
			clear(took)
			for b.Loop() {
				measure("ours", func() {
					if d := s.changes(); len(d.Files)+d.Omitted != c.files+1 {
						b.Fatalf("%d files are named", len(d.Files)+d.Omitted)
					}
				})
				measure("plain", func() {
					p.git("", "ls-files", "--others", "--exclude-standard")
					p.git("", "diff", "HEAD")
				})
			}
			for name, d := range took {
				b.ReportMetric(d.Seconds()*1000/float64(b.N), name)
			}
		})
	}
}

// took is what BenchmarkChanges has measured.
var took = map[string]time.Duration{}

// processor is the time that processors have worked for this process and its children.
func processor(t testing.TB) (sum time.Duration) {
	t.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if err := syscall.Getrusage(who, &use); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return sum
}
