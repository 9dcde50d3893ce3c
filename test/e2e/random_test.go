package e2e_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/contracts/vfstest"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

// editor changes a workspace at random. What can't be done, because something
// is in the way, isn't; neither is what a link would lead out of the world's own
// directory, to what is the machine's.
type editor struct {
	*rand.Rand
	root string
	n    int      // of this edit; it is in what is written
	done []string // what was done, for a failure
}

func newEditor(t *testing.T, r *rand.Rand, root string) *editor {
	e := &editor{Rand: r, root: root}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%d edits, the last ones:\n%s", e.n, strings.Join(e.done[max(0, len(e.done)-30):], "\n"))
		}
	})
	return e
}

func pick[T any](e *editor, list ...T) T { return list[e.IntN(len(list))] }

func (e *editor) container() string {
	return pick(e, "skills", ".agents/skills", ".claude/skills", ".codex/skills")
}

func (e *editor) skillDir() string {
	return e.container() + "/" + pick(e, "one", "two", "three", "four", "a-b", "Bad Name")
}

// file is a path of a file that matters, or that a link may make matter.
func (e *editor) file() string {
	if e.IntN(3) > 0 {
		return e.skillDir() + "/SKILL.md"
	}
	return pick(e, "AGENTS.md", "CLAUDE.md", ".cursorrules", ".mcp.json", "texts/x.md", "lib/one/SKILL.md", "noise.txt")
}

func (e *editor) text(path string) string {
	if strings.HasSuffix(path, ".json") {
		return fmt.Sprintf(`{"mcpServers":{"s%d":{}}}`, e.n) + pick(e, "", "", "}")
	}
	name := filepath.Base(filepath.Dir(path))
	return fmt.Sprintf("---\nname: %s\ndescription: Edit %d\n---\n", pick(e, name, name, name, "other"), e.n) +
		strings.Repeat("text\n", e.IntN(3000))
}

// edit does one thing.
func (e *editor) edit() {
	e.n++
	op, path, to := e.IntN(14), e.file(), "aside"
	switch op {
	case 8:
		path = pick(e, e.skillDir(), e.skillDir(), e.skillDir(), e.container())
	case 11:
		path = pick(e, e.skillDir(), e.container(), path) // also where a file belongs
	case 12:
		path = e.skillDir()
	case 13:
		path, to = pick(e, e.skillDir(), e.container()), pick(e, e.skillDir(), e.container(), to)
	}
	at := filepath.Join(e.root, path)
	if !e.ours(at, op) || !e.ours(filepath.Join(e.root, to), op) {
		return
	}
	var what string
	var err error
	switch op {
	case 0, 1, 2, 3:
		what, err = "write", write(at, e.text(path))
	case 4, 5, 6:
		what, err = "rename save", renameSave(at, e.text(path))
	case 7:
		what, err = "remove", os.Remove(at)
	case 8:
		what, err = "remove all", os.RemoveAll(at)
	case 9:
		what, err = "chmod", os.Chmod(at, pick[os.FileMode](e, 0o600, 0o644, 0o200))
	case 10:
		what, err = e.link(at)
	case 11:
		what, err = "make directory", os.MkdirAll(at, 0o700)
	case 12:
		what, err = "replace directory", e.replace(at)
	case 13:
		what, err = "move to "+to, os.Rename(at, filepath.Join(e.root, to))
	}
	if err == nil {
		e.done = append(e.done, fmt.Sprintf("%d: %s: %s", e.n, what, path))
	}
}

// ours reports whether an operation on a path, or on its directory, stays in
// the world's directory. Some follow a link at the end of the path.
func (e *editor) ours(path string, op int) bool {
	top := filepath.Dir(e.root)
	follows := op < 4 || op == 9 || op == 11
	return vfstest.Inside(top, filepath.Dir(path)) && vfstest.Inside(top, filepath.Dir(filepath.Dir(path))) &&
		(!follows || vfstest.Inside(top, path))
}

// link makes a link, or another one of it.
func (e *editor) link(at string) (string, error) {
	target := pick(e, "../../AGENTS.md", "../../texts/x.md", "../one", "../../lib/one", "nothing", "../../../out", "SKILL.md")
	if e.IntN(2) == 0 {
		at = filepath.Dir(at) // a whole skill
		target = pick(e, "one", "two", "../lib/one", "../../lib/one", "../../../out", "..")
	}
	if at == e.root {
		return "", os.ErrInvalid
	}
	_ = os.RemoveAll(at)
	_ = os.MkdirAll(filepath.Dir(at), 0o700)
	return "link to " + target, os.Symlink(target, at)
}

// replace puts another directory in a directory's place.
func (e *editor) replace(dir string) error {
	next := filepath.Join(e.root, "next")
	if err := write(filepath.Join(next, "SKILL.md"), e.text(filepath.Join(dir, "SKILL.md"))); err != nil {
		return err
	}
	_ = os.RemoveAll(dir)
	_ = os.MkdirAll(filepath.Dir(dir), 0o700)
	return os.Rename(next, dir)
}

func write(path, text string) error {
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	return os.WriteFile(path, []byte(text), 0o600)
}

// renameSave writes as many editors do.
func renameSave(path, text string) error {
	temp := path + "~"
	if err := write(temp, text); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
