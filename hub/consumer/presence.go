package consumer

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// presence knows which agents are connected, for streams that tell of it. It
// looks for itself, since a stream needn't hear of an agent that is gone for
// less than a moment. It starts with the first stream.
type presence struct {
	api   *API
	start sync.Once
	done  sync.WaitGroup

	mu sync.Mutex // guards the rest
	at seenAgents
}

// seenAgents is who was connected at one time. Nothing of it changes.
type seenAgents struct {
	// rows are all agents, by id.
	rows map[string]agentJSON
	// moved is closed when there is a later one.
	moved chan struct{}
}

func newPresence(a *API) *presence {
	return &presence{api: a, at: seenAgents{moved: make(chan struct{})}}
}

func (p *presence) wait() {
	p.start.Do(func() {}) // not any more
	p.done.Wait()
}

// now returns who is connected; it may be a moment old.
func (p *presence) now() seenAgents {
	p.start.Do(func() { p.done.Go(p.run) })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func (p *presence) run() {
	ticker := time.NewTicker(p.api.limits.Presence)
	defer ticker.Stop()
	var known []string
	for first := true; ; first = false {
		connected := p.api.opts.Connected()
		slices.Sort(connected)
		if first || !slices.Equal(known, connected) {
			if p.look(p.api.ctx, connected) {
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

// look reads all agents anew.
func (p *presence) look(ctx context.Context, connected []string) bool {
	rows, err := p.api.readAgents(ctx, connected)
	if err != nil {
		if ctx.Err() == nil {
			p.api.log.Warn("agents not read", slog.Any("error", err))
		}
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at.rows = rows
	close(p.at.moved)
	p.at.moved = make(chan struct{})
	return true
}

// readAgents returns all agents by id. connected is sorted.
func (a *API) readAgents(ctx context.Context, connected []string) (map[string]agentJSON, error) {
	agents, err := a.store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]agentJSON, len(agents))
	for i := range agents {
		_, is := slices.BinarySearch(connected, agents[i].ID)
		rows[agents[i].ID] = toAgent(&agents[i], is)
	}
	return rows, nil
}

// differ lists the agents in b that are connected there and not in a, or the
// other way round, in order of id.
func differ(a, b map[string]agentJSON) []agentJSON {
	var list []agentJSON
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if a[id].Connected != b[id].Connected {
			list = append(list, b[id])
		}
	}
	return list
}
