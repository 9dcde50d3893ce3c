package calls

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
	"waymark/internal/await"
	"waymark/internal/errtext"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// errReplaced ends the older channel of a run, whose connection may be dead.
var errReplaced = drpcerr.WithCode(errors.New("a newer reverse channel of this agent has been opened"), wire.CodeSuperseded)

const (
	// deliverTimeout limits how long an agent may take to answer.
	deliverTimeout = 30 * time.Second
	// deliverAgain and deliverLast are the pauses after an agent has failed to accept
	// approvals.
	deliverAgain, deliverLast = time.Second, 5 * time.Minute
)

// channels are the reverse channels of this hub: the newest one of each agent.
type channels struct {
	changed await.Signal // signals a new channel

	mu   sync.Mutex // guards open
	open map[string]*agentChannel
}

// agentChannel is the reverse channel to one agent.
type agentChannel struct {
	*reverse.Channel
	agentID string
	run     string
	asks    chan struct{} // has an element for each question of a reader in progress
	// calls has an element for each call for a chat in progress.
	calls chan struct{}
}

// put makes a channel its agent's, and returns the previous one.
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

// remove removes a channel, unless another one has replaced it.
func (c *channels) remove(one *agentChannel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[one.agentID] == one {
		delete(c.open, one.agentID)
	}
}

// of returns the channel of an agent; nil if there is none.
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

// Serve serves an agent's reverse channel until that ends.
func (c *Calls) Serve(stream waymark.DRPCContext_ReverseStream) error {
	call := transport.CallOf(stream.Context())
	call.Last()
	one := &agentChannel{agentID: call.AgentID, asks: make(chan struct{}, maxAsks), calls: make(chan struct{}, maxChatCalls)}
	log := c.opts.Log.With(slog.String("agent", one.agentID))
	ready := make(chan struct{})
	one.Channel = reverse.New(stream, reverse.Options{
		End: call.End,
		Greet: func(hello reverse.Hello) error {
			one.run = hex.EncodeToString(hello.Run)
			return c.opts.Fleet.Admits(one.agentID, one.run)
		},
		Ready: func(hello reverse.Hello) {
			if before := c.channels.put(one); before != nil {
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
			c.deliver(ctx, one, log)
		case <-ctx.Done():
		}
	})
	err := one.Run()
	cancel()
	delivery.Wait()
	c.channels.remove(one)
	log.Info("reverse channel closed", slog.String("error", errtext.Of(err)))
	return err
}

// deliver sends the agent its approvals whenever they have changed, until ctx ends.
func (c *Calls) deliver(ctx context.Context, one *agentChannel, log *slog.Logger) {
	if !one.Peer().Knows(reverse.KindSetApprovals) {
		return
	}
	pauses := await.Backoff{Shortest: deliverAgain, Longest: deliverLast, Jitter: true}
	var has *approvalSet // what the agent has; nil if that is unknown
	for ctx.Err() == nil {
		set, changed, err := c.approvals.of(ctx, one.agentID)
		if err == nil && !set.equal(has) {
			if err := c.opts.Fleet.Admits(one.agentID, one.run); err != nil {
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
			wait = time.After(set.until.Sub(c.opts.Now()))
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
