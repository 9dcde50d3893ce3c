package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"waymark/agentapi"
)

// TestDiff: what is staged, modified and untracked is in one diff, beside branch
// and remote.
func TestDiff(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "1\n2\n3\n", "b", "b\n", "gone", "gone\n", "old name", strings.Repeat("same\n", 20), "same", "same\n")
	p.git("", "remote", "add", "origin", "https://me:secret@example.com/r.git?token=secret")
	p.write("a", "1\n2\n3\n4\n")
	p.write("b", "staged\n")
	p.git("", "add", "b")
	p.write("new", "new\n")
	p.write("dir/-dash", "dash\n")
	p.remove("gone")
	p.git("", "mv", "old name", "new name")
	p.write("same", "same\n") // touched only
	r := p.look("", confined(t)).only()
	if r.RepoRoot != p.dir || r.Branch != "main" || r.RemoteOrigin != "https://example.com/r.git" {
		t.Errorf("got %q, %q, %q", r.RepoRoot, r.Branch, r.RemoteOrigin)
	}
	has(t, r.UnifiedDiff, "@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+4\n", "-b\n+staged\n", "diff --git a/new b/new\nnew file mode 100644\n", "+++ b/new\n@@ -0,0 +1 @@\n+new\n",
		"+++ b/dir/-dash\n", "deleted file mode 100644\n", "-gone\n", "rename from old name\nrename to new name\n")
	hasNot(t, r.UnifiedDiff, "same\n", "secret", "\x00")
	// git takes it for a patch of what is committed.
	p.git("", "stash", "-q", "-u")
	p.write("../patch", r.UnifiedDiff)
	p.git("", "apply", "../patch")
	if got := p.git("", "status", "--short", "-uall"); !strings.Contains(got, "?? dir/-dash") || !strings.Contains(got, " M a") {
		t.Errorf("after applying the diff:\n%s", got)
	}
}

// TestNames: names that are hard to print are told so that git reads them again.
func TestNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	long := strings.Repeat("long/", 700) + "name" // 3,504 bytes
	for _, name := range []string{"new\nline", `quote"d`, "-rf", "--output=x", "ünïcode", "tab\there", "sp ace", "bad\xff", ":(top)x", "back\\slash", "diff --git a/x b/x", long} {
		if name != long {
			p.write(name, "+ "+name)
		}
	}
	// The kernel takes no longer path at once.
	dir := p.dir
	for part := range strings.SplitSeq(strings.TrimSuffix(long, "/name"), "/") {
		dir += "/" + part
	}
	if err := os.MkdirAll(dir, 0o755); err == nil {
		p.write(long, "deep\n")
	}
	r := p.look("", confined(t)).only()
	has(t, r.UnifiedDiff, `+++ "b/new\nline"`, `+++ "b/quote\"d"`, "+++ b/-rf", "+++ b/--output=x", "+++ b/ünïcode", `+++ "b/tab\there"`, "+++ b/sp ace\t", "+++ b/:(top)x",
		`"b/back\\slash"`, "+++ b/diff --git a/x b/x", "bad\uFFFD", "+deep")
	if !utf8.ValidString(r.UnifiedDiff) {
		t.Error("it is not UTF-8")
	}
}

// TestKinds: files that are no text are named, and what goes out is always text.
func TestKinds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	p.write("image.png", "a\x00b")
	p.write(".gitattributes", "*.forced diff\n")
	p.write("late.txt", strings.Repeat("text\n", 4000)+"\x00")
	p.write("x.forced", "a\x00b\n")
	p.write("latin1", "caf\xe9\n")
	if err := os.Symlink("/etc/passwd", p.at("link")); err != nil {
		t.Fatal(err)
	}
	r := p.look("", confined(t)).only()
	has(t, r.UnifiedDiff, "Binary files /dev/null and b/image.png differ", "Binary files /dev/null and b/late.txt differ", "Binary files /dev/null and b/x.forced differ",
		"+caf\uFFFD\n", "new file mode 120000", "+/etc/passwd\n")
	hasNot(t, r.UnifiedDiff, "\x00", "root:")
}

// TestSecrets: files of the secret list are in no diff, whatever they were called
// before or are called now.
func TestSecrets(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("PASSWORD=hunter2\n", 5)
	p := newPlace(t)
	p.repo("", ".env", body, "id_rsa", body+"id", "plain", body+"plain\n", "keep", "k\n")
	p.write(".env", body+"MORE=hunter3\n") // modified
	p.git("", "mv", "id_rsa", "notes.txt") // from one
	p.write("notes.txt", body+"id2")
	p.git("", "mv", "plain", "server.key") // to one
	p.write("sub/.aws/credentials", body)  // untracked
	p.write("sub/.ENV.local", body)
	p.write("keep", "kept\n")
	for name, launcher := range both(t) {
		r := p.look("", launcher).only()
		has(t, r.UnifiedDiff, "# 5 files are not shown: the secret list names them\n", "+kept")
		hasNot(t, r.UnifiedDiff, "hunter", "PASSWORD")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	// A repository in a place of the list shows nothing, unless it is the workspace.
	p.repo("home/.password-store", "mail", "hunter2\n")
	p.write("home/.password-store/mail", "hunter3\n")
	s := p.serve("keepdir", nil)
	s.Touched(agentapi.Caller{Chat: chat(1)}, p.at("home/.password-store/mail"))
	hasNot(t, s.dial("?chat_id="+chat(1).String()).only().UnifiedDiff, "hunter")
	has(t, p.look("home/.password-store", nil).only().UnifiedDiff, "+hunter3")
}

// TestStates: whatever state a repository is in, it is shown.
func TestStates(t *testing.T) {
	t.Parallel()
	conflict := func(p *place) {
		p.repo("", "f", "1\n")
		p.git("", "checkout", "-q", "-b", "side")
		p.write("f", "side\n")
		p.git("", "commit", "-qam", "side")
		p.git("", "checkout", "-q", "main")
		p.write("f", "main\n")
		p.git("", "commit", "-qam", "main")
	}
	for name, c := range map[string]struct {
		make   func(p *place)
		root   string
		branch string
		want   []string
		not    []string
	}{
		"unborn": {make: func(p *place) {
			p.git("", "init", "-q", "-b", "trunk")
			p.write("a", "a\n")
			p.write("b", "b\n")
			p.git("", "add", "b")
		}, branch: "trunk", want: []string{"+++ b/a\n", "+++ b/b\n"}},
		"detached": {make: func(p *place) {
			p.repo("", "a", "a\n")
			p.git("", "checkout", "-q", "--detach")
			p.write("a", "b\n")
		}, want: []string{"-a\n+b\n"}},
		"rebase": {make: func(p *place) {
			conflict(p)
			if out, err := p.plain("", "rebase", "side"); err == nil {
				p.Fatalf("there is no conflict: %s", out)
			}
			p.write("other", "other\n")
		}, want: []string{"+<<<<<<< ", "+>>>>>>> ", "+++ b/other\n"}, not: []string{"Unmerged"}},
		"merge": {make: func(p *place) {
			conflict(p)
			_, _ = p.plain("", "merge", "side")
			p.remove("f")
		}, branch: "main", want: []string{"deleted file"}, not: []string{"Unmerged"}},
		"worktree": {make: func(p *place) {
			p.repo("main", "a", "a\n")
			p.git("main", "worktree", "add", "-q", "-b", "side", "../tree")
			p.write("tree/a", "b\n")
			p.write("main/a", "other\n")
		}, root: "tree", branch: "side", want: []string{"-a\n+b\n"}, not: []string{"other"}},
		"submodule": {make: func(p *place) {
			p.repo("lib", "l", "l\n")
			p.repo("super", "s", "s\n")
			p.git("super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
			p.git("super", "commit", "-qm", "lib")
			p.write("super/lib/l", "changed\n")
		}, root: "super/lib", branch: "main", want: []string{"-l\n+changed\n"}},
		"superproject": {make: func(p *place) {
			p.repo("lib", "l", "l\n")
			p.repo("super", "s", "s\n")
			p.git("super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
			p.git("super", "commit", "-qm", "lib")
			p.write("super/lib/l", "changed\n")
			p.git("super/lib", "commit", "-qam", "changed")
			p.write("super/s", "t\n")
		}, root: "super", branch: "main", want: []string{"-s\n+t\n", "-Subproject commit", "+Subproject commit"}},
		"nested ignores": {make: func(p *place) {
			p.repo("", ".gitignore", "*.log\nbuild/*\n!build/keep\n", "sub/.gitignore", "!special.log\n")
			for _, name := range []string{"a.log", "sub/b.log", "sub/special.log", "build/out", "build/keep"} {
				p.write(name, name+"\n")
			}
			p.write(".git/info/exclude", "private\n")
			p.write("private", "private\n")
			p.write("../home/.gitconfig", "[core]\n\texcludesFile = ~/ignored\n")
			p.write("../home/ignored", "editor~\n")
			p.write("editor~", "editor\n")
		}, branch: "main", want: []string{"+sub/special.log", "+build/keep"}, not: []string{"+a.log", "+sub/b.log", "+build/out", "private", "editor"}},
		"inner repository": {make: func(p *place) {
			p.repo("", "a", "a\n")
			p.repo("inner", "i", "i\n")
			p.write("inner/i", "changed\n")
		}, root: "inner", branch: "main", want: []string{"+changed"}},
		"outer repository": {make: func(p *place) {
			p.repo("", "a", "a\n")
			p.repo("inner", "i", "i\n")
			p.write("inner/i", "changed\n")
			p.write("a", "b\n")
		}, branch: "main", want: []string{"-a\n+b\n"}, not: []string{"changed"}},
		"below": {make: func(p *place) {
			p.repo("", "a", "a\n", "dir/b", "b\n")
			p.write("a", "b\n")
		}, root: "dir", branch: "main", want: []string{"-a\n+b\n"}},
		"strange directory": {make: func(p *place) {
			p.repo("a:b \"c\"\n-d", "a", "a\n")
			p.write("a:b \"c\"\n-d/a", "b\n")
		}, root: "a:b \"c\"\n-d", branch: "main", want: []string{"-a\n+b\n"}},
		"split index": {make: func(p *place) {
			p.repo("", "a", "a\n", "b", "b\n")
			p.git("", "update-index", "--split-index")
			p.write("b", "c\n")
			p.git("", "add", "b")
		}, branch: "main", want: []string{"-b\n+c\n"}},
		"sparse": {make: func(p *place) {
			p.repo("", "in/a", "a\n", "out/b", "b\n")
			p.git("", "sparse-checkout", "set", "--cone", "--sparse-index", "in")
			p.write("in/a", "b\n")
		}, branch: "main", want: []string{"-a\n+b\n"}, not: []string{"out/b"}},
		"sha256": {make: func(p *place) {
			p.git("", "init", "-q", "-b", "main", "--object-format=sha256")
			p.write("a", "a\n")
		}, branch: "main", want: []string{"+++ b/a\n"}},
		"line endings": {make: func(p *place) {
			p.repo("", "a", "1\n2\n")
			p.git("", "config", "core.autocrlf", "true")
			p.write("a", "1\r\n2\r\n3\r\n")
		}, branch: "main", want: []string{"@@ -1,2 +1,3 @@"}},
		"file for a directory": {make: func(p *place) {
			p.repo("", "a", "a\n")
			p.remove("a")
			p.write("a/b", "b\n")
		}, branch: "main", want: []string{"deleted file", "+++ b/a/b\n"}},
		"alternates in the workspace": {make: func(p *place) {
			p.repo("one", "a", "a\n")
			p.git("", "clone", "-q", "--shared", "one", "two")
			p.write("two/a", "b\n")
		}, root: "two", branch: "main", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c.make(p)
			root := c.root
			if name == "alternates in the workspace" {
				s := p.serve("", confined(t))
				s.Touched(agentapi.Caller{Chat: chat(1)}, p.at("two/a"))
				has(t, s.dial("?chat_id="+chat(1).String()).only().UnifiedDiff, "-a\n+b\n")
				return
			}
			before := snapshot(t, p.dir)
			r := p.look(root, confined(t)).only()
			if r.Branch != c.branch {
				t.Errorf("the branch is %q", r.Branch)
			}
			has(t, r.UnifiedDiff, c.want...)
			hasNot(t, r.UnifiedDiff, c.not...)
			if after := snapshot(t, p.dir); !slices.Equal(before, after) {
				after = slices.DeleteFunc(after, func(file string) bool { return slices.Contains(before, file) })
				t.Errorf("something was written: %s", strings.Join(after, "\n"))
			}
		})
	}
}

// snapshot lists all files with what changes when they are written.
func snapshot(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			list = append(list, fmt.Sprint(path, info.Size(), info.ModTime(), info.Mode()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
