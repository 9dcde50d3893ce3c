package latency

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is something that was measured, several times or once.
type Figure struct {
	Name   string `json:"name"`
	Skills int    `json:"skills"`
	// Unit is "ms" or "MiB".
	Unit string `json:"unit"`
	// Count is how many values there are.
	Count  int     `json:"count"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	// Target is what the median may be; 0 when nothing is said. Ratio is the
	// median's part of it.
	Target float64 `json:"target,omitempty"`
	Ratio  float64 `json:"ratio,omitempty"`
	// Note says more, for a person.
	Note string `json:"note,omitempty"`
}

// Report is all that was measured, and on what.
type Report struct {
	Machine Machine  `json:"machine"`
	Figures []Figure `json:"figures"`
}

const (
	unitTime   = "ms"
	unitMemory = "MiB"
)

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// figure works values into a Figure.
func figure(name string, skills int, unit string, values []float64) Figure {
	f := Figure{Name: name, Skills: skills, Unit: unit, Count: len(values)}
	if len(values) == 0 {
		return f
	}
	slices.Sort(values)
	f.Min, f.Median, f.P95 = values[0], values[len(values)/2], values[(len(values)*95)/100]
	f.Target = targets[target{name, skills}]
	if f.Target > 0 {
		f.Ratio = f.Median / f.Target
	}
	return f
}

func times(list []time.Duration) []float64 {
	values := make([]float64, len(list))
	for i, d := range list {
		values[i] = ms(d)
	}
	return values
}

// Table writes the report for a person.
func (r *Report) Table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n\n", r.Machine)
	fmt.Fprintln(tw, "figure\tskills\tn\tmin\tmedian\tp95\ttarget\tratio\t")
	for i := range r.Figures {
		f := &r.Figures[i]
		value := func(v float64) string { return fmt.Sprintf("%.1f %s", v, f.Unit) }
		goal, ratio := "", ""
		if f.Target > 0 {
			goal, ratio = "≤ "+value(f.Target), fmt.Sprintf("%.2f", f.Ratio)
		}
		least, p95 := "", ""
		if f.Count > 1 {
			least, p95 = value(f.Min), value(f.P95)
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.Skills, f.Count,
			least, value(f.Median), p95, goal, ratio, strings.TrimSpace(f.verdict()+" "+f.Note))
	}
	return tw.Flush()
}

// verdict says in a word that a target isn't met.
func (f *Figure) verdict() string {
	if f.Ratio > 1 {
		return "over"
	}
	return ""
}

// The names of figures that have a target.
const (
	nameInPlace = "edit → stored, in place, socket"
	nameRename  = "edit → stored, rename, socket"
	nameCPU     = "CPU per edit"
	nameCold    = "start → stored, cold"
	nameWarm    = "start → stored, warm"
	nameStop    = "SIGTERM → ended"
	nameIdle    = "resident, after a rest"
	nameEdited  = "resident, after edits"
)

type target struct {
	name   string
	skills int
}

// targets are those of the design's section 7, and of issue 4 for the end.
var targets = map[target]float64{
	{nameInPlace, 50}: 25, {nameInPlace, 200}: 35,
	{nameRename, 50}: 25, {nameRename, 200}: 35,
	{nameCPU, 200}: 5,
	{nameCold, 50}: 200, {nameCold, 200}: 200,
	{nameWarm, 50}: 40, {nameWarm, 200}: 40,
	{nameStop, 50}: 1000, {nameStop, 200}: 1000,
	{nameIdle, 200}: 60, {nameEdited, 200}: 60,
}
