package watch

import (
	"slices"
	"time"
)

// Batch says who should look again.
type Batch struct {
	// All says that everybody should; Owners is empty then.
	All bool
	// Owners are sorted, and in the watcher at the time of the batch.
	Owners []string
	// Reason is one of the Reason constants, for a person: the weightiest,
	// when several batches were merged.
	Reason string
}

// The reasons of a Batch, the weightiest first.
const (
	// ReasonOverflow: events were lost.
	ReasonOverflow = "overflow"
	// ReasonRecovered: notifications work again.
	ReasonRecovered = "recovered"
	// ReasonEvents: something happened to what an owner asked for.
	ReasonEvents = "events"
	// ReasonAdded: watches or names were added, so something may have
	// happened just before.
	ReasonAdded = "watches added"
	// ReasonPoll: notifications don't work, or not for all directories.
	ReasonPoll = "poll"
	// ReasonRecheck: the safety re-check.
	ReasonRecheck = "recheck"
)

// reasons ranks the reasons.
var reasons = []string{ReasonOverflow, ReasonRecovered, ReasonEvents, ReasonAdded, ReasonPoll, ReasonRecheck}

// pending is a batch in the making. It holds each owner once.
type pending struct {
	all         bool
	owners      map[*owned]struct{}
	reason      string
	first, last time.Time // when it began, and when something was last added
}

func (p *pending) empty() bool { return !p.all && len(p.owners) == 0 }

func (p *pending) add(o *owned, reason string) {
	if p.owners == nil {
		p.owners = map[*owned]struct{}{}
	}
	p.owners[o] = struct{}{}
	p.because(reason)
}

func (p *pending) addAll(reason string) {
	p.all = true
	p.because(reason)
}

func (p *pending) because(reason string) {
	if p.reason == "" || slices.Index(reasons, reason) < slices.Index(reasons, p.reason) {
		p.reason = reason
	}
}

func (p *pending) merge(other *pending) {
	p.all = p.all || other.all
	for o := range other.owners {
		p.add(o, other.reason)
	}
	p.because(other.reason)
}

func (p *pending) forget(o *owned) {
	delete(p.owners, o)
	if p.empty() {
		p.reason = ""
	}
}

func (p *pending) batch() Batch {
	b := Batch{All: p.all, Reason: p.reason}
	if !p.all {
		for o := range p.owners {
			b.Owners = append(b.Owners, o.name)
		}
		slices.Sort(b.Owners)
	}
	return b
}
