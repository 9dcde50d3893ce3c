package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"waymark/hub/api"
	"waymark/internal/notify"
)

// presence tracks which agents are connected, for streams and for requests that wait for an
// agent. It polls, because short absences don't matter. It starts with the first of them.
type presence struct {
	api     *API
	start   sync.Once
	done    sync.WaitGroup
	changed notify.Signal

	mu sync.Mutex // guards the other fields
	// rows are all agents, by id. The map is replaced, never modified.
	rows map[string]api.Agent
}

func (p *presence) wait() {
	p.start.Do(func() {}) // prevents a later start
	p.done.Wait()
}

// agents returns all agents by id, or nil before the first query, and a channel that is
// closed when there is something newer.
func (p *presence) agents() (rows map[string]api.Agent, changed <-chan struct{}) {
	p.start.Do(func() { p.done.Go(p.run) })
	changed = p.changed.Changed()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows, changed
}

// awaitAway returns when an agent has been disconnected for Limits.Away, or with the
// context's error.
func (p *presence) awaitAway(ctx context.Context, agentID string) error {
	var since time.Time
	for {
		rows, changed := p.agents()
		var over <-chan time.Time
		if rows == nil || rows[agentID].Connected {
			since = time.Time{}
		} else {
			if since.IsZero() {
				since = time.Now()
			}
			over = time.After(p.api.limits.Away - time.Since(since))
		}
		select {
		case <-changed:
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *presence) run() {
	ticker := time.NewTicker(p.api.limits.Presence)
	defer ticker.Stop()
	var known map[string]Connection
	for first := true; ; first = false {
		connected := p.api.opts.Connected()
		if first || !maps.Equal(known, connected) {
			if p.read(p.api.ctx, connected) {
				known = connected
			}
		}
		select {
		case <-ticker.C:
		case <-p.api.ctx.Done():
			return
		}
	}
}

// read queries all agents.
func (p *presence) read(ctx context.Context, connected map[string]Connection) bool {
	rows, err := p.api.readAgents(ctx, connected)
	if err != nil {
		if ctx.Err() == nil {
			p.api.log.Warn("agents not read", slog.Any("error", err))
		}
		return false
	}
	p.mu.Lock()
	p.rows = rows
	p.mu.Unlock()
	p.changed.Notify()
	return true
}

// readAgents returns all agents by id.
func (a *API) readAgents(ctx context.Context, connected map[string]Connection) (map[string]api.Agent, error) {
	agents, err := a.store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	rows, now := make(map[string]api.Agent, len(agents)), a.opts.Now()
	for i := range agents {
		rows[agents[i].ID] = toAgent(&agents[i], connected, now)
	}
	return rows, nil
}

// differ returns the agents in b whose connections differ from those in a, ordered by id.
func differ(a, b map[string]api.Agent) []api.Agent {
	var list []api.Agent
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if a[id].Connected != b[id].Connected || a[id].NotHeard != b[id].NotHeard {
			list = append(list, b[id])
		}
	}
	return list
}
