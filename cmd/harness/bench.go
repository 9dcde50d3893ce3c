package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/host"
)

// benchSettings are the flags of bench.
type benchSettings struct {
	settings
	count int
	time  string
	json  bool
}

func (a *app) benchCommand() *cobra.Command {
	var s benchSettings
	cmd := &cobra.Command{
		Use:   "bench FILE.wasm [DIR]",
		Short: "Measure a module, in fuel first",
		Long: `Bench runs each resolver of a module on a directory (by default the current one)
repeatedly, without reusing results, and prints lines that benchstat understands.

Fuel counts the guest's own work. It is the same on every machine and for every run, so
one line is enough to compare two versions. Time comes next, and needs several lines
(--count 10). Then follow bytes read, files opened, names looked at, memory and
resources found.`,
		Example: `  harness bench acme.wasm ~/project
  harness bench acme.wasm --count 10 > new.txt && benchstat old.txt new.txt
  harness bench acme.wasm ~/project --resolver cursor-rules --benchtime 100x`,
		Args: cli.Named("FILE.wasm", "[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 1 {
				dir = args[1]
			}
			return a.bench(cmd.Context(), &s, args[0], dir)
		},
	}
	s.addFlags(cmd)
	cmd.Flags().IntVar(&s.count, "count", 1, "measure each resolver `N` times")
	cmd.Flags().StringVar(&s.time, "benchtime", "1s", "measure for `TIME`, or for that many runs (100x)")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
	return cmd
}

func (a *app) bench(ctx context.Context, s *benchSettings, file, dir string) (err error) {
	if s.count < 1 {
		return usage("--count %d: write a number above 0", s.count)
	}
	enough, err := parseBenchtime(s.time)
	if err != nil {
		return err
	}
	e, err := a.open(ctx, &s.settings, file, func(o *host.Options) { o.Roots = []host.RootSpec{{Path: dir}} })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if !s.json {
		if err := benchHeader(a.stdout, e.module.Name); err != nil {
			return err
		}
	}
	all := []measurement{}
	for _, resolver := range e.module.Resolvers {
		if s.resolver != "" && s.resolver != resolver {
			continue
		}
		for range s.count {
			m, err := e.measure(ctx, resolver, enough)
			if err != nil {
				return err
			}
			all = append(all, *m)
			if s.json {
				continue
			}
			if err := m.printTo(a.stdout); err != nil {
				return err
			}
		}
	}
	if s.json {
		return cli.JSON(a.stdout, all)
	}
	return nil
}

// parseBenchtime returns a function that reports whether a measurement has lasted long
// enough.
func parseBenchtime(text string) (enough func(runs int, took time.Duration) bool, err error) {
	if n, ok := strings.CutSuffix(text, "x"); ok {
		want, err := strconv.Atoi(n)
		if err == nil && want > 0 {
			return func(runs int, _ time.Duration) bool { return runs >= want }, nil
		}
	} else if want, err := time.ParseDuration(text); err == nil && want > 0 {
		return func(_ int, took time.Duration) bool { return took >= want }, nil
	}
	return nil, usage("--benchtime %q: write a duration (1s) or a number of runs (100x)", text)
}

// measurement is one line of `harness bench`: means over several runs.
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

// measure runs one resolver for as long as needed. Each run begins when the spare instances
// are ready, so that preparing the next one doesn't cost it time.
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
		o := report.Outcomes[0] // there is one root and one resolver
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

// benchHeader names benchstat's groups, and says that fuel is exact.
func benchHeader(w io.Writer, module string) error {
	_, err := fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: %s\nUnit fuel/op better=lower assume=exact\n", runtime.GOOS, runtime.GOARCH, module)
	return err
}

// printTo prints a line in Go's benchmark format.
func (m *measurement) printTo(w io.Writer) error {
	_, err := fmt.Fprintf(w, "BenchmarkResolve/%s\t%8d\t%12.0f fuel/op\t%12.0f ns/op\t%10.0f read-B/op\t%6.0f opens/op\t%6.0f entries/op\t%10.0f peak-B/op\t%6.0f finds/op\n",
		m.Resolver, m.Runs, m.Fuel, m.Duration, m.ReadBytes, m.Opens, m.Entries, m.PeakMemory, m.Finds)
	return err
}
