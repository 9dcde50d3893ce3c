package hubcalls

import (
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// calls counts the requests in progress.
type calls struct {
	mu  sync.Mutex // guards the rest
	all int
	of  map[string]int // by id of the capability
}

// begin counts a request until end is called. It returns nil if a limit is reached.
func (c *calls) begin(id string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= MaxCalls || c.of[id] >= MaxCallsEach {
		return nil
	}
	if c.of == nil {
		c.of = make(map[string]int)
	}
	c.all++
	c.of[id]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[id]--; c.of[id] == 0 {
			delete(c.of, id)
		}
	}
}

const (
	// restsKept limits the answers of which a rest is kept, restLife how long each is kept.
	restsKept = 16
	restLife  = 30 * time.Second
)

// rests keeps the rests of answers that were too long for one frame until they are fetched.
type rests struct {
	mu   sync.Mutex // guards kept
	kept map[string]*rest
}

type rest struct {
	capability string // id of the capability that made the call
	data       []byte
	until      time.Time
}

// answer returns the first part of an answer and keeps the rest. If too many are kept
// already, it drops the oldest.
func (r *rests) answer(capability string, data []byte) *waymark.ToolsAnswer {
	answer := &waymark.ToolsAnswer{Json: data, Size: uint32(len(data))} //nolint:gosec // at most MaxAnswer
	if len(data) <= maxPart {
		return answer
	}
	answer.Json, answer.Rest = data[:maxPart], []byte(rand.Text())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	if r.kept == nil {
		r.kept = make(map[string]*rest)
	}
	if len(r.kept) >= restsKept {
		var oldest string
		for key, one := range r.kept {
			if oldest == "" || one.until.Before(r.kept[oldest].until) {
				oldest = key
			}
		}
		delete(r.kept, oldest)
	}
	r.kept[string(answer.GetRest())] = &rest{capability, data, time.Now().Add(restLife)}
	return answer
}

// part returns the next part of an answer. The last part frees it.
func (r *rests) part(capability string, key []byte, offset int) (*waymark.ToolsAnswer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	one := r.kept[string(key)]
	if one == nil || one.capability != capability || offset < 0 || offset > len(one.data) {
		return nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "there is no more of that answer, or not any more: ask anew"}
	}
	part := one.data[offset:]
	if len(part) <= maxPart {
		delete(r.kept, string(key))
	}
	return &waymark.ToolsAnswer{Json: part[:min(len(part), maxPart)], Size: uint32(len(one.data)), Rest: key}, nil //nolint:gosec // at most MaxAnswer
}

// forget drops rests that have expired. The caller holds the lock.
func (r *rests) forget() {
	now := time.Now()
	maps.DeleteFunc(r.kept, func(_ string, one *rest) bool { return !now.Before(one.until) })
}
