package hub

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"storj.io/drpc"
)

// calls stands before the mux: a call is admitted before its message is even
// decoded, and what its peer can make the hub hold is bounded by an intake.
type calls struct {
	hub     *Hub
	session *session
	intake  *intake
	// login says whose call it is.
	login func(ctx context.Context) (caller, error)
	// enter takes a place for the connection, once; nil: it has one.
	enter func() error
	// linger is how long the peer may be silent after an admitted call; 0 is
	// for ever.
	linger time.Duration
	// plain says that all calls of the session come on this one transport.
	plain bool
}

// caller is who makes a call; it travels in the call's context.
type caller struct {
	agentID string
	holder  *holder
	session *session
	note    *note
}

// errInternal is all that an agent learns of what is wrong within the hub.
var errInternal = errors.New("internal error; see the hub's log")

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// HandleRPC implements drpc.Handler.
func (c *calls) HandleRPC(stream drpc.Stream, rpc string) (err error) {
	defer func() {
		// A panic would end the process, and with it all other agents.
		if p := recover(); p != nil {
			c.hub.log.Error("call panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = errInternal
		}
	}()
	var refuse func(error) error
	if s, ok := stream.(interface{ SendError(error) error }); ok {
		refuse = s.SendError
	}
	c.intake.begin(refuse)
	defer c.intake.end()
	if c.plain {
		c.session.enter()
		defer c.session.leave(answerGrace)
	}
	note := &note{rpc: rpc}
	defer func() { c.hub.told(note, err) }()

	who, err := c.admit(stream.Context())
	if err != nil {
		// A peer that is still sending when the answer comes would see EOF
		// instead of it.
		c.intake.admit(c.hub.strangers, c.hub.limits.Handshake)
		c.drain(stream)
		return err
	}
	who.session, who.note = c.session, note
	c.intake.admit(who.holder, c.linger)
	call := &callStream{inner: stream, calls: c, note: note, ctx: context.WithValue(stream.Context(), callerKey{}, who)}
	defer call.close()
	err = c.hub.mux.HandleRPC(call, rpc)
	if err != nil && !call.received { // the mux doesn't know the method
		c.drain(stream)
	}
	return err
}

// drain reads the message without looking at it.
func (c *calls) drain(stream drpc.Stream) {
	_ = stream.MsgRecv(nil, discard{}) // whatever it is
	c.intake.complete()
}

// admit says whose call it is, if that one may call now.
func (c *calls) admit(ctx context.Context) (caller, error) {
	if c.hub.drain.begun() {
		return caller{}, errStopping
	}
	who, err := c.login(ctx)
	if err != nil {
		// It has no part in the rates of those who have a token.
		if slow := throttle(ctx, c.hub.strangers.rate); slow != nil {
			return caller{}, slow
		}
		return caller{}, err
	}
	if c.enter != nil {
		if err := c.enter(); err != nil {
			return caller{}, err
		}
	}
	if err := c.hub.throttle(ctx, who); err != nil {
		return caller{}, err
	}
	c.session.attach(who.holder)
	return who, nil
}
