package page

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// codeLife is long enough to change from a terminal to a browser.
	codeLife = 10 * time.Minute
	// maxCodes bounds what those who have a token can make a hub hold.
	maxCodes = 32
	// codeBytes are 128 bits, which nobody guesses in ten minutes at any rate.
	codeBytes = 16
	// Tries are bounded over all callers: behind a proxy they look the same.
	// Three a second are no hindrance to people.
	triesPerSecond = 3
	triesAtOnce    = 20
)

var (
	// ErrCode says that a code was never given out, was used, or is too old.
	ErrCode = errors.New("the code is not valid")
	// ErrTooMany says that there were too many tries lately. The code that was
	// tried, if it is one, can still be used.
	ErrTooMany = errors.New("too many tries")
)

// CodesOptions configure Codes. The zero value works.
type CodesOptions struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Codes are the one-time codes that sign browsers in.
type Codes struct {
	now   func() time.Time
	tries *rate.Limiter

	mu    sync.Mutex // guards given
	given []code     // the oldest first
}

type code struct {
	hash    [sha256.Size]byte
	expires time.Time
}

// NewCodes makes Codes, of which none is given out yet.
func NewCodes(opts CodesOptions) *Codes {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Codes{now: opts.Now, tries: rate.NewLimiter(triesPerSecond, triesAtOnce)}
}

// Give gives out a new code. Its text exists nowhere else.
func (c *Codes) Give() (text string, expires time.Time) {
	var secret [codeBytes]byte
	_, _ = rand.Read(secret[:]) // never fails, says its documentation
	text = base64.RawURLEncoding.EncodeToString(secret[:])
	now := c.now()
	expires = now.Add(codeLife)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(now)
	if len(c.given) >= maxCodes {
		c.given = slices.Delete(c.given, 0, 1+len(c.given)-maxCodes)
	}
	c.given = append(c.given, code{sha256.Sum256([]byte(text)), expires})
	return text, expires
}

// Take uses a code up.
//
// # Errors
//
// ErrCode and ErrTooMany.
func (c *Codes) Take(text string) error {
	now := c.now()
	if !c.tries.AllowN(now, 1) {
		return ErrTooMany
	}
	hash := sha256.Sum256([]byte(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(now)
	// Hashes are compared, of which the time tells nothing that helps.
	i := slices.IndexFunc(c.given, func(g code) bool { return g.hash == hash })
	if i < 0 {
		return ErrCode
	}
	c.given = slices.Delete(c.given, i, i+1)
	return nil
}

// drop forgets codes that are too old. c.mu is held.
func (c *Codes) drop(now time.Time) {
	c.given = slices.DeleteFunc(c.given, func(g code) bool { return !now.Before(g.expires) })
}
