package why_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/snapshot"
)

// fuzzWorld has a bit of everything.
func fuzzWorld() world {
	return world{
		tree: []string{
			"AGENTS.md = a", "CLAUDE.md -> AGENTS.md", ".cursorrules -> nothing", skill("skills/one", "one"), skill("lib/two", "two"),
			".agents/skills -> ../lib", ".env = " + secret, "loop -> loop", "out -> $OUT", "pipe |", ".mcp.json = {}", "sub/AGENTS.md = n", "self -> .",
		},
		roots: []rootSpec{{"", "", false}, {"lib", abi.RoleSkills, true}, {"sub/AGENTS.md", abi.RoleInstructions, false}},
	}
}

// FuzzExplain: whatever is asked, there is an answer, in bounded time.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{
		"", "/", ".", "..", "/AGENTS.md", "/CLAUDE.md", "/skills/one/SKILL.md", "/.agents/skills/two/../two/SKILL.md", "/loop/x", "/out/secret.txt", "/pipe",
		"/self/self/self/AGENTS.md", "/\x00", "/\xff", "//AGENTS.md//", "/../out/dir/file", "/.env", "/sub/agents.md", "/" + strings.Repeat("x/", 2040),
		"/skills/one/" + strings.Repeat("../", 50) + "etc/passwd", "/*", "/[", "/{a,b}", "/AGENTS.md\nAGENTS.md", "/\u202egnp.exe", "/AGENTS.MD ",
	} {
		f.Add(seed)
	}
	w := fuzzWorld()
	dir, in := w.build(f)
	f.Fuzz(func(t *testing.T, path string) {
		for _, p := range []string{path, dir + path, dir + "/" + path} {
			a := why.Explain(in, p)
			if a.Path != p {
				t.Errorf("asked for %q, answered for %q", p, a.Path)
			}
			checkAnswer(t, in, a)
			if b := why.Explain(in, p); a != b {
				t.Errorf("%q: once %+v, once %+v", p, a, b)
			}
		}
	})
}

// FuzzInput: traces, notes and finds that make no sense are no reason to
// panic.
func FuzzInput(f *testing.F) {
	f.Add("skills/one/SKILL.md", "skills/one", "read", 0, "/x", "deduplicated", "SKILL.md", uint8(0))
	f.Add("AGENTS.md", "AGENTS.md", "link", 13, "", "collapsed_into", "../..", uint8(1))
	f.Add(".", "/", "missing", -1, "relative", "excluded", "\x00", uint8(255))
	f.Add("sub/AGENTS.md", "..", "listed", 40, "/x/../y", "", "*", uint8(7))
	w := fuzzWorld()
	dir, in := w.build(f)
	f.Fuzz(func(t *testing.T, path, dep, kind string, errno int, source, reason, pattern string, bits uint8) {
		at := filepath.Join(dir, path)
		if bits&1 != 0 {
			source = at
		}
		c := snapshot.Candidate{Resource: snapshot.Resource{
			Kind: abi.Kind(kind), Source: source, Key: path, Status: snapshot.Status(reason), Error: pattern, Stale: bits&2 != 0, Resolver: kind, ContentHash: snapshot.Hash(dep),
		}, Path: at, Root: errno}
		run := why.Run{
			Resolver: pattern, Root: errno % 4, View: vfs.View{Reads: []string{pattern}, Narrow: []string{dep}, GrantSecrets: []string{kind}},
			Trace: []vfs.Dep{
				{Kind: vfs.DepKind(kind), Path: dep, As: path, Errno: syscall.Errno(uint16(errno)), Type: fs.FileMode(bits) << 24, Target: source, Hash: []byte(dep)},
				{Kind: vfs.DepLink, Path: path, Target: dep}, {Kind: vfs.DepListed, Path: "."},
			},
			Denied:     []vfs.Denial{{Path: path, Target: dep, Reason: vfs.Reason(reason)}, {Path: dep, Reason: vfs.ReasonSecret}},
			Candidates: []snapshot.Candidate{c},
		}
		if bits&4 != 0 {
			run.Err = errors.New(reason)
		}
		if bits&8 != 0 {
			run.Filter, _ = run.View.Compile()
		}
		in := in // a copy
		in.Runs = append(in.Runs[:len(in.Runs):len(in.Runs)], run)
		in.Roots = append(in.Roots[:len(in.Roots):len(in.Roots)], why.Root{})
		in.Notes = []snapshot.Note{{Reason: snapshot.Reason(reason), ID: c.ID(), Winner: source, Path: at, Resolver: kind, Root: errno, Detail: pattern}}
		in.Missing = []string{source, path}
		if bits&16 != 0 {
			in.Snapshot = nil
		}
		for _, p := range []string{at, dir + "/" + path, source, path, filepath.Join(at, dep)} {
			if a := why.Explain(in, p); a.Reason == "" || a.Path != p {
				t.Errorf("%q: %+v", p, a)
			}
		}
	})
}
