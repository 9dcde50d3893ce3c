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

// Record is a line of the audit log: a call that acted, or that was refused to a known
// token.
type Record struct {
	Time time.Time `json:"time"` // beginning of the call
	// Token is the id of the token. Chat is the chat that the call names, which any caller
	// can choose.
	Token string `json:"token"`
	Chat  string `json:"chat,omitempty"`
	// Action is the method and the path, which contains ids of processes.
	Action string `json:"action"`
	// On is what the call acted on: paths, or the id of what it started.
	On []string `json:"on,omitempty"`
	// Digest is the SHA-256 of the body, in hexadecimal, and Bytes its length. Digest is
	// empty if the body wasn't read completely.
	Digest string `json:"digest,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	// Code is the HTTP status; 0 means no answer.
	Code int `json:"code"`
	// Repeated is the number of further calls of the token that were refused or only read,
	// and have no line of their own.
	Repeated int `json:"repeated,omitempty"`

	// Owner stores the record in the owner's file, which is for actions of the control
	// token: approvals and grants. Looks says that the call has changed nothing.
	Owner, Looks bool `json:"-"`
}

// acted reports whether the call may have changed something.
func (r *Record) acted() bool { return !r.Looks && r.Code/100 != 4 }

// Audit records calls, from any goroutine. Admit is called before an acting call, and
// Record after it.
type Audit interface {
	// Admit reserves space for the record of a call until done is called, after Record. Its
	// error is a *problem.Error.
	Admit(token string) (done func(), err error)
	Record(r Record)
}

type auditKey struct{}

// Audited returns a context whose acting calls are recorded in audit.
func Audited(ctx context.Context, audit Audit) context.Context {
	return context.WithValue(ctx, auditKey{}, audit)
}

type notesKey struct{}

// Limits of a line: the number of notes, as many as an edit may name; the length of a note,
// as of a path; and of all notes together.
const (
	maxNotes = 64
	maxNote  = 4 << 10
	maxNoted = 16 << 10
)

type notes struct {
	on    []string
	bytes int
}

// Note adds what a call acts on to its audit record: a path, or the id of what was started,
// but never content. It is for handlers behind [Guard], in their own goroutine. Elsewhere
// it does nothing.
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

// record makes the call be recorded when it is over, or returns why it can't be. refused is
// the error that the call will return, if that is decided.
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

// digested is a body that is hashed while it is read.
type digested struct {
	io.ReadCloser
	sum   hash.Hash
	n     int64
	whole bool // it was read completely
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	_, _ = d.sum.Write(p[:n])
	d.n += int64(n)
	d.whole = d.whole || errors.Is(err, io.EOF)
	return n, err
}
