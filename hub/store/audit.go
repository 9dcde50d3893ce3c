package store

import (
	"context"
	"time"
)

// Act is an entry of the audit log: something that an operator did.
type Act struct {
	// ID identifies the entry, so that it is stored once.
	ID string
	At time.Time
	// By is the id of the operator's token, ByName its name then.
	By, ByName string
	// What says what was done, such as "token.created", and Subject to which token, agent or
	// other thing, by its id. Detail is for people. Neither ever has a token.
	What, Subject, Detail string
}

// WithAct returns a context in which the first change that a Store makes also stores the act,
// in the same transaction: a change is never without its entry, nor an entry without its
// change. What is made anew becomes the act's Subject.
func WithAct(ctx context.Context, act *Act) context.Context {
	return context.WithValue(ctx, actKey{}, act)
}

// ActOf returns the act in ctx, or nil.
func ActOf(ctx context.Context) *Act {
	act, _ := ctx.Value(actKey{}).(*Act)
	return act
}

type actKey struct{}

// KeepActs is how long entries of the audit log are kept.
const KeepActs = 400 * 24 * time.Hour

// AuditQuery selects entries of the audit log, newest first.
type AuditQuery struct {
	// Subject selects entries about it; empty: all.
	Subject string
	// After is the last entry of the page before.
	After *ActPlace
	// Limit is the maximum length of the page, above 0.
	Limit int
}

// ActPlace is the place of an entry: its time in microseconds, and its id.
type ActPlace struct {
	At int64  `json:"at"`
	ID string `json:"id"`
}

// Audit is the part of a Store that has the audit log. Nothing changes an entry.
type Audit interface {
	// Record stores the act in ctx, for what isn't a change of the store.
	Record(ctx context.Context) error
	// Acts returns a page of the audit log, and where the next one begins; nil says that
	// this is the last.
	Acts(ctx context.Context, q AuditQuery) ([]Act, *ActPlace, error)
}
