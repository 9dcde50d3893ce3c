package pushtest_test

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Result is what pushing came to.
type Result struct {
	Pushes  int
	Seconds float64
	// P50 and P99 are in milliseconds.
	P50, P99 float64
	// Bytes are those on the wire, where they are counted.
	Bytes int64
	// Error is the first one, if there was one.
	Error string
}

// Rate is in pushes per second.
func (r Result) Rate() float64 { return float64(r.Pushes) / r.Seconds }

// meter collects durations. Its zero value is ready.
type meter struct {
	start time.Time

	mu    sync.Mutex // guards the rest
	times []time.Duration
	err   error
}

func (m *meter) begin() { m.start = time.Now() }

func (m *meter) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times = append(m.times, d)
}

func (m *meter) time(f func() error) error {
	begin := time.Now()
	err := f()
	if err == nil {
		m.add(time.Since(begin))
	}
	return err
}

func (m *meter) fail(err error) {
	if !errors.Is(err, errEnough) {
		m.err = err
	}
}

func (m *meter) result() Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Result{Pushes: len(m.times), Seconds: time.Since(m.start).Seconds()}
	if m.err != nil {
		r.Error = m.err.Error()
	}
	if len(m.times) > 0 {
		slices.Sort(m.times)
		at := func(percent int) float64 { return m.times[(len(m.times)-1)*percent/100].Seconds() * 1000 }
		r.P50, r.P99 = at(50), at(99)
	}
	return r
}
