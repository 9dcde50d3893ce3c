package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/hub/store/internal/sqlstore"
)

func TestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		task := sqlstore.StartPruning(func(ctx context.Context) error {
			if _, limited := ctx.Deadline(); !limited {
				t.Error("a database that doesn't answer would be waited for, for ever")
			}
			at = append(at, time.Since(start))
			return nil
		}, nil)
		time.Sleep(2*time.Hour + 6*time.Minute)
		task.Close()
		task.Close()
		if want := []time.Duration{5 * time.Minute, 65 * time.Minute, 125 * time.Minute}; len(at) != 3 || at[0] != want[0] || at[1] != want[1] || at[2] != want[2] {
			t.Errorf("pruned after %v, want %v", at, want)
		}
	})
}

// TestFails logs what fails and tries again.
func TestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tries := 0
		task := sqlstore.StartPruning(func(context.Context) error {
			tries++
			return errors.New("disk is full")
		}, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(90 * time.Minute)
		task.Close()
		if tries != 2 || strings.Count(log.String(), "disk is full") != 2 {
			t.Errorf("%d tries, log:\n%s", tries, log.String())
		}
	})
}

// TestClose ends what is under way, without a complaint in the log.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ended := false
		task := sqlstore.StartPruning(func(ctx context.Context) error {
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(6 * time.Minute)
		task.Close()
		if !ended || log.Len() > 0 {
			t.Errorf("ended %v, log %q", ended, log.String())
		}
	})
	var never *sqlstore.Pruning
	never.Close()
}
