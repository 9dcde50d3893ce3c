package server_test

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server/servertest"
	"waymark/internal/httpapi"
)

// TestSlowClients: who sends or reads a byte now and then is cut off.
func TestSlowClients(t *testing.T) {
	t.Run("header", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, servertest.New(), httpapi.Server{})
			c := r.dial()
			go func() { _, _ = io.Copy(io.Discard, c) }() // the reason
			start := time.Now()
			for i := 0; ; i++ {
				if _, err := io.WriteString(c, "G"); err != nil {
					break
				}
				if time.Sleep(time.Second); i > 60 {
					t.Fatal("a client dribbles for a minute")
				}
			}
			if d := time.Since(start); d > 6*time.Second {
				t.Errorf("it is cut off after %s", d)
			}
			r.end(t)
		})
	})
	t.Run("body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, servertest.New(), httpapi.Server{})
			c := r.dial()
			start := time.Now()
			var dribble sync.WaitGroup
			dribble.Go(func() {
				send(t, c, "POST "+sourcesPath, "Content-Type: application/json\r\nContent-Length: 1000\r\n")
				for {
					if _, err := io.WriteString(c, " "); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			resp := receive(c)
			if d := time.Since(start); resp == nil || resp.StatusCode != 400 || d > 16*time.Second {
				t.Errorf("got %v after %s", resp, d)
			}
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
			_ = c.Close()
			dribble.Wait()
			r.end(t)
		})
	})
	t.Run("answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, servertest.New(), httpapi.Server{})
			c := r.dial()
			start := time.Now()
			send(t, c, "GET "+documentPath)
			buf := make([]byte, 1)
			for {
				if _, err := c.Read(buf); err != nil {
					break
				}
				time.Sleep(time.Second)
			}
			if d := time.Since(start); d > 35*time.Second {
				t.Errorf("it is cut off after %s", d)
			}
			r.end(t)
		})
	})
	t.Run("answer after a wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, servertest.New(), httpapi.Server{})
			c := r.dial()
			start := time.Now()
			send(t, c, "GET "+snapshotPath+"?wait=5m&after=0") // there is one at once
			synctest.Wait()
			time.Sleep(40 * time.Second)
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("it is kept for %s", time.Since(start))
			}
			r.end(t)
		})
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, servertest.New(), httpapi.Server{})
			c := r.dial()
			start := time.Now()
			if _, err := c.Read(make([]byte, 1)); err == nil || time.Since(start) > 2*time.Minute {
				t.Errorf("an idle connection is kept for %s", time.Since(start))
			}
			r.end(t)
		})
	})
}
