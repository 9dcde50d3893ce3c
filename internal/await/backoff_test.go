package await_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"waymark/internal/await"
)

func TestPausesDouble(t *testing.T) {
	b := await.Backoff{Shortest: time.Second, Longest: 5 * time.Second}
	var got []time.Duration
	for range 5 {
		got = append(got, b.Next())
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
	b.Reset()
	if d := b.Next(); d != time.Second {
		t.Errorf("after Reset %v, want the shortest", d)
	}
	if d := b.Max(); d != 5*time.Second {
		t.Errorf("the longest pause is %v", d)
	}
}

func TestAfter(t *testing.T) {
	for last, want := range map[time.Duration]time.Duration{0: 3, 1: 3, 2: 4, 5: 10, 6: 10, 10: 10} {
		if got := await.After(last, 3, 10); got != want {
			t.Errorf("after a pause of %d comes one of %d, want %d", last, got, want)
		}
	}
}

func TestJitterStaysInBounds(t *testing.T) {
	b := await.Backoff{Shortest: 100 * time.Millisecond, Longest: 10 * time.Second, Jitter: true}
	different := map[time.Duration]bool{}
	for range 1000 {
		for _, ms := range []int{100, 200, 400, 800, 1600, 3200, 6400, 10000} {
			base := time.Duration(ms) * time.Millisecond
			d := b.Next()
			if d < max(base-base/4, b.Shortest) || d > min(base+base/4, b.Longest) {
				t.Fatalf("a pause of %v around %v", d, base)
			}
			different[d] = true
		}
		b.Reset()
	}
	if len(different) < 1000 {
		t.Errorf("only %d different pauses in 8000", len(different))
	}
}

// TestWhatHasWorkedStartsOver, but not before it has done so for the longest
// pause.
func TestWhatHasWorkedStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := await.Backoff{Shortest: time.Second, Longest: 4 * time.Second}
		b.Next()
		b.Worked()
		time.Sleep(3 * time.Second)
		if d := b.Next(); d != 2*time.Second {
			t.Errorf("after it has worked for 3 s the pause is %v, want 2s", d)
		}
		b.Worked()
		time.Sleep(4 * time.Second)
		if d := b.Next(); d != time.Second {
			t.Errorf("after it has worked for 4 s the pause is %v, want 1s", d)
		}
		time.Sleep(time.Minute)
		if d := b.Next(); d != 2*time.Second {
			t.Errorf("a minute without having worked makes the pause %v, want 2s", d)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := await.Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("slept %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		if err := await.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("slept %v: %v", time.Since(start), err)
		}
		if err := await.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("no pause: %v", err)
		}
	})
}
