package agent

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestUntilIdle: a request that lasts, one that has just ended and what is busy put the end
// off, and it comes no sooner than the time after the last of them.
func TestUntilIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c clients
		began, busy := time.Now(), true
		ended := make(chan time.Duration, 1)
		go func() {
			c.untilIdle(t.Context(), 10*time.Minute, func() bool { was := busy; busy = false; return was })
			ended <- time.Since(began)
		}()
		release := make(chan struct{})
		handler := c.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		time.Sleep(9 * time.Minute)
		go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		time.Sleep(time.Hour)
		close(release)
		// Ten minutes after the request it is busy, so another ten pass.
		if got := <-ended; got < 89*time.Minute || got > 99*time.Minute+time.Second {
			t.Errorf("it ended after %s", got)
		}
	})
}
