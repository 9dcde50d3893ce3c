package git_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
	"waymark/workspace/git"
)

// TestUnreadable: what git may not read is told, and costs nothing else.
func TestUnreadable(t *testing.T) {
	testenv.RunOrdinary(t, func(t *testing.T) {
		p := newPlace(t)
		p.repo("", "a", "a\n", "b", "b\n", "dir/c", "c\n")
		p.write("a", "changed\n")
		p.write("b", "changed\n")
		p.write("new", "new\n")
		p.write("closed/inner", "x\n")
		for path, mode := range map[string]os.FileMode{"b": 0, "new": 0, "closed": 0, "dir": 0} {
			if err := os.Chmod(p.at(path), mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(p.at(path), 0o755) })
		}
		for way, launcher := range both(t) {
			r := p.look("", launcher).only()
			has(t, r.UnifiedDiff, "-a\n+changed\n", "# 2 files can't be read: ")
			hasNot(t, r.UnifiedDiff, "+x\n")
			if t.Failed() {
				t.Fatal(way)
			}
		}
		// The repository itself can't be read.
		if err := os.Chmod(p.at(".git/objects"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(p.at(".git/objects"), 0o755) })
		if c := p.look("", nil); len(c.warnings) == 0 || len(c.repos) > 0 {
			t.Errorf("warnings are %q, repositories %v", c.warnings, c.repos)
		}
	})
}

// TestForeign: a repository of another user is shown only to who has said that
// it is safe, in their own configuration.
func TestForeign(t *testing.T) {
	t.Parallel()
	testenv.NeedsRoot(t, "give files away")
	p := newPlace(t)
	p.repo("repo", "a", "a\n")
	p.write("repo/a", "b\n")
	// Confined, root has no power over files of others that it may not read anyway;
	// these can be read by all, whatever the umask is.
	vfstest.Reopen(p.at("repo"))
	for _, path := range []string{"repo", "repo/.git"} {
		if err := os.Chown(p.at(path), 4711, 4711); err != nil {
			t.Fatal(err)
		}
	}
	c := p.look("repo", confined(t))
	if len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "dubious ownership") {
		t.Fatalf("warnings are %q", c.warnings)
	}
	p.write("repo/.git/config", "[core]\n\trepositoryformatversion = 0\n[safe]\n\tdirectory = *\n")
	if c := p.look("repo", nil); len(c.repos) > 0 {
		t.Error("it says of itself that it is safe, and is believed")
	}
	p.write("../home/.gitconfig", "[safe]\n\tdirectory = *\n")
	has(t, p.look("repo", nil).only().UnifiedDiff, "+b")
}

// TestUserConfiguration: what the user's configuration includes counts, wherever
// it lies, also for a confined git.
func TestUserConfiguration(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	p.write("../home/.gitconfig", "[includeIf \"gitdir:"+p.dir+"/\"]\n\tpath = ~/dots/work\n[include]\n\tpath = dots/none\n")
	p.write("../home/dots/work", "[core]\n\texcludesFile = "+p.at("../home/dots/ignored")+"\n")
	p.write("../home/dots/ignored", "*.local\n")
	p.write("x.local", "local\n")
	p.write("y", "y\n")
	for way, launcher := range both(t) {
		d := p.look("", launcher).only().UnifiedDiff
		has(t, d, "+++ b/y\n")
		hasNot(t, d, "x.local")
		if t.Failed() {
			t.Fatal(way)
		}
	}
}

// many makes a repository of so many files, each fortieth of them changed.
func (p *place) many(files int) {
	p.Helper()
	name := func(i int) string { return fmt.Sprintf("d%d/e%d/f%d", i%20, i/20%50, i) }
	var stream strings.Builder
	stream.WriteString("commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 5\nfirst\n")
	for i := range files {
		content := fmt.Sprintf("%d\nline\nline\n", i)
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", name(i), len(content), content)
	}
	p.git("", "init", "-q", "-b", "main")
	p.write("../stream", stream.String())
	p.git("", "-c", "alias.import=!git fast-import --quiet <"+p.at("../stream"), "import")
	p.git("", "reset", "-q", "--hard")
	for i := range files / 40 {
		switch name := name(i * 40); i % 3 {
		case 0:
			p.write(name, "changed\nline\nline\n")
		case 1:
			p.remove(name)
		default:
			p.write(name+"-new", "new\n")
		}
	}
}

// TestMany: 20,000 files with 500 changed are looked at as any.
func TestMany(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	files := testenv.Rounds(2000, 20_000, 20_000)
	p.many(files)
	s := p.serve("", confined(t))
	c := s.dial("")
	d := c.only().UnifiedDiff
	if n := strings.Count(d, "diff --git "); n < files/61 || n > files/40 { // some are seen as renamed
		t.Errorf("%d files are shown", n)
	}
	p.write("d0/e0/f0", "more\n")
	s.Touched(agentapi.Caller{}, p.at("d0/e0/f0"))
	for !strings.Contains(c.only().UnifiedDiff, "+more") {
		c.next()
	}
}

// TestUntracked: of too many untracked files some are shown, and that there are
// more.
func TestUntracked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	for i := range 30 {
		p.write(fmt.Sprint("junk/", i), "junk\n")
	}
	d := p.serveWith("", nil, func(o git.Options) git.Options { return git.Few(o, 20) }).dial("").only().UnifiedDiff
	has(t, d, "# more than 20 files are untracked: the others are not shown\n")
	if n := strings.Count(d, "+junk\n"); n != 20 {
		t.Errorf("%d files are shown", n)
	}
}

// BenchmarkScan is one look at a repository of 20,000 files with 500 changed, from
// the request to the answer.
func BenchmarkScan(b *testing.B) {
	for _, way := range []string{"confined", "unconfined"} {
		b.Run(way, func(b *testing.B) {
			p := newPlace(b)
			p.many(20_000)
			launcher := confined(b)
			if way == "unconfined" {
				launcher = nil
			}
			c := p.look("", launcher)
			for b.Loop() {
				c.say(`{"type":"refresh"}`)
				c.answer()
			}
		})
	}
}

// BenchmarkSmall is one look at a repository of three files.
func BenchmarkSmall(b *testing.B) {
	for _, way := range []string{"confined", "unconfined"} {
		b.Run(way, func(b *testing.B) {
			p := newPlace(b)
			p.repo("", "a", "a\n", "b", "b\n", "c", "c\n")
			p.write("a", "changed\n")
			p.write("new", "new\n")
			launcher := confined(b)
			if way == "unconfined" {
				launcher = nil
			}
			c := p.look("", launcher)
			for b.Loop() {
				c.say(`{"type":"refresh"}`)
				c.answer()
			}
		})
	}
}
