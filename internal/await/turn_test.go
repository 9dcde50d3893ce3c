package await_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waymark/internal/await"
)

// TestOneAtATime: whoever comes second waits, or gives up.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := await.NewTurn(t.Context())
		_, leave, err := tn.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := tn.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second caller: %v", err)
		}
		time.AfterFunc(time.Second, leave)
		if err := tn.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestUrgent: urgent callers interrupt work, which is done again after the last
// of them, and not between them.
func TestUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := await.NewTurn(t.Context())
		tries, done := 0, make(chan error, 1)
		go func() {
			done <- tn.Do(t.Context(), func(ctx context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		for range 2 {
			go func() {
				_, leave, err := tn.Urgent(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				if tries != 1 {
					t.Errorf("%d tries while an urgent caller has the turn or waits", tries)
				}
				leave()
			}()
		}
		if err := <-done; err != nil || tries != 2 {
			t.Errorf("%d tries, %v", tries, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := tn.Urgent(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("an urgent caller that has gone: %v", err)
		}
		if err := tn.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// TestEndOfLife: work ends with the life of a turn, and none begins after it.
func TestEndOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := errors.New("closed")
		life, end := context.WithCancelCause(t.Context())
		tn := await.NewTurn(life)
		done := make(chan error, 1)
		go func() {
			done <- tn.Do(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		end(closed)
		tn.Close()
		if err := <-done; !errors.Is(err, closed) {
			t.Errorf("work ended with %v", err)
		}
		for what, call := range map[string]func(context.Context) (context.Context, func(), error){"take": tn.Take, "urgent": tn.Urgent} {
			if _, _, err := call(t.Context()); !errors.Is(err, closed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
