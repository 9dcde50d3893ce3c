package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"storj.io/drpc/drpcerr"

	"waymark/wire"
)

// errTooLarge is the answer to a message that is too large.
var errTooLarge = drpcerr.WithCode(errors.New("the message is larger than this hub takes"), wire.CodeTooLarge)

// intake is the receiving side of a DRPC transport. It limits what its peer can make this
// process hold, and for how long: a message has a time limit, a large one needs a slot, and
// a call must be authenticated before its message may become large.
//
// A call passes begin, admit, complete and end, in this order, called by the goroutine that
// serves it. DRPC's own goroutine calls Read.
type intake struct {
	conn   net.Conn
	limits *Limits
	slots  chan struct{} // of the whole Transport, with an element for each large call
	done   chan struct{} // closed by Close

	mu sync.Mutex // guards the fields below
	// idle is how long the peer may be silent between calls; 0 means forever.
	idle time.Duration
	// count is what was read since the last complete message.
	count    int
	deadline time.Time     // of the next Read; zero means none
	admitted chan struct{} // closed when owner is set
	owner    *client
	large    bool              // this call has an element in slots and in owner's
	lasting  bool              // the call has many messages, none of them large
	since    time.Time         // when the large message that is arriving got its slot
	refuse   func(error) error // answers the call that is being received
	// final is the deadline of a transport that is ending, which nothing extends; zero
	// until then.
	final  time.Time
	closed bool
}

func newIntake(conn net.Conn, limits *Limits, slots chan struct{}, idle time.Duration) *intake {
	t := &intake{
		conn: conn, limits: limits, slots: slots, done: make(chan struct{}),
		idle: idle, admitted: make(chan struct{}),
	}
	t.extend(idle)
	return t
}

// begin is called when a call begins; refuse answers it with an error.
func (t *intake) begin(refuse func(error) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refuse = refuse
	t.extend(t.limits.Read)
}

// admit sets the client of the call. An agent may be silent between calls for idle.
func (t *intake) admit(owner *client, idle time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner, t.idle = owner, idle
	close(t.admitted)
}

// complete is called when the message is complete.
func (t *intake) complete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count, t.since = 0, time.Time{}
	t.extend(0)
}

// end is called when the call is answered.
func (t *intake) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
	t.refuse, t.owner, t.admitted, t.lasting = nil, nil, make(chan struct{}), false
	if t.count <= stray {
		t.extend(t.idle)
	}
}

// past is the deadline of a closed transport.
func past() time.Time { return time.Unix(1, 0) }

// stray is what may arrive between calls, such as the end of the last one, without counting
// as the next.
const stray = 1 << 10

// extend sets the deadline of the Read in progress and of later ones. The caller holds
// t.mu.
func (t *intake) extend(d time.Duration) {
	switch {
	case !t.final.IsZero():
		t.deadline = t.final
	case d > 0:
		t.deadline = time.Now().Add(d)
	default:
		t.deadline = time.Time{}
	}
	t.apply()
}

// apply sets the deadline or, if it is earlier, the time by which a large message must have
// come this far. The caller holds t.mu.
func (t *intake) apply() {
	deadline := t.deadline
	if !t.since.IsZero() && t.final.IsZero() {
		due := t.since.Add(t.limits.Stall + time.Duration(t.count)*time.Second/MinUpload)
		if deadline.IsZero() || due.Before(deadline) {
			deadline = due
		}
	}
	_ = t.conn.SetReadDeadline(deadline) // a closed connection fails anyway
}

func (t *intake) release() {
	t.since = time.Time{}
	if t.large {
		<-t.slots
		<-t.owner.large
		t.large = false
	}
}

// Read implements io.Reader.
func (t *intake) Read(p []byte) (int, error) {
	if err := t.ready(); errors.Is(err, errTooLarge) {
		return 0, t.overflow(p)
	} else if err != nil {
		return 0, err
	}
	n, err := t.conn.Read(p[:min(len(p), t.room())])
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.count
	t.count += n
	if !t.since.IsZero() {
		t.apply()
	}
	if before <= stray && t.count > stray && t.refuse == nil && t.idle == 0 {
		t.extend(t.limits.Read) // a call is arriving
	}
	return n, err
}

// room is how much may be read before ready must be called again.
func (t *intake) room() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.lasting:
		return max(1, lastingAhead+1-t.count)
	case t.count > smallCall:
		return maxCall
	}
	return smallCall + 1 - t.count
}

// lastingAhead is how much of a lasting call may have been read ahead: DRPC has a message
// for the service, the next one, and the beginning of a third.
const lastingAhead = 3 * smallCall

// last marks the call as one of many messages, with any time between them. It ends the
// deadline of the first message.
func (t *intake) last() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release() // the first one may have been large
	t.lasting = true
	t.extend(0)
}

// ready waits until there is room for the next data.
func (t *intake) ready() error {
	t.mu.Lock()
	count, large, lasting, admitted, deadline := t.count, t.large, t.lasting, t.admitted, t.deadline
	t.mu.Unlock()
	switch {
	case count > maxCall, lasting && count > lastingAhead:
		return errTooLarge
	case count <= smallCall || large || lasting:
		return nil
	}
	if deadline.IsZero() { // the answer to the last call is still being sent
		deadline = time.Now().Add(t.limits.Read)
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for _, wait := range []func(context.Context) error{
		func(ctx context.Context) error { return t.wait(ctx, admitted) },
		t.takeSlots,
	} {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// overflow answers a call that is too large and discards its rest for a while, because the
// answer would be lost if sent data stayed unread. The transport ends with the error.
func (t *intake) overflow(buf []byte) error {
	t.mu.Lock()
	refuse := t.refuse
	t.final = time.Now().Add(t.limits.Farewell)
	t.extend(0)
	t.mu.Unlock()
	if refuse == nil || refuse(errTooLarge) != nil {
		return errTooLarge
	}
	for {
		if _, err := t.conn.Read(buf); err != nil {
			return errTooLarge
		}
	}
}

func (t *intake) wait(ctx context.Context, ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-t.done:
		return net.ErrClosed
	case <-ctx.Done():
		return os.ErrDeadlineExceeded
	}
}

// takeSlots takes the token's slot first, because waiting for that one doesn't block
// others.
func (t *intake) takeSlots(ctx context.Context) error {
	t.mu.Lock()
	owner := t.owner
	t.mu.Unlock()
	if owner == nil { // the call has ended meanwhile
		return nil
	}
	if err := t.put(ctx, owner.large); err != nil {
		return err
	}
	if err := t.put(ctx, t.slots); err != nil {
		<-owner.large
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.large = t.owner == owner && !t.closed
	if !t.large {
		<-t.slots
		<-owner.large
		return nil
	}
	t.since = time.Now()
	t.apply()
	return nil
}

func (t *intake) put(ctx context.Context, ch chan<- struct{}) error {
	select {
	case ch <- struct{}{}:
		return nil
	case <-t.done:
		return net.ErrClosed
	case <-ctx.Done():
		return os.ErrDeadlineExceeded
	}
}

// Write implements io.Writer.
func (t *intake) Write(p []byte) (int, error) {
	if err := t.conn.SetWriteDeadline(time.Now().Add(t.limits.Write)); err != nil {
		return 0, err
	}
	return t.conn.Write(p)
}

// Close implements io.Closer.
func (t *intake) Close() error {
	t.mu.Lock()
	first := !t.closed
	t.closed, t.final = true, past()
	t.mu.Unlock()
	if first {
		close(t.done)
	}
	err := t.conn.Close()
	// yamux doesn't end a Read in progress itself.
	_ = t.conn.SetReadDeadline(past())
	return err
}
