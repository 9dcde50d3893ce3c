package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"waymark/test/process"
	"waymark/test/testenv"
)

// TestStopUnderLoad: an agent that is told to end does so at any moment, soon
// and well, and leaves no socket behind.
func TestStopUnderLoad(t *testing.T) {
	w := newWorld(t).withHub()
	e := newEditor(t, testenv.Rand(t), w.root)
	for range 200 {
		e.edit()
	}
	busy(t)
	var took []time.Duration
	for i := range testenv.Rounds(3, 6, 6) {
		agent := w.start()
		// From then on it listens to signals.
		for ready := false; !ready; {
			_, err := os.Stat(w.home.Socket())
			ready = err == nil
			w.must(process.Pause(w.ctx, time.Millisecond))
		}
		for range i * 15 {
			e.edit()
			w.must(process.Pause(w.ctx, time.Duration(e.IntN(8))*time.Millisecond))
		}
		took = append(took, w.stop(agent))
		if _, err := os.Stat(w.home.Socket()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is left behind: %v", err)
		}
	}
	slices.Sort(took)
	t.Logf("ended within %v", took) // or not in time: then stop has reported it
}

// TestSourcesLeaveNothing: sources that are added and removed leave neither
// goroutines nor descriptors nor directories to watch.
func TestSourcesLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withHub()
	w.put(filepath.Join(w.root, "AGENTS.md"), "# Root\n")
	for i := range 3 {
		dir := filepath.Join(w.home.User(), fmt.Sprint(i))
		w.put(filepath.Join(dir, "AGENTS.md"), fmt.Sprintf("# %d\n", i))
		w.put(filepath.Join(dir, "skills/a/SKILL.md"), "---\nname: a\n---\n")
	}
	agent := w.start()
	w.settles(w.root)
	cycle := func(i int) {
		dir := filepath.Join(w.home.User(), fmt.Sprint(i%4)) // the fourth isn't there
		if _, added, err := agent.Client.AddSource(w.ctx, dir, i%2 == 0); err != nil || !added {
			t.Fatalf("add %s: %v, %v", dir, added, err)
		}
		w.must(agent.Client.RemoveSource(w.ctx, dir))
	}
	usage := func() map[string]int {
		metrics, err := agent.Client.Metrics(w.ctx)
		w.must(err)
		status, err := agent.Client.Status(w.ctx)
		w.must(err)
		fds, err := agent.Descriptors()
		w.must(err)
		return map[string]int{
			"goroutines": gauge(t, metrics, "go_goroutines"), "descriptors": fds,
			"watched directories": status.Watch.Directories, "roots": len(status.Roots),
		}
	}
	for i := range 20 {
		cycle(i)
	}
	w.settles(w.root)
	before := usage()
	cycles := testenv.Rounds(50, 200, 200)
	for i := range cycles {
		cycle(i)
	}
	w.settles(w.root)
	var grown map[string]int
	for until := time.Now().Add(timeout); time.Now().Before(until); { // what was closed may take a moment to end
		grown = map[string]int{}
		for what, n := range usage() {
			if n > before[what]+slack[what] {
				grown[what] = n - before[what]
			}
		}
		if len(grown) == 0 {
			break
		}
		w.must(process.Pause(w.ctx, 50*time.Millisecond))
	}
	t.Logf("before: %v", before)
	if len(grown) > 0 {
		t.Errorf("after %d cycles there are more: %v, before: %v", cycles, grown, before)
	}
	w.stop(agent)
}

// slack is what comes and goes by itself: a connection that asks, a timer that
// runs out.
var slack = map[string]int{"goroutines": 5, "descriptors": 4}

func gauge(t *testing.T, metrics []byte, name string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(metrics)
	if m == nil {
		t.Fatalf("no metric %s", name)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
