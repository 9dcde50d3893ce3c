package fleet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"waymark/hub/store"
)

const (
	// leaseAgain is how often a hub renews its lease, and leaseHolds how long that lasts:
	// longer than a restart of the database takes.
	leaseAgain, leaseHolds = 5 * time.Second, 20 * time.Second
	// leaseFarewell is how long a stopping hub tries to end its lease.
	leaseFarewell = 2 * time.Second
	// presenceDefault is the default of Options.Presence.
	presenceDefault = 2 * time.Second
)

// presence tells other hubs with the same store that this one serves, by a lease, and looks
// after the agents that may be connected to several.
type presence struct {
	fleet *Fleet
	// leased is closed when the hub has tried to get its first lease. Without one, agents aren't
	// shown as connected to it.
	leased chan struct{}
	// condition is the newest one; nil: none.
	condition atomic.Pointer[store.Condition]
}

func (p *presence) init(f *Fleet) { p.fleet, p.leased = f, make(chan struct{}) }

// begun waits for leased.
func (p *presence) begun(ctx context.Context) error {
	select {
	case <-p.leased:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *presence) run(ctx context.Context) {
	var leaseFailing, lookFailing bool
	p.report(ctx, p.renew(ctx), &leaseFailing)
	close(p.leased)
	lease, look := time.NewTicker(leaseAgain), time.NewTicker(cmp.Or(p.fleet.opts.Presence, presenceDefault))
	defer lease.Stop()
	defer look.Stop()
	for {
		changed := p.fleet.writers.changed.Changed()
		p.report(ctx, p.look(ctx), &lookFailing)
		select {
		case <-lease.C:
			p.report(ctx, p.renew(ctx), &leaseFailing)
		case <-look.C:
		case <-changed:
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseFarewell)
			defer cancel()
			if err := p.fleet.opts.Store.EndLease(ctx, p.fleet.opts.Self.ID); err != nil { // it ends by itself
				p.fleet.opts.Log.Debug("lease not ended", slog.Any("error", err))
			}
			return
		}
	}
}

// report logs the first of several failures.
func (p *presence) report(ctx context.Context, err error, failing *bool) {
	if err != nil && !*failing && ctx.Err() == nil {
		p.fleet.opts.Log.Warn("hubs can't tell each other who is connected", slog.Any("error", err))
	}
	*failing = err != nil
}

const (
	// behindMost is how long readers may be unable to resume before it is logged, clockMost how
	// far the clocks of machine and database may differ.
	behindMost, clockMost = 5 * time.Second, 2 * time.Second
)

// check looks at the database's condition, and logs when it becomes a problem.
func (p *presence) check(ctx context.Context) error {
	now, err := p.fleet.opts.Store.Condition(ctx)
	if err != nil {
		return err
	}
	was := p.condition.Swap(&now)
	if now.Behind > behindMost && (was == nil || was.Behind <= behindMost || was.Holder != now.Holder) {
		p.fleet.opts.Log.Warn("a transaction goes on for long, and readers can't resume after what came since", slog.Duration("since", now.Behind), slog.String("transaction", now.Holder))
	}
	if now.ClockOff.Abs() > clockMost && (was == nil || was.ClockOff.Abs() <= clockMost) {
		p.fleet.opts.Log.Error("the clock of this machine is wrong, or the database's; nothing is deleted by this machine's", slog.Duration("database_ahead", now.ClockOff))
	}
	return nil
}

// renew renews the lease.
func (p *presence) renew(ctx context.Context) error {
	if err := p.check(ctx); err != nil {
		return err
	}
	self := p.fleet.opts.Self
	begun, err := p.fleet.opts.Store.Lease(ctx, self, leaseHolds)
	if err != nil || !begun {
		return err
	}
	// Others may have taken this hub for dead.
	if agents := p.fleet.opts.Transport.Agents(); len(agents) > 0 {
		return p.fleet.opts.Store.KeepAgents(ctx, self.ID, agents)
	}
	return nil
}

// look compares what the store says of contested agents with the connections here.
func (p *presence) look(ctx context.Context) error {
	self, since := p.fleet.opts.Self.ID, p.fleet.writers.sessions()
	list, err := p.fleet.opts.Store.Contested(ctx, self)
	if err != nil {
		return err
	}
	p.fleet.writers.setElsewhere(list, since)
	counts := p.fleet.writers.unheard()
	var keep []string
	for _, c := range list {
		n, connected := counts[c.AgentID], p.fleet.opts.Transport.Connected(c.AgentID)
		switch {
		case !connected, n == 0 && c.Hub == self && c.Elsewhere.Generation == 0:
			counts[c.AgentID] = -1
		case n == c.NotHeard:
			delete(counts, c.AgentID)
		default:
			counts[c.AgentID] = n
		}
		if connected && c.Hub == "" { // the connection that was newer has ended
			keep = append(keep, c.AgentID)
		}
	}
	if len(keep) > 0 {
		err = p.fleet.opts.Store.KeepAgents(ctx, self, keep)
	}
	if len(counts) > 0 {
		err = errors.Join(err, p.fleet.opts.Store.SetNotHeard(ctx, self, counts))
	}
	return err
}
