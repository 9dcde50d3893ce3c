package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/test/testenv"
)

// TestOverflow: events that the kernel had to drop are as good as seen.
func TestOverflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	e := newEditor(t, testenv.Rand(t), w.root)
	for range 100 {
		e.edit()
	}
	w.fresh(filepath.Join(w.root, "AGENTS.md"), "# One\n")
	agent := w.start()
	w.settles(w.root)
	w.must(agent.Freeze(w.ctx)) // what it read meanwhile would make room in the queue
	w.flood()
	for range 100 { // none of which has an event of its own any more
		e.edit()
	}
	w.fresh(filepath.Join(w.root, "AGENTS.md"), "# Two\n")
	w.must(agent.Signal(syscall.SIGCONT))
	w.settles(w.root)
	metrics, err := agent.Client.Metrics(w.ctx)
	w.must(err)
	if !strings.Contains(string(metrics), `waymark_watch_batches_total{reason="overflow"} `) {
		t.Error("no overflow is told of: the flood was too small, or nobody noticed")
	}
	// And events are heard again.
	w.fresh(filepath.Join(w.root, "AGENTS.md"), "# Three\n")
	w.settles(w.root)
	w.stop(agent)
}

// flood makes more events in the root than a queue holds.
func (w *world) flood() {
	w.t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		w.t.Skipf("no inotify here: %v", err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(text)))
	w.must(err)
	if queue > 1<<20 {
		w.t.Skipf("a queue of %d events takes too long to fill", queue)
	}
	for i := range queue/2 + 100 { // two events each, at least
		path := filepath.Join(w.root, fmt.Sprintf("noise-%d", i))
		w.must(os.Mkdir(path, 0o700))
		w.must(os.Remove(path))
	}
}

// TestOddTimes: files from the past and from the future, and edits that leave
// a file's size and time as they were, are seen like others.
func TestOddTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	path := filepath.Join(w.root, "AGENTS.md")
	skill := filepath.Join(w.root, "skills/one/SKILL.md")
	w.put(path, "# 0\n")
	w.put(skill, "---\nname: one\n---\n0\n")
	agent := w.start()
	w.settles(w.root)
	now := time.Now()
	for i, at := range []time.Time{
		now, now.AddDate(50, 0, 0), now.AddDate(50, 0, 0), time.Unix(1, 0), time.Unix(0, 0), now.Add(-time.Hour), now.Add(time.Second), now.Add(-time.Hour),
	} {
		w.put(path, fmt.Sprintf("# %d\n", i+1))
		w.must(os.Chtimes(path, at, at))
		w.put(skill, fmt.Sprintf("---\nname: one\n---\n%d\n", i+1))
		w.must(os.Chtimes(skill, at, at))
		w.must(os.Chtimes(filepath.Dir(skill), at, at))
		w.settles(w.root)
	}
	w.stop(agent)
	// What changed while nobody was there, too: the memos are kept.
	at := now.Add(-time.Hour)
	w.put(path, "# x\n")
	w.must(os.Chtimes(path, at, at))
	agent = w.start()
	w.settles(w.root)
	w.stop(agent)
}

// TestSourceComesAndGoes: a source that isn't there, comes, is removed, is made
// again, is moved away and back, or becomes a link, is followed.
func TestSourceComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	w.put(filepath.Join(w.root, "AGENTS.md"), "# Root\n")
	deep := filepath.Join(w.home.Dir, "far/away/source")
	file := filepath.Join(w.home.Dir, "far/notes/AGENTS.md")
	agent := w.start(deep, file)
	w.settles(w.root)
	aside, other := filepath.Join(w.home.Dir, "aside"), filepath.Join(w.home.Dir, "other")
	w.put(filepath.Join(other, "CLAUDE.md"), "# Other\n")
	for n, step := range []struct {
		do    func() error
		there []string // besides the root
	}{
		{func() error { return os.MkdirAll(deep, 0o700) }, []string{deep}},
		{func() error { return write(filepath.Join(deep, "AGENTS.md"), "# One\n") }, []string{deep}},
		{func() error { return os.RemoveAll(filepath.Join(w.home.Dir, "far")) }, nil},
		{func() error { return write(filepath.Join(deep, "skills/a/SKILL.md"), "---\nname: a\n---\n") }, []string{deep}},
		{func() error { return os.Rename(filepath.Join(w.home.Dir, "far/away"), aside) }, nil},
		{func() error { return os.Rename(aside, filepath.Join(w.home.Dir, "far/away")) }, []string{deep}},
		{func() error { return write(file, "# Notes\n") }, []string{deep, file}},
		{func() error { return os.RemoveAll(deep) }, []string{file}},
		{func() error { return os.Symlink(other, deep) }, []string{deep, file}},
		{func() error { return write(filepath.Join(other, "CLAUDE.md"), "# Another\n") }, []string{deep, file}},
		{func() error { return os.Remove(deep) }, []string{file}},
		{func() error { return os.Mkdir(deep, 0o700) }, []string{deep, file}},
		{func() error { return write(filepath.Join(deep, "AGENTS.md"), "# Two\n") }, []string{deep, file}},
		{func() error { return renameSave(file, "# More notes\n") }, []string{deep, file}},
	} {
		w.must(step.do())
		t.Logf("step %d", n)
		w.settles(append(step.there, w.root)...)
	}
	w.stop(agent)
}

// TestFiftyRoots: with fifty sources every one is watched.
func TestFiftyRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	var dirs []string
	for i := range 50 {
		dir := filepath.Join(w.home.Dir, fmt.Sprintf("s/%02d", i))
		w.put(filepath.Join(dir, "AGENTS.md"), fmt.Sprintf("# Source %d\n", i))
		dirs = append(dirs, dir)
	}
	agent := w.start(dirs...)
	all := append(dirs, w.root)
	w.settles(all...)
	for i, dir := range dirs {
		switch i % 3 {
		case 0:
			w.put(filepath.Join(dir, "AGENTS.md"), fmt.Sprintf("# Again %d\n", i))
		case 1:
			w.must(renameSave(filepath.Join(dir, "CLAUDE.md"), fmt.Sprintf("# More %d\n", i)))
		case 2:
			name := fmt.Sprintf("s%d", i)
			w.put(filepath.Join(dir, ".agents/skills", name, "SKILL.md"), "---\nname: "+name+"\n---\n")
		}
	}
	w.settles(all...)
	w.must(os.Remove(filepath.Join(dirs[17], "AGENTS.md")))
	w.settles(all...)
	w.stop(agent)
}
