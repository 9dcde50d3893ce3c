package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// errStopping is why connections end, and calls are refused, when the hub is
// about to stop. Agents come back, to this hub or to another one.
var errStopping = drpcerr.WithCode(errors.New("the hub is stopping; connect again"), wire.CodeBusy)

// drain knows all connections, so that they can end in good order.
type drain struct {
	// ctx ends when Drain is called.
	ctx    context.Context //nolint:containedctx // a signal with something to wait for
	cancel context.CancelFunc

	mu       sync.Mutex // guards the rest
	sessions map[*session]struct{}
	empty    chan struct{} // closed when there are none any more; nil: nobody waits
}

func (d *drain) init() {
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.sessions = make(map[*session]struct{})
}

func (d *drain) begun() bool { return d.ctx.Err() != nil }

func (d *drain) add(s *session) {
	d.mu.Lock()
	d.sessions[s] = struct{}{}
	d.mu.Unlock()
	if d.begun() { // too late for Drain to have seen it
		s.goAway()
	}
}

func (d *drain) remove(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, s)
	if d.empty != nil && len(d.sessions) == 0 {
		close(d.empty)
		d.empty = nil
	}
}

// all returns the connections that there are, and what is closed when the last
// of them is gone; nil when that is so now.
func (d *drain) all() (list []*session, empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.sessions {
		list = append(list, s)
	}
	if len(list) > 0 && d.empty == nil {
		d.empty = make(chan struct{})
	}
	return list, d.empty
}

// Drain ends the agents' connections in good order: no new ones are taken,
// calls that are under way are answered, and then each connection is ended,
// which tells its agent to connect again. It returns when none is left, or
// with ctx's error; Close ends what is left then. It may be called twice.
func (h *Hub) Drain(ctx context.Context) error {
	h.drain.cancel()
	list, empty := h.drain.all()
	for _, s := range list {
		s.goAway()
	}
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// goAway ends the connection as soon as no call is under way on it.
func (s *session) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = true
	if s.calls == 0 {
		s.drop(errStopping)
	}
}

// answerGrace is how long a peer has to read its answer before the connection
// that it came on ends: DRPC may forget what came just before the end.
const answerGrace = 100 * time.Millisecond

// enter and leave are the begin and the end of a call, or of the stream that is
// its own. A session that is to go does so the grace after the last of them.
func (s *session) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

func (s *session) leave(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	switch {
	case !s.leaving || s.calls > 0 || s.ended:
	case grace == 0:
		s.drop(errStopping)
	case s.parting == nil:
		s.parting = time.AfterFunc(grace, func() { s.drop(errStopping) })
	}
}
