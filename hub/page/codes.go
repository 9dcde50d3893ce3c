package page

import (
	"errors"
	"slices"
	"sync"
	"time"

	"waymark/internal/credential"

	"golang.org/x/time/rate"
)

const (
	// maxCodes and maxOwn limit what owners of tokens can make a hub store, and prevent one
	// of them from replacing the codes of others.
	maxCodes = 1024
	maxOwn   = 32
	// Wrong codes are limited by client, so that nobody can fill the log. Three a second
	// don't hinder people.
	triesPerSecond = 3
	triesAtOnce    = 20
	// maxClients limits the remembered clients. Forgetting one only costs more log lines.
	maxClients = 1024
)

var (
	// ErrCode says that a code is unknown, used or expired.
	ErrCode = errors.New("the code is not valid")
	// ErrTooMany is ErrCode for a client with too many wrong codes.
	ErrTooMany = errors.New("too many tries")
)

// CodesOptions configure Codes. The zero value works.
type CodesOptions struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Codes are one-time codes that sign browsers in.
type Codes struct {
	now func() time.Time

	mu    sync.Mutex // guards the fields below
	given []code     // oldest first
	tries map[string]*rate.Limiter
}

type code struct {
	hash    credential.Hash
	owner   string
	expires time.Time
}

// NewCodes makes Codes without any code.
func NewCodes(opts CodesOptions) *Codes {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Codes{now: opts.Now, tries: make(map[string]*rate.Limiter)}
}

// Give makes a new code for an owner. If the owner has too many, it replaces the oldest.
// The code's text isn't stored.
func (c *Codes) Give(owner string) (text string, expires time.Time) {
	text, now := credential.LoginCode.New(), c.now()
	expires = now.Add(credential.LoginCode.Life)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(now)
	own, oldest := 0, -1
	for i := range c.given {
		if c.given[i].owner == owner {
			if own++; oldest < 0 {
				oldest = i
			}
		}
	}
	switch {
	case own >= maxOwn:
		c.given = slices.Delete(c.given, oldest, oldest+1)
	case len(c.given) >= maxCodes:
		c.given = slices.Delete(c.given, 0, 1)
	}
	c.given = append(c.given, code{credential.HashOf(text), owner, expires})
	return text, expires
}

// Take uses a code up and returns its owner. client is the origin of the request. A valid
// code always works, however many wrong ones were tried, so that nobody can prevent others
// from signing in.
//
// # Errors
//
// ErrCode and ErrTooMany.
func (c *Codes) Take(client, text string) (owner string, err error) {
	now := c.now()
	hash := credential.HashOf(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(now)
	i := slices.IndexFunc(c.given, func(g code) bool { return g.hash == hash })
	if i < 0 {
		return "", c.wrong(client, now)
	}
	owner = c.given[i].owner
	c.given = slices.Delete(c.given, i, i+1)
	return owner, nil
}

// wrong counts a wrong code of a client. The caller holds c.mu.
func (c *Codes) wrong(client string, now time.Time) error {
	tries := c.tries[client]
	if tries == nil {
		if len(c.tries) >= maxClients {
			clear(c.tries)
		}
		tries = rate.NewLimiter(triesPerSecond, triesAtOnce)
		c.tries[client] = tries
	}
	if !tries.AllowN(now, 1) {
		return ErrTooMany
	}
	return ErrCode
}

// drop removes expired codes. The caller holds c.mu.
func (c *Codes) drop(now time.Time) {
	c.given = slices.DeleteFunc(c.given, func(g code) bool { return credential.Expired(now, g.expires) })
}
