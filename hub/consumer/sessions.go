package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

// errRevoked ends what a token that is no longer valid has going on.
var errRevoked = errors.New("the token is no longer valid")

// sessions are the streams and waiting requests, by token.
type sessions struct {
	api   *API
	start sync.Once
	done  sync.WaitGroup

	mu    sync.Mutex // guards the rest
	total int
	byID  map[string]map[*session]struct{}
}

type session struct{ end context.CancelCauseFunc }

func (s *sessions) init(a *API) { s.api, s.byID = a, make(map[string]map[*session]struct{}) }

func (s *sessions) wait() {
	s.start.Do(func() {}) // not any more
	s.done.Wait()
}

// enter takes one of the places of the token, until leave. The context ends
// with the API, and when the token is revoked.
func (s *sessions) enter(ctx context.Context, tokenID string) (_ context.Context, leave func(), err error) {
	s.start.Do(func() { s.done.Go(s.recheck) })
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byID[tokenID]
	limits := &s.api.limits
	switch {
	case len(own) >= limits.StreamsPerToken:
		return nil, nil, &apiError{http.StatusTooManyRequests, "too many streams",
			fmt.Sprintf("the token has %d streams and waiting requests already; end some, or share one", len(own))}
	case s.total >= limits.Streams:
		return nil, nil, &apiError{http.StatusTooManyRequests, "too many streams", "the hub has as many as it takes; try again later"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.api.ctx, func() { cancel(context.Canceled) })
	one := &session{cancel}
	if own == nil {
		own = make(map[*session]struct{})
		s.byID[tokenID] = own
	}
	own[one] = struct{}{}
	s.total++
	return ctx, func() {
		stop()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if delete(own, one); len(own) == 0 {
			delete(s.byID, tokenID)
		}
	}, nil
}

// recheck ends what tokens have going on that have become invalid.
func (s *sessions) recheck() {
	ticker := time.NewTicker(s.api.limits.Recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.recheckOnce(s.api.ctx)
		case <-s.api.ctx.Done():
			return
		}
	}
}

func (s *sessions) recheckOnce(ctx context.Context) {
	s.mu.Lock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	valid, err := s.api.store.ValidTokens(ctx, ids)
	if err != nil { // then they stay, until it is known
		if ctx.Err() == nil {
			s.api.log.Error("tokens not looked up", slog.Any("error", err))
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if slices.Contains(valid, id) {
			continue
		}
		for one := range s.byID[id] {
			one.end(errRevoked)
		}
	}
}
