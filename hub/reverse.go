package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcerr"

	"waymark/hub/transport"
	"waymark/internal/backoff"
	"waymark/internal/errtext"
	"waymark/internal/notify"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// errReplaced ends the older channel of a run, whose connection may be dead.
var errReplaced = drpcerr.WithCode(errors.New("a newer reverse channel of this agent has been opened"), wire.CodeSuperseded)

// errNotHeard refuses the channel of an agent in whose place another one is heard.
var errNotHeard = drpcerr.WithCode(errors.New("another agent with the same token has taken over"), wire.CodeSuperseded)

const (
	// deliverTimeout is for an agent's answer.
	deliverTimeout = 30 * time.Second
	// An agent that can't take what it is sent is asked again after these.
	deliverAgain, deliverLast = time.Second, 5 * time.Minute
)

// channels are the reverse channels of this hub: one for each agent, the newest.
type channels struct {
	changed notify.Signal // that another one is open

	mu   sync.Mutex // guards open
	open map[string]*agentChannel
}

// agentChannel is the reverse channel to one agent.
type agentChannel struct {
	*reverse.Channel
	agentID string
	run     string
	asks    chan struct{} // an element for each reader's question that is under way
	// calls holds an element for each call for a chat that is under way.
	calls chan struct{}
}

// put makes a channel its agent's and returns the one that was.
func (c *channels) put(one *agentChannel) (before *agentChannel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[string]*agentChannel)
	}
	before = c.open[one.agentID]
	c.open[one.agentID] = one
	c.changed.Notify()
	return before
}

// remove forgets a channel, unless another one has its place.
func (c *channels) remove(one *agentChannel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[one.agentID] == one {
		delete(c.open, one.agentID)
	}
}

// of returns the channel of an agent; nil where there is none.
func (c *channels) of(agentID string) *agentChannel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[agentID]
}

func (c *channels) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Reverse implements waymark.DRPCContextServer. It serves an agent's reverse channel
// until that ends.
func (s *contextService) Reverse(stream waymark.DRPCContext_ReverseStream) error {
	h, call := s.hub, transport.CallOf(stream.Context())
	call.Last()
	one := &agentChannel{agentID: call.AgentID, asks: make(chan struct{}, maxAsks), calls: make(chan struct{}, maxChatCalls)}
	log := h.log.With(slog.String("agent", one.agentID))
	ready := make(chan struct{})
	one.Channel = reverse.New(stream, reverse.Options{
		End: call.End,
		Greet: func(hello reverse.Hello) error {
			one.run = hex.EncodeToString(hello.Run)
			return h.writers.admits(one.agentID, one.run)
		},
		Ready: func(hello reverse.Hello) {
			if before := h.channels.put(one); before != nil {
				before.End(errReplaced)
			}
			log.Info("reverse channel open", slog.Int("version", hello.Version), slog.Int("kinds", len(hello.Kinds)))
			close(ready)
		},
	})
	ctx, cancel := context.WithCancel(stream.Context())
	var delivery sync.WaitGroup
	delivery.Go(func() {
		select {
		case <-ready:
			h.deliver(ctx, one, log)
		case <-ctx.Done():
		}
	})
	err := one.Run()
	cancel()
	delivery.Wait()
	h.channels.remove(one)
	log.Info("reverse channel closed", slog.String("error", errtext.Of(err)))
	return err
}

// admits returns why the run of an agent has no reverse channel, if that is so:
// another run of it is heard.
func (w *writers) admits(agentID, run string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder := w.holder(agentID); holder.Generation != 0 && holder.Run != run {
		return errNotHeard
	}
	return nil
}

// deliver brings the agent the approvals that concern it, whenever they are others
// than it has, until ctx ends.
func (h *Hub) deliver(ctx context.Context, one *agentChannel, log *slog.Logger) {
	if !one.Peer().Knows(reverse.KindSetApprovals) {
		return
	}
	pauses := backoff.Backoff{Shortest: deliverAgain, Longest: deliverLast, Jitter: true}
	var has *approvalSet // what the agent has; nil: nobody knows
	for ctx.Err() == nil {
		set, changed, err := h.approvals.of(ctx, one.agentID)
		if err == nil && !set.equal(has) {
			if err := h.writers.admits(one.agentID, one.run); err != nil {
				one.End(err)
				return
			}
			if err = one.setApprovals(ctx, set); err == nil {
				has = set
				pauses.Reset()
				log.Info("approvals delivered", slog.Int("approvals", len(set.signed)))
			}
		}
		var wait <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			has = nil
			pause := pauses.Next()
			log.Warn("approvals not delivered", slog.String("error", errtext.Of(err)), slog.Duration("again_in", pause))
			wait = time.After(pause)
		case !set.until.IsZero():
			wait = time.After(set.until.Sub(h.now()))
		}
		select {
		case <-changed:
		case <-wait:
		case <-ctx.Done():
		}
	}
}

func (c *agentChannel) setApprovals(ctx context.Context, set *approvalSet) error {
	body, err := proto.Marshal(&waymark.SetApprovals{Signed: set.signed})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deliverTimeout)
	defer cancel()
	_, err = c.Call(ctx, reverse.KindSetApprovals, body)
	return err
}
