package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/text"
)

// Record is a line of the audit log: one call that acted, or was refused to a
// token that is known.
type Record struct {
	Time time.Time `json:"time"` // when the call began
	// Token is the id of the token, Chat the chat that the call was made for, if it
	// said so, which anybody can.
	Token string `json:"token"`
	Chat  string `json:"chat,omitempty"`
	// Action is the method and the path, in which the ids of processes are.
	Action string `json:"action"`
	// On is what it was done to: paths, or the id of what was started.
	On []string `json:"on,omitempty"`
	// Digest is the SHA-256 of the body, in hexadecimal, and Bytes its length.
	// Without a Digest the body wasn't read to its end.
	Digest string `json:"digest,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	// Code is the HTTP status; 0 means that there was no answer.
	Code int `json:"code"`
	// Repeated counts further calls of the token that were refused, or only looked, and
	// have no line of their own.
	Repeated int `json:"repeated,omitempty"`

	// Owner has it kept apart, as is what the control token does: it approves, or gives
	// rights. Looks says that the call has changed nothing.
	Owner, Looks bool `json:"-"`
}

// acted reports whether the call may have done something. One that was refused hasn't.
func (r *Record) acted() bool { return !r.Looks && r.Code/100 != 4 }

// Audit takes the records of what was done, from any goroutine. Admit is called before a
// call that acts, and Record when it is over.
type Audit interface {
	// Admit reports whether what a token does can be recorded, and keeps room for it until
	// done is called, after Record. Its error is a *problem.Error.
	Admit(token string) (done func(), err error)
	Record(r Record)
}

type auditKey struct{}

// Audited returns a context whose acting calls are recorded.
func Audited(ctx context.Context, audit Audit) context.Context {
	return context.WithValue(ctx, auditKey{}, audit)
}

type notesKey struct{}

// A line is bounded: what a call notes by what one edit may name, a path by what
// the system takes, and all of them together.
const (
	maxNotes = 64
	maxNote  = 4 << 10
	maxNoted = 16 << 10
)

type notes struct {
	on    []string
	bytes int
}

// Note adds to the audit log's record of a call what is acted on: a path, the id of
// what was started, and never a content. It is for handlers behind [Guard], in
// their own goroutine; elsewhere it does nothing.
func Note(ctx context.Context, on ...string) {
	n, _ := ctx.Value(notesKey{}).(*notes)
	if n == nil {
		return
	}
	for _, one := range on {
		one = text.Truncate(one, min(maxNote, maxNoted-n.bytes))
		if len(n.on) < maxNotes && one != "" {
			n.on = append(n.on, one)
			n.bytes += len(one)
		}
	}
}

// record has a call recorded when it is over, and refuses one that can't be. refused is
// what it will be answered, if that is decided.
func record(c *httpapi.Call, g *Grant, scope Scope, refused error) error {
	audit, _ := c.Context().Value(auditKey{}).(Audit)
	if audit == nil {
		return refused
	}
	done := func() {}
	if refused == nil {
		if done, refused = audit.Admit(g.ID); refused != nil {
			done = func() {}
		}
	}
	r := Record{Owner: scope == ScopeApprove || scope == ScopeTokens, Time: time.Now().UTC(), Token: g.ID, Action: c.Method + " " + text.Truncate(c.URL.Path, maxNote)}
	if caller, err := agentapi.CallerOf(c.Header); err == nil && caller.Scoped() {
		r.Chat = caller.Chat.String()
	}
	n := &notes{}
	Note(context.WithValue(c.Context(), notesKey{}, n), c.URL.Query()["path"]...)
	body := &digested{ReadCloser: c.Body, sum: sha256.New()}
	c.Request = c.WithContext(context.WithValue(c.Context(), notesKey{}, n))
	c.Body = body
	c.Done(func(status int) {
		r.On, r.Bytes, r.Code = n.on, body.n, status
		if body.whole && body.n > 0 {
			r.Digest = hex.EncodeToString(body.sum.Sum(nil))
		}
		audit.Record(r)
		done()
	})
	return refused
}

// digested is a body of which a digest is taken as it is read.
type digested struct {
	io.ReadCloser
	sum   hash.Hash
	n     int64
	whole bool // it was read to its end
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	_, _ = d.sum.Write(p[:n])
	d.n += int64(n)
	d.whole = d.whole || errors.Is(err, io.EOF)
	return n, err
}
