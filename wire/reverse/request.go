package reverse

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcerr"

	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/wire"
	"waymark/wire/waymark"
)

// The codes of answers that aren't in package wire; the numbers are gRPC's.
const (
	CodeCanceled uint64 = 1
	CodeUnknown  uint64 = 2
	CodeInvalid  uint64 = 3
	CodeDeadline uint64 = 4
	// CodeDenied: the caller is known, but not permitted.
	CodeDenied uint64 = 7
	// CodeUnavailable: it can't be done now.
	CodeUnavailable uint64 = 14
)

// maxErrorText bounds the text of an error, in bytes.
const maxErrorText = 512

// Error is a peer's refusal.
type Error struct {
	Code uint64
	Text string
}

func (e *Error) Error() string { return e.Text }

// errKind says that the peer doesn't serve a kind.
var errKind = &Error{wire.CodeUnimplemented, "the peer doesn't know this kind of request"}

// waits is who waits for a response.
type waits struct {
	response chan *waymark.ReverseResponse
	notes    chan []byte // nil for one who takes none
}

type takeKey struct{}

// WithNotes makes Call take notes, in their order, before it returns. While take doesn't
// return, some wait, and further ones are dropped.
func WithNotes(ctx context.Context, take func(body []byte)) context.Context {
	return context.WithValue(ctx, takeKey{}, take)
}

// NotesOf returns what WithNotes was given; nil if there is nothing.
func NotesOf(ctx context.Context) func(body []byte) {
	take, _ := ctx.Value(takeKey{}).(func(body []byte))
	return take
}

type noteKey struct{}

// Notes returns how the handler of a request notes something before its answer; nil if the
// peer takes no notes. What is too long for a note is dropped.
func Notes(ctx context.Context) func(body []byte) {
	note, _ := ctx.Value(noteKey{}).(func(body []byte))
	return note
}

// Call sends a request to the peer and returns the answer's body. Without a deadline in ctx,
// it is half a minute.
//
// # Errors
//
// An *Error if the peer refuses; the context's error if that ends first; or why the channel
// has ended.
func (c *Channel) Call(ctx context.Context, kind string, body []byte) ([]byte, error) {
	if peer := c.Peer(); peer == nil || !peer.Knows(kind) {
		return nil, errKind
	}
	wait := defaultDeadline
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(time.Until(deadline), MaxDeadline)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case c.calls <- struct{}{}:
		defer func() { <-c.calls }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	take := NotesOf(ctx)
	id, wanted := c.expect(take != nil)
	err := c.send(ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Request{Request: &waymark.ReverseRequest{
		Id: id, Kind: kind, Body: body, DeadlineMs: uint32(max(1, wait.Milliseconds())), Notes: take != nil, //nolint:gosec // minutes
	}}})
	if err != nil {
		c.forget(id)
		return nil, err
	}
	for {
		select {
		case body := <-wanted.notes:
			take(body)
			continue
		case response := <-wanted.response:
			for len(wanted.notes) > 0 {
				take(<-wanted.notes)
			}
			if response.GetCode() != 0 {
				return nil, &Error{uint64(response.GetCode()), text.Line(response.GetError(), maxErrorText)}
			}
			return response.GetBody(), nil
		case <-c.ctx.Done():
			c.forget(id)
			return nil, context.Cause(c.ctx)
		case <-ctx.Done():
			c.forget(id)
			// The caller doesn't wait for the peer to read this.
			c.background(func() {
				_ = c.send(c.ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Cancel{Cancel: &waymark.ReverseCancel{Id: id}}})
			})
			return nil, ctx.Err()
		}
	}
}

// background runs f, which Run waits for, unless the channel has ended.
func (c *Channel) background(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.work.Go(f)
	}
}

// expect allocates an id, and returns where the answer to it will arrive.
func (c *Channel) expect(notes bool) (id uint64, answer waits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	answer.response = make(chan *waymark.ReverseResponse, 1)
	if notes {
		answer.notes = make(chan []byte, maxNotes)
	}
	c.waiting[c.last] = answer
	return c.last, answer
}

func (c *Channel) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// accept starts serving a request of the peer.
func (c *Channel) accept(request *waymark.ReverseRequest) error {
	begin, id := time.Now(), request.GetId()
	wait := cmp.Or(min(time.Duration(request.GetDeadlineMs())*time.Millisecond, MaxDeadline), defaultDeadline)
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	if request.GetNotes() {
		ctx = context.WithValue(ctx, noteKey{}, func(body []byte) {
			if len(body) <= maxNote && ctx.Err() == nil {
				_ = c.send(c.ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Note{Note: &waymark.ReverseNote{Id: id, Body: body}}})
			}
		})
	}
	c.mu.Lock()
	_, twice := c.serving[id]
	full := len(c.serving) >= MaxInFlight
	if !twice && !full {
		c.serving[id] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		return &ruleError{"more requests at a time than are allowed, or two with one id"}
	}
	c.work.Go(func() {
		defer cancel()
		response := c.answer(ctx, request)
		c.mu.Lock()
		delete(c.serving, id) // before the answer, which allows the next one
		c.mu.Unlock()
		if c.opts.Observe != nil {
			kind := request.GetKind()
			if c.opts.Handlers[kind] == nil {
				kind = "unknown" // a peer's text
			}
			sum := sha256.Sum256(request.GetBody())
			c.opts.Observe(Served{
				Kind: kind, Code: uint64(response.GetCode()), Bytes: len(request.GetBody()), Digest: hex.EncodeToString(sum[:]),
				Duration: time.Since(begin),
			})
		}
		_ = c.send(c.ctx, &waymark.ReverseFrame{Frame: &waymark.ReverseFrame_Response{Response: response}})
	})
	return nil
}

// answer calls the handler of a request.
func (c *Channel) answer(ctx context.Context, request *waymark.ReverseRequest) *waymark.ReverseResponse {
	response := &waymark.ReverseResponse{Id: request.GetId()}
	handler := c.opts.Handlers[request.GetKind()]
	err := error(errKind)
	if handler != nil {
		response.Body, err = handler(ctx, request.GetBody())
	}
	if err == nil && proto.Size(response) > c.maxSend()-overhead {
		err = &Error{wire.CodeTooLarge, "the answer is larger than a frame may be"}
	}
	if err != nil {
		response.Body, response.Error = nil, text.Line(errtext.Of(err), maxErrorText)
		response.Code = uint32(codeOf(err)) //nolint:gosec // the codes are small
	}
	return response
}

// overhead is more than what a frame adds to a response.
const overhead = 64

func codeOf(err error) uint64 {
	var own *Error
	switch {
	case errors.As(err, &own) && own.Code != 0:
		return own.Code
	case errors.Is(err, context.DeadlineExceeded):
		return CodeDeadline
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	case drpcerr.Code(err) != 0:
		return drpcerr.Code(err)
	}
	return CodeUnknown
}
