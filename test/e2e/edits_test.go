package e2e_test

import (
	"context"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"waymark/test/process"
	"waymark/test/testenv"
)

// TestThousandEdits: after a thousand edits on a busy machine the hub has what
// is there, and the way was one of rising versions.
func TestThousandEdits(t *testing.T) {
	w := newWorld(t).withHub()
	e := newEditor(t, testenv.Rand(t), w.root)
	quiet := busy(t)
	agent := w.start()
	pushes := func() int { list, _ := w.hub.Stored.All(); return len(list) }
	// On a slow machine some pushes, which show that the agent is looking,
	// may take more edits.
	edits, enough := testenv.Rounds(150, 1000, 1000), testenv.Rounds(4, 20, 20)
	for e.n < edits || pushes() < enough {
		e.edit()
		if e.IntN(3) == 0 {
			w.must(process.Pause(w.ctx, time.Duration(e.IntN(25))*time.Millisecond))
		}
	}
	quiet()
	w.settles(w.root)
	t.Logf("%d pushes of %d edits", pushes(), e.n)
	w.stop(agent)
}

// busy lets every processor have too much to do, until the function that it
// returns is called, or the test ends.
func busy(t *testing.T) (quiet func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var burners []*exec.Cmd
	for range runtime.NumCPU() + 1 {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		burners = append(burners, cmd)
	}
	done := false
	quiet = func() {
		cancel()
		for _, cmd := range burners {
			if !done {
				_ = cmd.Wait()
			}
		}
		done = true
	}
	t.Cleanup(quiet)
	return quiet
}
