package server_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
)

// awayStore is a store whose database doesn't answer this hub, as long as it is
// said so.
type awayStore struct {
	store.Store
	away atomic.Bool
}

func (s *awayStore) Events(ctx context.Context, after store.Cursor, limit int) (store.Events, error) {
	if s.away.Load() {
		return store.Events{}, errors.New("the database doesn't answer")
	}
	return s.Store.Events(ctx, after, limit)
}

// TestAway: a reader that comes from another hub and knows more than this one,
// whose database doesn't answer, gets no reset.
func TestAway(t *testing.T) {
	st := &awayStore{Store: openSQLite(t, sqlite.Options{})}
	f := newFixtureOn(t, server.Limits{}, st)
	f.push("a", text("/w/x", "1"))
	f.follow("?after=0").want("context@1") // so far is this hub
	st.away.Store(true)
	f.push("a", text("/w/x", "2"))
	f.push("a", text("/w/x", "3"))
	r := f.follow("?after=" + f.behind(3))
	f.want(304, "GET", "/api/v0/agents/a/context?wait=1ms&after=3", "")
	st.away.Store(false)
	f.push("a", text("/w/x", "4"))
	r.want("context@4")
}
