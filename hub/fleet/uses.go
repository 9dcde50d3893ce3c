package fleet

import (
	"sync"
	"time"

	"waymark/hub/store"
)

// touchEvery limits how often the use of a token is stored, so that not every read causes a
// write.
const touchEvery = time.Minute

// uses records when tokens were last used, and when that was stored: soon after a pause, then
// once a minute, and at the end.
type uses struct {
	mu   sync.Mutex // guards the rest
	last map[string]use
	due  []string // to be stored
}

type use struct{ used, written time.Time }

// Use records that a token is used now.
func (f *Fleet) Use(token *store.Token, now time.Time) {
	if f.uses.add(token, now) {
		f.seen.some.Set()
	}
}

// add reports whether the use is to be stored.
func (u *uses) add(token *store.Token, now time.Time) (due bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = make(map[string]use)
	}
	was := u.last[token.ID]
	if token.LastUsedAt.After(was.written) { // another hub has stored it
		was.written = token.LastUsedAt
	}
	was.used = now
	if due = now.Sub(was.written) > touchEvery; due {
		was.written = now
		u.due = append(u.due, token.ID)
	}
	u.last[token.ID] = was
	return due
}

// take returns the tokens whose use is to be stored, in the end all whose last one isn't.
func (u *uses) take(end bool) (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids, u.due = u.due, nil
	if !end {
		return ids
	}
	for id, use := range u.last {
		if use.used.After(use.written) {
			ids = append(ids, id)
		}
	}
	u.last = nil
	return ids
}
