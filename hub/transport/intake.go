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

// errTooLarge is the answer to a message that is.
var errTooLarge = drpcerr.WithCode(errors.New("the message is larger than this hub takes"), wire.CodeTooLarge)

// intake is the receiving side of one DRPC transport. It bounds what its peer
// can make this process hold and for how long: a message has a time to arrive, a
// large one a slot, and what isn't known to come from an agent waits before
// it is large.
//
// A call goes through begin, admit, complete and end, in this order, which
// are called by the goroutine that serves it; Read is called by DRPC's own.
type intake struct {
	conn   net.Conn
	limits *Limits
	slots  chan struct{} // of the whole Transport, an element for each large call
	done   chan struct{} // closed by Close

	mu sync.Mutex // guards the rest
	// idle is how long the peer may be silent between calls; 0 is for ever.
	idle time.Duration
	// count is what has been read since the last complete message.
	count    int
	deadline time.Time     // of the next Read; zero: none
	admitted chan struct{} // closed when owner is set
	owner    *client
	large    bool              // slots and owner have an element of ours
	lasting  bool              // the call has many messages, none of them large
	since    time.Time         // when a large message that is coming in got its slot
	refuse   func(error) error // answers the call that is being received
	// final is the deadline of a transport that is about to end, which nothing
	// puts off; zero until then.
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

// admit says whose call it is. What is known to come from an agent may be
// silent between calls for idle.
func (t *intake) admit(owner *client, idle time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner, t.idle = owner, idle
	close(t.admitted)
}

// complete is called when the message is there.
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

// past is the deadline of a transport that is closed.
func past() time.Time { return time.Unix(1, 0) }

// stray is what may come between calls, such as the end of the last one,
// without being taken for the next.
const stray = 1 << 10

// extend sets the deadline of the Read that is under way and of all later
// ones, under the lock.
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

// apply sets the deadline, or the one before it by which a large message has to
// have come this far. t.mu is held.
func (t *intake) apply() {
	deadline := t.deadline
	if !t.since.IsZero() && t.final.IsZero() {
		due := t.since.Add(t.limits.Stall + time.Duration(t.count)*time.Second/MinUpload)
		if deadline.IsZero() || due.Before(deadline) {
			deadline = due
		}
	}
	_ = t.conn.SetReadDeadline(deadline) // a closed one fails by itself
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
		t.extend(t.limits.Read) // a call is coming in
	}
	return n, err
}

// room is how much may be read before ready has to be asked again.
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

// lastingAhead is how much of a lasting call may have been read before it is taken:
// DRPC has one message for the service, another one ready, and the begin of a third.
const lastingAhead = 3 * smallCall

// last says that the call has many messages, and that there may be any time
// between them.
func (t *intake) last() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release() // the first one was large, at worst
	t.lasting = true
	t.extend(0)
}

// ready waits until there is room for what comes next.
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
	if deadline.IsZero() { // the answer to the last call is still on its way
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

// overflow answers a call that is too large and lets the rest of it go by,
// for a while: where what has been sent isn't read, the answer is lost, too.
// The transport ends with the error.
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

// takeSlots takes the token's slot first: whoever waits for that one keeps
// nobody else waiting.
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
	// yamux leaves the end of a Read that is under way to the peer.
	_ = t.conn.SetReadDeadline(past())
	return err
}
