package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// shares give each token its share of what readers of lists may cost: so many questions a
// second, and so many at a time. More wait; those for which a second isn't enough are refused.
type shares struct {
	limits *Limits

	mu      sync.Mutex // guards byToken
	byToken map[string]*share
}

// share is a token's.
type share struct {
	rate  *rate.Limiter
	slots chan struct{} // has an element for each question that is being answered
}

const (
	// maxShareWait is how long a question waits for its turn.
	maxShareWait = time.Second
	// maxShares is how many tokens are known before those that could start anew are forgotten.
	maxShares = 1000
)

func (s *shares) of(tokenID string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byToken[tokenID]
	if one == nil {
		if len(s.byToken) >= maxShares {
			for id, other := range s.byToken {
				if len(other.slots) == 0 && other.rate.Tokens() >= float64(other.rate.Burst()) {
					delete(s.byToken, id)
				}
			}
		}
		one = &share{rate.NewLimiter(rate.Limit(s.limits.ListRate), s.limits.ListBurst), make(chan struct{}, s.limits.ListsPerToken)}
		s.byToken[tokenID] = one
	}
	return one
}

// sharing runs a handler within the share of the reader's token.
func (a *API) sharing(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		one := a.shares.of(c.reader.Token.ID)
		turn := one.rate.Reserve()
		if turn.Delay() > maxShareWait {
			turn.Cancel()
			c.Writer().Header().Set("Retry-After", "1")
			return &problem.Error{Code: http.StatusTooManyRequests, Message: "too many requests", Detail: "the token asks for lists more often than it may; ask for changes with GET /api/v0/events"}
		}
		timer := time.NewTimer(turn.Delay())
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.Context().Done():
			return c.Context().Err()
		}
		select {
		case one.slots <- struct{}{}:
		case <-c.Context().Done():
			return c.Context().Err()
		}
		defer func() { <-one.slots }()
		return handle(c)
	}
}

// minCompressed is the length above which compression is worth its time.
const minCompressed = 2 << 10

// sendList answers with JSON that may be long: not at all if the reader has it, and compressed
// if the reader accepts that.
func (c *call) sendList(v any) error {
	body, err := httpapi.Encode(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	c.Writer().Header().Add("Vary", "Accept-Encoding")
	if c.Known(hex.EncodeToString(sum[:16])) {
		return nil
	}
	if len(body) >= minCompressed && acceptsGzip(c.Header.Values("Accept-Encoding")) {
		var small bytes.Buffer
		w, err := gzip.NewWriterLevel(&small, gzip.BestSpeed)
		if err == nil {
			_, err = w.Write(body)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return err
		}
		c.Writer().Header().Set("Content-Encoding", "gzip")
		body = small.Bytes()
	}
	c.SendEncoded(http.StatusOK, body)
	return nil
}

func acceptsGzip(headers []string) bool {
	for coding := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q := strings.ReplaceAll(quality, " ", "")
			return q != "q=0" && !strings.HasPrefix(q, "q=0.000")
		}
	}
	return false
}
