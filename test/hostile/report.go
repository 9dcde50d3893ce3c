package hostile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Summary is what came out of several runs of one case.
type Summary struct {
	Case    string `json:"case"`
	Class   string `json:"class"`
	OK      bool   `json:"ok"`
	Outcome string `json:"outcome"`
	// TimeMS is the time to the outcome, MemoryMiB by how much the process grew
	// at its height, GCMS the longest garbage collection elsewhere: medians.
	TimeMS    float64 `json:"time_ms"`
	MemoryMiB float64 `json:"memory_mib"`
	GCMS      float64 `json:"gc_ms"`
	Endurance string  `json:"endurance,omitempty"`
	// Error is the hostile module's. Wrong lists what isn't as stated.
	Error string   `json:"error,omitempty"`
	Wrong []string `json:"wrong,omitempty"`
}

// Summarize works results of one case into a Summary. An outcome must be right
// every time; times must be in the median.
func Summarize(c *Case, results []*Result) Summary {
	s := Summary{Case: c.Name, Class: c.Class}
	var outcomes []string
	for _, r := range results {
		if !slices.Contains(outcomes, r.Outcome) {
			outcomes = append(outcomes, r.Outcome)
		}
		for _, w := range r.Wrong {
			if !slices.Contains(s.Wrong, w) {
				s.Wrong = append(s.Wrong, w)
			}
		}
		s.Error, s.Endurance = cmp.Or(s.Error, r.Error), cmp.Or(s.Endurance, r.Endurance)
	}
	s.Outcome = strings.Join(outcomes, "|")
	took := median(results, func(r *Result) time.Duration { return r.Time })
	gc := median(results, func(r *Result) time.Duration { return r.GC })
	s.TimeMS, s.GCMS = milliseconds(took), milliseconds(gc)
	s.MemoryMiB = float64(median(results, func(r *Result) int64 { return r.Memory })) / (1 << 20)
	s.Wrong = append(s.Wrong, c.slow(took, gc)...)
	s.OK = len(s.Wrong) == 0
	return s
}

// slow says what took longer than it may.
func (c *Case) slow(took, gc time.Duration) []string {
	var list []string
	if c.Class != ClassEndurance && took > c.within() {
		list = append(list, fmt.Sprintf("it took %s, %s are allowed", round(took), c.within()))
	}
	// Attackers in this very process, and the worst of a thousand rounds, tell
	// more about the machine than about the engine.
	if gc > maxGC && c.During == nil && c.Class != ClassEndurance {
		list = append(list, fmt.Sprintf("a garbage collection elsewhere took %s, %s are allowed", round(gc), maxGC))
	}
	return list
}

// maxGC is how long a garbage collection elsewhere may take.
const maxGC = 100 * time.Millisecond

func median[T cmp.Ordered](results []*Result, of func(*Result) T) T {
	values := make([]T, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// Table writes summaries for a person, and below each that isn't as stated,
// what is wrong with it.
func Table(w io.Writer, list []Summary) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "\tcase\toutcome\ttime ms\tmemory MiB\tlongest GC ms")
	bad := 0
	for _, s := range list {
		mark := "ok"
		if !s.OK {
			mark = "BAD"
			bad++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.1f\t%.1f\t%.1f\n", mark, s.Case, s.Outcome, s.TimeMS, s.MemoryMiB, s.GCMS)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if s.Endurance != "" {
			fmt.Fprintf(w, "\n%s: %s\n", s.Case, s.Endurance)
		}
		if !s.OK {
			fmt.Fprintf(w, "\n%s\n  it said: %.300q\n", s.Case, s.Error)
		}
		for _, wrong := range s.Wrong {
			fmt.Fprintf(w, "  %.600s\n", wrong)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d cases, %d not as stated\n", len(list), bad)
	return err
}
