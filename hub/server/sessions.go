package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"waymark/hub/store"
	"waymark/internal/httpapi/problem"
)

// errRevoked ends streams and waiting requests of an invalid token or session.
var errRevoked = errors.New("the token is no longer valid")

// errRescoped ends streams and waiting requests of a token whose scope has changed.
var errRescoped = &problem.Error{Code: http.StatusServiceUnavailable, Message: "what the token shows has changed", Detail: "ask again"}

// sessions are the streams and waiting requests, by token.
type sessions struct {
	api   *API
	start sync.Once
	done  sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	total int
	byID  map[string]map[*session]struct{}
}

type session struct {
	end context.CancelCauseFunc
	// browser is the id of the browser's session, if any.
	browser string
	// scoped is a token whose scope has labels, nil for others; shows is its scope at the
	// beginning.
	scoped *store.Token
	shows  []string
}

func (s *sessions) init(a *API) { s.api, s.byID = a, make(map[string]map[*session]struct{}) }

func (s *sessions) wait() {
	s.start.Do(func() {}) // prevents a later start
	s.done.Wait()
}

// enter counts a stream or waiting request against the limits of the reader's token, until
// leave. The context ends with the API, and when the token or the browser's session is
// revoked or expires.
func (s *sessions) enter(ctx context.Context, reader *Reader) (_ context.Context, leave func(), err error) {
	tokenID := reader.Token.ID
	s.start.Do(func() { s.done.Go(s.recheck) })
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.byID[tokenID]
	limits := &s.api.limits
	switch {
	case len(own) >= limits.StreamsPerToken:
		return nil, nil, &problem.Error{Code: http.StatusTooManyRequests, Message: "too many streams",
			Detail: fmt.Sprintf("the token has %d streams and waiting requests already; end some, or share one", len(own))}
	case s.total >= limits.Streams:
		return nil, nil, &problem.Error{Code: http.StatusTooManyRequests, Message: "too many streams", Detail: "the hub has as many as it takes; try again later"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.api.ctx, func() { cancel(context.Canceled) })
	expiry := func() bool { return true }
	if !reader.Until.IsZero() {
		expiry = time.AfterFunc(reader.Until.Sub(s.api.opts.Now()), func() { cancel(errRevoked) }).Stop
	}
	one := &session{end: cancel, browser: reader.SessionID, shows: reader.Token.Scope}
	if reader.Token.ScopeLabels != nil {
		one.scoped = &store.Token{Scope: reader.named, ScopeLabels: reader.Token.ScopeLabels}
	}
	if own == nil {
		own = make(map[*session]struct{})
		s.byID[tokenID] = own
	}
	own[one] = struct{}{}
	s.total++
	return ctx, func() {
		stop()
		expiry()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if delete(own, one); len(own) == 0 {
			delete(s.byID, tokenID)
		}
	}, nil
}

// recheck ends the requests of tokens that have become invalid.
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
	var tokens, browsers []string
	s.mu.Lock()
	for id, own := range s.byID {
		tokens = append(tokens, id)
		for one := range own {
			if one.browser != "" {
				browsers = append(browsers, one.browser)
			}
		}
	}
	s.mu.Unlock()
	if len(tokens) == 0 {
		return
	}
	s.rescope(ctx)
	validTokens, err := s.api.store.ValidTokens(ctx, tokens)
	var validBrowsers []string
	if err == nil && len(browsers) > 0 {
		validBrowsers, err = s.api.store.ValidSessions(ctx, browsers)
	}
	if err != nil { // keep them until it is known
		if ctx.Err() == nil {
			s.api.log.Error("tokens not looked up", slog.Any("error", err))
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range tokens {
		for one := range s.byID[id] {
			// Those that were added meanwhile are checked next time.
			if !slices.Contains(validTokens, id) ||
				slices.Contains(browsers, one.browser) && !slices.Contains(validBrowsers, one.browser) {
				one.end(errRevoked)
			}
		}
	}
}

// rescope ends requests of tokens whose scope has changed because agents were labeled.
// Clients that follow will reconnect, and then see the new scope.
func (s *sessions) rescope(ctx context.Context) {
	s.mu.Lock()
	var scoped []*session
	for _, own := range s.byID {
		for one := range own {
			if one.scoped != nil {
				scoped = append(scoped, one)
			}
		}
	}
	s.mu.Unlock()
	for _, one := range scoped {
		now, err := s.api.scopeNow(ctx, one.scoped)
		if err == nil && !slices.Equal(now, one.shows) {
			one.end(errRescoped)
		}
	}
}

// Streams returns the number of event streams and waiting requests.
func (a *API) Streams() int {
	a.sessions.mu.Lock()
	defer a.sessions.mu.Unlock()
	return a.sessions.total
}
