package watch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/host/watch"
	"waymark/test/testenv"
)

// TestRandom changes a small tree at random, and what its owners ask for. After
// each few operations, and quiet, whoever would see something else than before
// must have been woken.
func TestRandom(t *testing.T) {
	g := &world{Rand: testenv.Rand(t), live: newLive(t, watch.Options{Quiet: time.Millisecond}), saw: map[string]view{}}
	for round := range testenv.Rounds(50, 300, 20_000) {
		g.history = g.history[:0]
		for range 1 + g.IntN(6) {
			g.step()
		}
		woken := g.settled()
		for owner, before := range g.saw {
			now := g.view(before.dirs)
			if now.text != before.text && !slices.Contains(woken, owner) && !slices.Contains(woken, "everybody") {
				t.Fatalf("round %d: %s wasn't woken.\nIts directories: %v\nIt saw:\n%swould see:\n%safter:\n\t%s\nwoken: %q",
					round, owner, before.dirs, before.text, now.text, strings.Join(g.history, "\n\t"), woken)
			}
			g.saw[owner] = now
		}
	}
}

// world is a tree that changes, and what each owner saw of it last.
type world struct {
	*rand.Rand
	*live
	saw     map[string]view
	history []string
}

// view is all that an owner who asked for some directories can see.
type view struct {
	dirs []watch.Dir
	text string
}

// step does one thing that may fail: then nothing happens.
func (g *world) step() {
	if g.IntN(6) == 0 {
		g.ask()
		return
	}
	op, args := g.operation()
	outcome := "done"
	if err := g.do(op, args); err != nil {
		outcome = err.Error()
	}
	g.history = append(g.history, fmt.Sprint(op, args, " ", outcome))
}

// ask has an owner look, something happen, and then the owner ask for what it
// looked at.
func (g *world) ask() {
	owner := pick(g, "p", "q", "r")
	if g.IntN(6) == 0 {
		g.Set(owner, nil)
		delete(g.saw, owner)
		g.history = append(g.history, owner+" asks for nothing")
		return
	}
	var dirs []watch.Dir
	for range 1 + g.IntN(4) {
		d := watch.Dir{Path: g.path(g.dirName())}
		switch g.IntN(5) {
		case 4:
			d.Names, d.Directories = []string{}, true
		case 0:
			d.Names = []string{}
		case 2:
			d.Names, d.Through = []string{}, []string{pick(g, "a", "b", "f")}
		case 1:
			d.Names = []string{pick(g, "a", "b", "f"), pick(g, "f", "g")}
		}
		dirs = append(dirs, d)
	}
	saw := g.view(dirs)
	if before, ok := g.saw[owner]; ok && g.view(before.dirs).text != before.text {
		return // it wasn't woken yet for what it would now see first
	}
	for range g.IntN(3) {
		op, args := g.operation()
		_ = g.do(op, args)
		g.history = append(g.history, fmt.Sprint("before asking: ", op, args))
	}
	g.Set(owner, dirs)
	g.saw[owner] = saw
	g.history = append(g.history, fmt.Sprint(owner, " asks for ", dirs))
}

func pick(g *world, list ...string) string { return list[g.IntN(len(list))] }

func (g *world) dirName() string {
	var names []string
	for range g.IntN(4) {
		names = append(names, pick(g, "a", "b"))
	}
	return strings.Join(names, "/")
}

func (g *world) operation() (op string, args []string) {
	dir := g.dirName()
	entry := filepath.Join(dir, pick(g, "a", "b", "f", "g"))
	switch g.IntN(12) {
	case 0, 1:
		return "mkdirs", []string{entry}
	case 2:
		return "mkdir", []string{entry}
	case 3, 4:
		return "write", []string{entry, pick(g, "x", "yy", "zzz")}
	case 5:
		return "append", []string{entry}
	case 6:
		return "rm", []string{entry}
	case 7:
		return "rmall", []string{entry}
	case 8:
		return "chmod", []string{pick(g, "open", "private"), entry}
	case 9:
		return "symlink", []string{pick(g, "a", "b", "nowhere"), entry}
	}
	return "mv", []string{entry, filepath.Join(g.dirName(), pick(g, "a", "b", "f", "g"))}
}

// view looks at directories as their owner would, without following links.
func (g *world) view(dirs []watch.Dir) view {
	var text strings.Builder
	for _, d := range dirs {
		rel, _ := filepath.Rel(g.dir, d.Path)
		here, at := true, g.dir
		if rel != "." {
			for name := range strings.SplitSeq(rel, "/") {
				at = filepath.Join(at, name)
				if !isDir(at) { // whatever it is
					here = false
					break
				}
				text.WriteString(g.spell(at))
			}
		}
		if !here {
			text.WriteString("\tno " + rel + "\n")
			continue
		}
		names := slices.Clone(d.Names)
		if d.Names == nil {
			entries, err := os.ReadDir(d.Path)
			if err != nil {
				g.t.Fatal(err)
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		for _, name := range names {
			text.WriteString(g.spell(filepath.Join(d.Path, name)))
		}
		if d.Directories {
			entries, err := os.ReadDir(d.Path)
			if err != nil {
				g.t.Fatal(err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err == nil && e.IsDir() {
					fmt.Fprintf(&text, "\t%s inode %d\n", e.Name(), info.Sys().(*syscall.Stat_t).Ino)
				}
			}
		}
		for _, name := range d.Through {
			text.WriteString(g.spellPlace(filepath.Join(d.Path, name)))
		}
	}
	return view{dirs: dirs, text: text.String()}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// spell describes an entry. What is in a directory is its owner's business.
func (g *world) spell(path string) string {
	rel, _ := filepath.Rel(g.dir, path)
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Sprintf("\t%s missing\n", rel)
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	if info.IsDir() {
		return fmt.Sprintf("\t%s %v inode %d\n", rel, info.Mode(), inode)
	}
	return fmt.Sprintf("\t%s %v inode %d size %d time %v\n", rel, info.Mode(), inode, info.Size(), info.ModTime())
}

// spellPlace is spell without what is written there.
func (g *world) spellPlace(path string) string {
	rel, _ := filepath.Rel(g.dir, path)
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Sprintf("\t%s missing\n", rel)
	}
	return fmt.Sprintf("\t%s %v inode %d\n", rel, info.Mode(), info.Sys().(*syscall.Stat_t).Ino)
}
