package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

// found is what `agent resolve` finds with an empty memory.
func (w *world) found(dirs ...string) []string {
	w.t.Helper()
	w.turn.Lock()
	defer w.turn.Unlock()
	w.must(os.RemoveAll(w.clean.Memos()))
	out, err := w.run(w.clean, append([]string{"resolve", "--json"}, dirs...)...)
	w.must(err)
	var s snapshot.Snapshot
	w.must(json.Unmarshal(out, &s))
	return w.spell(s.Resources)
}

// spell is everything that is known of resources but the source that led
// there, which a plain resolve doesn't know; nor does it ask MCP servers.
func (w *world) spell(list []snapshot.Resource) []string {
	w.t.Helper()
	lines := []string{}
	for i := range list {
		r := list[i]
		if r.Kind == abi.KindMCPServer {
			continue
		}
		r.SourcePath = ""
		text, err := json.Marshal(r)
		w.must(err)
		lines = append(lines, string(text))
	}
	return lines
}

// newest is what a store has of the agent; nil is nothing.
func (w *world) newest(st store.Store) *store.StoredSnapshot {
	w.t.Helper()
	s, err := st.Snapshot(w.ctx, store.Query{AgentID: agentID})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	w.must(err)
	return &s
}

// settles waits until the hub has what is found in the directories, where
// nothing changes any more, and checks the way there.
func (w *world) settles(dirs ...string) {
	w.t.Helper()
	want := w.found(dirs...)
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	for {
		list, more := w.hub.Stored.All()
		var got []string
		if s := w.newest(w.hub.Stored); s != nil {
			got = w.spell(s.Snapshot.Resources)
			// A push is noted after it has been stored.
			if slices.Equal(got, want) && len(list) > 0 && list[len(list)-1].Revision >= s.Revision {
				w.checkBodies(s.Snapshot.Resources)
				w.checkHistory()
				return
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			w.t.Fatalf("the hub doesn't have what is there (-want +got):\n%s", cmp.Diff(want, got))
		}
	}
}

// checkBodies: a body is the whole file that its hash is of.
func (w *world) checkBodies(list []snapshot.Resource) {
	w.t.Helper()
	for i := range list {
		r := &list[i]
		if r.Status != snapshot.StatusOK || r.Kind == abi.KindMCPConfig {
			continue
		}
		if sum := sha256.Sum256(r.Payload); !bytes.Equal(sum[:], r.ContentHash) {
			w.t.Errorf("%s: a body of %d bytes doesn't fit its hash", r.ID(), len(r.Payload))
		}
	}
}

// checkHistory: versions rise, but where another agent was started, and every
// push but the first of a connection changes something.
func (w *world) checkHistory() {
	w.t.Helper()
	list, _ := w.hub.Stored.All()
	var before content
	starts := w.restarts
	for i := range list {
		p := &list[i].Push
		after := before.with(p)
		// What an agent had sent when it was killed is stored when the hub comes
		// to it, which may be after the next one was started. So it isn't a
		// number but a lower version that tells the next one's first push.
		first := list[i].First
		restarted := i > 0 && first && p.Snapshot.Version < list[i-1].Push.Snapshot.Version && len(starts) > 0 && starts[0] <= i
		if restarted {
			starts = starts[1:]
		}
		switch {
		case i == 0:
			starts = starts[min(1, len(starts)):]
		case !restarted && p.Snapshot.Version < list[i-1].Push.Snapshot.Version,
			p.Snapshot.Version == list[i-1].Push.Snapshot.Version && !first:
			w.t.Errorf("push %d: version %d after %d", i, p.Snapshot.Version, list[i-1].Push.Snapshot.Version)
		case first && list[i].Generation <= list[i-1].Generation:
			w.t.Errorf("push %d: generation %d after %d", i, list[i].Generation, list[i-1].Generation)
		case !first && after.equal(&before):
			w.t.Errorf("push %d, version %d, brings what was there", i, p.Snapshot.Version)
		}
		before = after
	}
	if s := w.newest(w.hub.Stored); s != nil && !cmp.Equal(before.lines(w), w.spell(s.Snapshot.Resources)) {
		w.t.Errorf("what was pushed isn't what is stored:\n%s", cmp.Diff(before.lines(w), w.spell(s.Snapshot.Resources)))
	}
}

// content is what a peer has after some pushes.
type content struct {
	last      snapshot.Snapshot // but for its resources
	resources map[string]snapshot.Resource
}

// with returns the content after one more push.
func (c *content) with(p *store.Push) content {
	after := content{last: p.Snapshot, resources: map[string]snapshot.Resource{}}
	if p.Partial() {
		if !p.Update.Head {
			after.last = c.last
			after.last.Version = p.Snapshot.Version
		}
		for id, r := range c.resources {
			after.resources[id] = r
		}
		for _, id := range p.Update.Removed {
			delete(after.resources, id)
		}
	}
	for _, r := range p.Snapshot.Resources {
		after.resources[r.ID()] = r
	}
	return after
}

// equal reports whether a peer would see a difference.
func (c *content) equal(other *content) bool {
	a, b := c.last, other.last
	a.Resources, b.Resources = c.list(), other.list()
	return snapshot.SameContent(&a, &b)
}

func (c *content) list() []snapshot.Resource {
	var list []snapshot.Resource
	for _, r := range c.resources {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b snapshot.Resource) int { return compare(a.ID(), b.ID()) })
	return list
}

func (c *content) lines(w *world) []string { return w.spell(c.list()) }
