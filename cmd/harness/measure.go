package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"
)

// measurement is one line of `harness bench`: means over some runs.
type measurement struct {
	Resolver   string  `json:"resolver"`
	Runs       int     `json:"runs"`
	Fuel       float64 `json:"fuel"`
	Duration   float64 `json:"duration_ns"`
	ReadBytes  float64 `json:"read_bytes"`
	Opens      float64 `json:"opens"`
	Entries    float64 `json:"entries"`
	PeakMemory float64 `json:"peak_memory"`
	Finds      float64 `json:"finds"`
}

// measure runs one resolver until it is enough. Each run begins when the spare
// instances are prepared, so that preparing the next doesn't take time from it.
func (e *engine) measure(ctx context.Context, resolver string, enough func(int, time.Duration) bool) (*measurement, error) {
	opts := e.opts
	opts.Only = []string{resolver}
	if err := e.Reconfigure(ctx, opts); err != nil {
		return nil, err
	}
	m := &measurement{Resolver: resolver}
	var took time.Duration
	var fuel int64
	for ; m.Runs == 0 || !enough(m.Runs, took); m.Runs++ {
		e.Settle(ctx)
		report, err := e.Refresh(ctx)
		if err != nil {
			return nil, err
		}
		o := report.Outcomes[0] // one root, one resolver
		if o.Err != nil {
			return nil, fmt.Errorf("there is nothing to measure: %w", o.Err)
		}
		if m.Runs > 0 && o.Fuel != fuel {
			return nil, fmt.Errorf("%s used %d fuel at one run and %d at another: either a file has changed meanwhile, or it isn't deterministic", o.Resolver, fuel, o.Fuel)
		}
		fuel = o.Fuel
		took += o.Duration
		m.add(float64(o.Duration), o.Fuel, o.Used.ReadBytes, int64(o.Used.Opens), int64(o.Used.Entries), o.Memory, int64(len(o.Candidates)))
	}
	m.divide(float64(m.Runs))
	return m, nil
}

func (m *measurement) figures() []*float64 {
	return []*float64{&m.Fuel, &m.ReadBytes, &m.Opens, &m.Entries, &m.PeakMemory, &m.Finds}
}

func (m *measurement) add(duration float64, figures ...int64) {
	m.Duration += duration
	for i, f := range m.figures() {
		*f += float64(figures[i])
	}
}

func (m *measurement) divide(n float64) {
	m.Duration /= n
	for _, f := range m.figures() {
		*f /= n
	}
}

// benchHeader says what benchstat groups by, and that fuel is exact.
func benchHeader(w io.Writer, module string) error {
	_, err := fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: %s\nUnit fuel/op better=lower assume=exact\n", runtime.GOOS, runtime.GOARCH, module)
	return err
}

// print prints a line in Go's benchmark format.
func (m *measurement) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "BenchmarkResolve/%s\t%8d\t%12.0f fuel/op\t%12.0f ns/op\t%10.0f read-B/op\t%6.0f opens/op\t%6.0f entries/op\t%10.0f peak-B/op\t%6.0f finds/op\n",
		m.Resolver, m.Runs, m.Fuel, m.Duration, m.ReadBytes, m.Opens, m.Entries, m.PeakMemory, m.Finds)
	return err
}
