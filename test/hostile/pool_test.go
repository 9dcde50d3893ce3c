package hostile_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"waymark/test/hostile"
)

func newPool(t *testing.T, opts hostile.PoolOptions) *hostile.Pool {
	t.Helper()
	pool, err := hostile.NewPool(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// TestRunnerSees: what isn't as stated is noticed, and what breaks a child
// doesn't break the next case.
func TestRunnerSees(t *testing.T) {
	// What hangs is killed soon, and nothing else.
	pool := newPool(t, hostile.PoolOptions{Grace: 500 * time.Millisecond, Slack: 200, Stretch: 100, Settle: 5 * time.Second})
	for name, want := range map[string]string{
		"hangs":      `^outcome hung, want ready$`,
		"dies":       `^outcome died, want ready$`,
		"fails":      `^the runner: no bench$`,
		"outcome":    `^outcome ready, want rejected$`,
		"rows":       `^rows \[\], want \["instruction_file:nothing"\]$`,
		"warning":    `^no warning says "anything"`,
		"text":       `^the error doesn't say "by accident"$`,
		"states":     `^plugins \["a.wasm rejected not WebAssembly.*, want \["a.wasm ready"\]$`,
		"memory":     `^the process grew by \d+ MiB, 1 are allowed$`,
		"canary":     `^a byte of a forbidden file got out$`,
		"victim":     `^the victim failed: `,
		"goroutine":  `^it leaves \+1 goroutines`,
		"descriptor": `^it leaves \+0 goroutines, \+1 descriptors`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostile.Case{Name: "self/" + name, Within: time.Millisecond}
			if name != "hangs" {
				c.Within = time.Minute
			}
			res, err := pool.Run(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Wrong) == 0 || !regexp.MustCompile(want).MatchString(res.Wrong[0]) {
				t.Errorf("%q, want %q (%s)", res.Wrong, want, res.Error)
			}
			if name == "dies" && !strings.Contains(res.Error, "the last words") {
				t.Errorf("error %q", res.Error)
			}
		})
	}
}

// TestCanceled: a runner that is told to stop doesn't wait for a child.
func TestCanceled(t *testing.T) {
	pool := newPool(t, hostile.PoolOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pool.Run(ctx, &hostile.Case{Name: "self/hangs"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(pool.Close(), pool.Close()); err != nil {
		t.Error(err)
	}
}

// TestSummary: outcomes must be right every time, times in the median.
func TestSummary(t *testing.T) {
	c := hostile.Case{Name: "x/y", Class: "x", Within: 10 * time.Millisecond}
	result := func(took, gc time.Duration, wrong ...string) *hostile.Result {
		return &hostile.Result{Outcome: hostile.Ready, Time: took, GC: gc, Memory: 1 << 20, Wrong: wrong}
	}
	good := hostile.Summarize(&c, []*hostile.Result{result(1e6, 1e6), result(1e9, 1e9), result(2e6, 2e6)})
	if !good.OK || good.TimeMS != 2 || good.GCMS != 2 || good.MemoryMiB != 1 || good.Outcome != "ready" {
		t.Errorf("%+v", good)
	}
	bad := hostile.Summarize(&c, []*hostile.Result{result(1e9, 1e9), result(1e9, 1e9), result(1e6, 1e6, "bad luck")})
	if bad.OK || len(bad.Wrong) != 3 {
		t.Errorf("%+v", bad)
	}
	var text strings.Builder
	if err := hostile.Table(&text, []hostile.Summary{good, bad}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ok   x/y", "BAD  x/y", "bad luck", "it took 1s, 10ms are allowed", "2 cases, 1 not as stated"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table doesn't say %q:\n%s", want, text.String())
		}
	}
}
