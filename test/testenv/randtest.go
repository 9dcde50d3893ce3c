// Package randtest provides repeatable random numbers for tests.
//
// A test with these numbers tries other cases each time it runs. When it fails, it says how
// to repeat them: with the environment variable WAYMARK_SEED, a decimal 64-bit number. CI
// sets it, so that all changes are tested with the same cases; `make soak` sets
// WAYMARK_LONG instead, which tries new cases in many more rounds. Where time or the
// scheduler matters, the seed repeats what is done, but not when.
//
// All functions are safe for concurrent use.

package testenv

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Seed returns the seed of a test, which says so if it fails.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("WAYMARK_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("WAYMARK_SEED must be a number: %v", err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			name, _, _ := strings.Cut(t.Name(), "/")
			t.Logf("repeat with: WAYMARK_SEED=%d go test -run '^%s$' %s", seed, name, pkg())
		}
	})
	return seed
}

// Rand returns the random numbers of a test. They are for one goroutine.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return RandOf(Seed(t), 0)
}

// RandOf returns the n-th sequence of random numbers that belongs to a seed.
func RandOf(seed, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, n))
}

// Long reports whether the test may take ten minutes.
func Long() bool { return os.Getenv("WAYMARK_LONG") != "" }

// Rounds is how many rounds a test goes: few with -short and under the race
// detector, many when it may be Long.
func Rounds(few, usual, many int) int {
	switch {
	case Long():
		return many
	case testing.Short(), Race:
		return few
	}
	return usual
}

// pkg is the package whose tests are run.
func pkg() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "./..."
	}
	return strings.TrimSuffix(info.Path, ".test")
}
