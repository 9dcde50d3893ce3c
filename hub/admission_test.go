package hub_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
)

// busyStore counts sessions, and holds pushes up until it is open.
type busyStore struct {
	store.Store
	begun atomic.Int32
	open  chan struct{}
}

func (s *busyStore) BeginSession(ctx context.Context, agentID, hub string) (int64, store.Begun, error) {
	s.begun.Add(1)
	return s.Store.BeginSession(ctx, agentID, hub)
}

func (s *busyStore) Push(ctx context.Context, agentID string, generation int64, p store.Push) (store.PushResult, error) {
	select {
	case <-s.open:
	case <-ctx.Done():
		return store.PushResult{}, ctx.Err()
	}
	return s.Store.Push(ctx, agentID, generation, p)
}

// TestAdmission: agents that come at once begin sessions as fast as the store takes what they
// push. Those that have nothing to push don't keep the others out.
func TestAdmission(t *testing.T) {
	t.Parallel()
	const agents, first = 100, 16
	for name, pushes := range map[string]bool{"that push": true, "that don't": false} {
		t.Run(name, func(t *testing.T) {
			var st *busyStore
			around := func(inner store.Store) store.Store {
				st = &busyStore{Store: inner, open: make(chan struct{})}
				return st
			}
			inSynctestOn(t, hub.Options{}, around, func(t *testing.T, f *fixture, endpoint string) {
				tokens := make([]string, agents)
				for i := range tokens {
					tokens[i] = f.token(store.RoleAgent, strconv.Itoa(i))
				}
				var all sync.WaitGroup
				for _, token := range tokens {
					all.Go(func() {
						a := bareOn(t, f.patient(endpoint, token))
						if pushes {
							a.mustPush(&pushtest.Push{Version: 1}, true)
						}
					})
				}
				synctest.Wait()
				if n := st.begun.Load(); n != first {
					t.Errorf("%d agents have begun a session", n)
				}
				close(st.open)
				all.Wait()
				if n := st.begun.Load(); n != agents {
					t.Errorf("in the end %d agents have begun a session", n)
				}
			})
		})
	}
}

// patient is ws for an agent that comes again when the hub says so.
func (f *fixture) patient(endpoint, token string) *websocket.Conn {
	for {
		ws, response, err := websocket.Dial(f.t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
			HTTPClient: f.client, HTTPHeader: http.Header{"Coder-Session-Token": {token}},
		})
		if err == nil {
			f.t.Cleanup(func() { _ = ws.CloseNow() })
			return ws
		}
		if response == nil || response.StatusCode != http.StatusServiceUnavailable {
			f.t.Error(err)
			return nil
		}
		again, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		time.Sleep(time.Duration(again) * time.Second)
	}
}
