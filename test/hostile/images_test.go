package hostile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/test/hostile"
	"waymark/test/testenv"
)

// imageLimits end by fuel what a clock would, so that two runs can be compared,
// unless it is the host that has all the work.
var imageLimits = sandbox.Limits{Time: 250 * time.Millisecond, Memory: 16 << 20, Fuel: 6_000_000}

// TestImages: what hostile modules do is the same whether their instances begin
// with an image or not, and so nothing of one run is seen in the next. The short
// form takes some of them.
func TestImages(t *testing.T) {
	dir := hostileRoot(t)
	cases := slices.DeleteFunc(hostile.Cases(), func(c hostile.Case) bool {
		// Nothing of it is run, or it takes long until it is.
		return c.Module == nil || c.Class == hostile.ClassCompiling || c.Class == hostile.ClassLoading
	})
	testenv.RandOf(testenv.Seed(t), 0).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	images := 0
	for _, c := range cases[:min(testenv.Rounds(25, 150, len(cases)), len(cases))] {
		t.Run(c.Name, func(t *testing.T) {
			opts := guesttest.Options{Limits: imageLimits, Dir: dir, Rounds: 2}
			if c.Timed() {
				opts.Rounds = 1
			}
			how := guesttest.Compare(t, c.Module(), opts)
			if how != nil && how.Image {
				images++
			}
		})
	}
	if images < testenv.Rounds(5, 10, 10) && runtime.GOOS == "linux" {
		t.Errorf("%d modules have images", images)
	}
}

// TestRandomImages does the same with random programs of host calls, before and
// after a module is asked for anything.
func TestRandomImages(t *testing.T) {
	seed, dir := testenv.Seed(t), hostileRoot(t)
	for round := range testenv.Rounds(10, 100, 100_000) {
		numbers := testenv.RandOf(seed, uint64(round))
		data := make([]byte, numbers.IntN(200))
		for i := range data {
			data[i] = byte(numbers.IntN(256))
		}
		wasm, text := hostile.CallModule(data)
		if guesttest.Compare(t, wasm, guesttest.Options{Limits: imageLimits, Dir: dir, Rounds: 2}); t.Failed() {
			t.Fatalf("round %d:\n%s", round, text)
		}
	}
}

func hostileRoot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{"VICTIM.md": "innocent", "sub/a.md": "a", "sub/b.md": "b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
