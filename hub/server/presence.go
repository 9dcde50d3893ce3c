package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/await"
)

const (
	// movedOverlap is how long a change of an agent's connection may take to be stored.
	movedOverlap = 10 * time.Second
	// maxMoves limits the moves that are kept for streams. One that is more behind shows all
	// agents again.
	maxMoves = 4096
	// recently is how long ago a move may be that a stream from a position begins with, since
	// positions don't tell which moves a reader has. It is longer than a restart of a hub takes.
	recently = time.Minute
)

// presence tells streams, and requests that wait for an agent, which agents connect and
// disconnect. It reads only those. It polls, because short absences don't matter, and starts
// with the first of them.
type presence struct {
	api     *API
	start   sync.Once
	done    sync.WaitGroup
	changed await.Signal
	// ready is closed after the first query.
	ready chan struct{}

	mu sync.Mutex // guards the other fields
	// moves are the last ones, and count is the number of all.
	moves []*move
	count int
}

// move is an agent that has connected, disconnected, or been superseded.
type move struct {
	id   string
	data []byte
	// at is when it was read.
	at time.Time
}

func (p *presence) wait() {
	p.start.Do(func() {}) // prevents a later start
	p.done.Wait()
}

// since returns the moves after those counted, how many there were in all, and a channel that
// is closed when there is another. complete is false if not all are kept any more.
func (p *presence) since(count int) (moves []*move, now int, changed <-chan struct{}, complete bool) {
	changed = p.changed.Changed()
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := p.count - count
	if missing > len(p.moves) {
		return nil, p.count, changed, false
	}
	return p.moves[len(p.moves)-missing:], p.count, changed, true
}

// now returns how many moves there were so far, and a channel that is closed when there is
// another. Of an agent that is read afterwards, no move is missed.
func (p *presence) now(ctx context.Context) (count int, changed <-chan struct{}, err error) {
	p.start.Do(func() { p.done.Go(p.run) })
	select {
	case <-p.ready:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	case <-p.api.ctx.Done():
		return 0, nil, p.api.ctx.Err()
	}
	_, count, changed, _ = p.since(0)
	return count, changed, nil
}

// recent returns the last move of each agent that has moved recently, up to a count. complete
// is false if not all of them are kept.
func (p *presence) recent(count int) (moves []*move, complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin := time.Now().Add(-recently)
	kept := p.moves[:max(0, len(p.moves)-(p.count-count))]
	seen := make(map[string]bool)
	for _, m := range slices.Backward(kept) {
		if m.at.Before(begin) {
			slices.Reverse(moves)
			return moves, true
		}
		if !seen[m.id] {
			seen[m.id] = true
			moves = append(moves, m)
		}
	}
	slices.Reverse(moves)
	return moves, p.count == len(p.moves)
}

// awaitAway returns when an agent has been disconnected for Limits.Away, or with the
// context's error.
func (p *presence) awaitAway(ctx context.Context, agentID string) error {
	for {
		count, changed, err := p.now(ctx)
		if err != nil {
			return err
		}
		var over <-chan time.Time
		agent, err := p.api.store.Agent(ctx, agentID)
		if err == nil && !agent.Connected {
			over = time.After(p.api.limits.Away)
		}
		for moved := false; !moved; {
			select {
			case <-changed:
				moves, now, next, complete := p.since(count)
				moved = !complete
				for _, m := range moves {
					moved = moved || m.id == agentID
				}
				count, changed = now, next
			case <-over:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (p *presence) run() {
	ticker := time.NewTicker(p.api.limits.Presence)
	defer ticker.Stop()
	type state struct {
		connected bool
		notHeard  int
		created   time.Time // another one may get the id of one that was removed
	}
	type known struct {
		state

		at time.Time
	}
	// agents are those that moved not long ago. Any other one that the store lists has moved
	// since, also if nothing was known of it.
	agents := make(map[string]known)
	read := time.Now().Add(-recently)
	for first, failing := true, false; ; {
		begin := time.Now()
		moved, err := p.api.store.MovedAgents(p.api.ctx, begin.Sub(read)+movedOverlap)
		switch {
		case err == nil:
			read = begin
			var moves []*move
			for i := range moved {
				a := &moved[i]
				before, there := agents[a.ID]
				now := state{a.Connected, a.NotHeard, a.CreatedAt.UTC()}
				if agents[a.ID] = (known{now, begin}); !there || before.state != now {
					moves = append(moves, &move{a.ID, encode(toAgent(a, p.api.opts.Now())), begin})
				}
			}
			maps.DeleteFunc(agents, func(_ string, k known) bool { return begin.Sub(k.at) > recently })
			if p.add(moves); first {
				close(p.ready)
				first = false
			}
		case !failing && p.api.ctx.Err() == nil:
			p.api.log.Warn("agents not read", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-p.api.ctx.Done():
			return
		}
	}
}

func (p *presence) add(moves []*move) {
	if len(moves) == 0 {
		return
	}
	p.mu.Lock()
	p.moves = append(p.moves, moves...)
	if len(p.moves) > maxMoves {
		p.moves = append([]*move(nil), p.moves[len(p.moves)-maxMoves:]...) // streams read the old ones
	}
	p.count += len(moves)
	p.mu.Unlock()
	p.changed.Notify()
}

// sendMoves sends the moves that a reader with a position may have missed.
func (s *stream) sendMoves(ctx context.Context) error {
	moves, complete := s.api.presence.recent(s.moves)
	if !complete {
		return s.sendAgents(ctx)
	}
	for _, m := range moves {
		s.sendAgent(m.id, m.data)
	}
	return nil
}

// agentsPage is how many agents are read at once for a stream's beginning.
const agentsPage = 500

// sendAgents sends all agents.
func (s *stream) sendAgents(ctx context.Context) error {
	q := store.AgentQuery{Limit: agentsPage, Scope: s.filter.token.Scope}
	if s.filter.pinID != "" {
		return nil
	}
	if s.filter.agentID != "" {
		a, err := s.call.store.Agent(ctx, s.filter.agentID)
		if err == nil {
			s.sendAgent(a.ID, encode(toAgent(&a, s.api.opts.Now())))
		}
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	}
	for {
		page, err := s.api.store.FindAgents(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Agents {
			s.sendAgent(page.Agents[i].ID, encode(toAgent(&page.Agents[i], s.api.opts.Now())))
		}
		if page.Next == nil {
			return nil
		}
		if err := s.flush(); err != nil {
			return err
		}
		q.After = page.Next
	}
}

// sendAgent adds an agent that has connected or disconnected.
func (s *stream) sendAgent(id string, data []byte) {
	if s.filter.pinID == "" && s.filter.wantsAgent(id) {
		s.out.raw(api.EventAgent, "", data)
	}
}
