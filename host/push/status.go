package push

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"waymark/snapshot"
	"waymark/wire"
)

// State is the state of a Pusher.
type State string

// The states.
const (
	// StateIdle: not running, or there is no peer.
	StateIdle State = "idle"
	// StateConnecting: a connection is being made.
	StateConnecting State = "connecting"
	// StateConnected: connected, and no push has failed since.
	StateConnected State = "connected"
	// StateBackingOff: something failed; the next attempt follows after a pause.
	StateBackingOff State = "backing_off"
	// StateUnimplemented: the peer knows neither protocol. It is left alone until the next
	// connection.
	StateUnimplemented State = "unimplemented"
	// StateVersionRefused: the peer speaks another version of its API. Retried slowly.
	StateVersionRefused State = "version_refused"
	// StateUnauthorized: the peer refuses the token. Retried slowly.
	StateUnauthorized State = "unauthorized"
	// StateConflict: another writer owns this agent's rows. A hub says when that writer is
	// gone; other peers get only new content, slowly.
	StateConflict State = "conflict"
)

// Reason says why a resource wasn't sent.
type Reason string

// The reasons. The first two mostly depend on what Coder's wire can express; the others are
// what a peer would refuse the whole push for.
const (
	ReasonKind            Reason = "kind"             // this wire doesn't know it
	ReasonMode            Reason = "mode"             // doesn't always apply
	ReasonNoSource        Reason = "no_source"        // nothing to identify it by
	ReasonSourceTooLong   Reason = "source_too_long"  // over wire.MaxSource
	ReasonUnknownStatus   Reason = "unknown_status"   // not one of the five
	ReasonDuplicateSource Reason = "duplicate_source" // another resource has it, on this wire
	ReasonTooMany         Reason = "too_many"         // more than the peer takes
	ReasonDuplicateName   Reason = "duplicate_name"   // a skill of that name comes first
	ReasonTooLarge        Reason = "too_large"        // over wire.MaxMessage or wire.MaxBodies
	ReasonUser            Reason = "user"             // the user's own, which stays on this machine
)

// Status is the state of the push.
type Status struct {
	// Peer is the address that the agent pushes to.
	Peer string `json:"peer"`
	// State is the state of the connection to the peer.
	State State `json:"state"`
	// Protocol is the protocol that the peer answered to last; empty until then.
	Protocol wire.Protocol `json:"protocol"`
	// LastAccepted is nil until a push has been accepted.
	LastAccepted *AcceptedPush `json:"last_accepted"`
	// LastError is the newest error; empty after a push was accepted.
	LastError string `json:"last_error"`
	// HeldBack counts what isn't sent of the newest snapshot that was prepared for the peer.
	HeldBack HeldBack `json:"held_back"`
	// Mended is how many of its resources and plugins are changed before sending, so that the
	// peer accepts them.
	Mended int `json:"mended" minimum:"0"`
	// Reverse is the channel by which the peer may send requests to the agent.
	Reverse ReverseStatus `json:"reverse"`
}

// AcceptedPush is a push that the peer has stored.
type AcceptedPush struct {
	// Version is that of the snapshot.
	Version uint64 `json:"version" minimum:"1"`
	// Hash is the aggregate hash of what was sent, which may be less than the snapshot.
	Hash snapshot.Hash `json:"hash"`
	// At is when it was accepted.
	At time.Time `json:"at"`
}

// HeldBack counts resources that weren't sent.
type HeldBack struct {
	// Count is how many resources aren't sent.
	Count int `json:"count" minimum:"0"`
	// Reasons counts them by the reason, such as `too_large`.
	Reasons map[Reason]int `json:"reasons"`
}

func (h *HeldBack) add(reason Reason) { h.addMany(reason, 1) }

func (h *HeldBack) addMany(reason Reason, n int) {
	if h.Reasons == nil {
		h.Reasons = map[Reason]int{}
	}
	h.Count += n
	h.Reasons[reason] += n
}

// Status returns the current status.
func (p *Pusher) Status() Status {
	status, _ := p.Watch()
	return status
}

// Watch returns the current status, and a channel that is closed when it has changed.
func (p *Pusher) Watch() (Status, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := p.status
	status.HeldBack.Reasons = maps.Clone(status.HeldBack.Reasons)
	if status.LastAccepted != nil {
		last := *status.LastAccepted
		status.LastAccepted = &last
	}
	return status, p.changed.Changed()
}

// Accepted waits until the peer has stored the given version or a newer one, or one of equal
// content. It fails with ErrClosed, and when ctx is done, with the current status in the
// error.
func (p *Pusher) Accepted(ctx context.Context, version uint64) error {
	for {
		p.mu.Lock()
		settled, state, changed := p.settled, p.status.State, p.changed.Changed()
		p.mu.Unlock()
		if settled >= version {
			return nil
		}
		select {
		case <-changed:
		case <-p.closing.Done():
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("version %d hasn't been accepted by the peer (state %s): %w", version, state, ctx.Err())
		}
	}
}

// update changes the status under the lock and wakes watchers.
func (p *Pusher) update(change func(*Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
	p.changed.Notify()
}

// setState moves to state because of err, which may be nil, and logs it. It logs before it
// changes the status, as the functions below do, so that a goroutine that waited for a status
// finds its cause in the log. Each part of the status is changed by one goroutine only, so
// nothing comes between.
func (p *Pusher) setState(state State, err error) {
	text := p.describe(err)
	before := p.Status()
	level, message := slog.LevelDebug, "push state changed"
	attrs := []slog.Attr{slog.String("state", string(state)), slog.String("before", string(before.State))}
	if err != nil {
		if before.State != state || before.LastError != text { // repeated failures are no news
			level = slog.LevelWarn
		}
		attrs = append(attrs, slog.String("error", text))
	}
	p.log.LogAttrs(context.Background(), level, message, attrs...)
	p.update(func(s *Status) {
		s.State = state
		if err != nil {
			s.LastError = text
		}
	})
}

// logReverse logs a change of the reverse channel.
func (p *Pusher) logReverse(before ReverseState, next ReverseStatus) {
	attrs := []slog.Attr{slog.String("state", string(next.State)), slog.String("before", string(before))}
	level := slog.LevelInfo
	if next.LastError != "" {
		attrs = append(attrs, slog.String("error", next.LastError))
	}
	if next.State == ReverseUnimplemented || next.LastError == "" && next.State == ReverseClosed {
		level = slog.LevelDebug
	}
	p.log.LogAttrs(context.Background(), level, "reverse channel", attrs...)
}

// setPrepared stores what was changed or left out of a snapshot in the status, and logs it if
// it differs from the previous time.
func (p *Pusher) setPrepared(rep report) {
	p.logPrepared(rep)
	p.update(func(s *Status) { s.HeldBack, s.Mended = rep.held, rep.mended })
}

func (p *Pusher) logPrepared(rep report) {
	before := p.Status()
	if before.Mended == rep.mended && maps.Equal(before.HeldBack.Reasons, rep.held.Reasons) {
		return
	}
	message := "push was changed so that the peer takes it"
	if rep.held.Count == 0 && rep.mended == 0 {
		message = "push is complete again"
	}
	p.log.Warn(message,
		slog.Int("held_back", rep.held.Count), slog.Any("reasons", rep.held.Reasons),
		slog.Int("mended", rep.mended))
}

// settle records that the peer has version; last is the push that brought it, nil if the peer
// already had equal content.
func (p *Pusher) settle(version uint64, protocol wire.Protocol, last *AcceptedPush) {
	if last != nil {
		p.log.Info("snapshot accepted", slog.Uint64("version", version), slog.String("protocol", string(protocol)))
	}
	p.update(func(s *Status) {
		p.settled = max(p.settled, version)
		s.State, s.Protocol, s.LastError = StateConnected, protocol, ""
		if last != nil {
			s.LastAccepted = last
		}
	})
}
