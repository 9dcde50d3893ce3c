package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/internal/sqlstore"
)

func TestNotices(t *testing.T) {
	for name, tc := range map[string]struct {
		heard uint64
		give  time.Duration // when; 0: never
		want  time.Duration
	}{
		"there already":  {heard: 0, want: 0},
		"the next":       {heard: 1, give: time.Second, want: time.Second},
		"none":           {heard: 1, want: time.Minute},
		"of other store": {heard: 99, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := sqlstore.NewNotices()
				n.Give()
				if tc.give > 0 {
					time.AfterFunc(tc.give, n.Give)
				}
				begun := time.Now()
				if err := n.Wait(t.Context(), tc.heard, time.Minute); err != nil || time.Since(begun) != tc.want {
					t.Errorf("after %v: %v; want %v", time.Since(begun), err, tc.want)
				}
			})
		})
	}
}

// TestNoticesEnd: what has ended counts more than that there is something.
func TestNoticesEnd(t *testing.T) {
	n := sqlstore.NewNotices()
	n.Give()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, heard := range []uint64{0, 1} {
		if err := n.Wait(ctx, heard, time.Minute); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	n.Close()
	n.Close()
	for _, heard := range []uint64{0, 1} {
		if err := n.Wait(t.Context(), heard, time.Minute); !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	}
}
