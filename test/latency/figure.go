package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is something that was measured, several times or once.
type Figure struct {
	Name   string `json:"name"`
	Skills int    `json:"skills"`
	// Unit is "ms", "MiB", "%", "/min" or, of what is counted, nothing.
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
	// Before is the median of the version before; 0 when there is none. Change is
	// the median's part of it.
	Before float64 `json:"before,omitempty"`
	Change float64 `json:"change,omitempty"`
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

// compare puts the medians of the version before beside those of this one.
func compare(figures, before []Figure) {
	for i := range figures {
		f := &figures[i]
		for _, other := range before {
			if other.Name == f.Name && other.Skills == f.Skills && other.Median > 0 {
				f.Before, f.Change = other.Median, f.Median/other.Median
			}
		}
	}
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
	compared := slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Before > 0 })
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n\n", r.Machine)
	heads := []string{"figure", "skills", "n", "min", "median", "p95", "target", "ratio"}
	if compared {
		heads = append(heads, "before", "change")
	}
	fmt.Fprintln(tw, strings.Join(heads, "\t")+"\t")
	for i := range r.Figures {
		f := &r.Figures[i]
		cells := append([]string{f.Name, strconv.Itoa(f.Skills), strconv.Itoa(f.Count)}, f.cells()...)
		if compared {
			cells = append(cells, f.comparison()...)
		}
		fmt.Fprintln(tw, strings.Join(append(cells, strings.TrimSpace(f.verdict()+" "+f.Note)), "\t"))
	}
	return tw.Flush()
}

// value spells a value with the figure's unit.
func (f *Figure) value(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.1f %s", v, f.Unit)) }

// cells are what was measured, and what it may be.
func (f *Figure) cells() []string {
	least, p95, goal, ratio := "", "", "", ""
	if f.Count > 1 {
		least, p95 = f.value(f.Min), f.value(f.P95)
	}
	if f.Target > 0 {
		goal, ratio = "≤ "+f.value(f.Target), fmt.Sprintf("%.2f", f.Ratio)
	}
	return []string{least, f.value(f.Median), p95, goal, ratio}
}

// comparison is what was measured of the version before.
func (f *Figure) comparison() []string {
	if f.Before == 0 {
		return []string{"", ""}
	}
	return []string{f.value(f.Before), fmt.Sprintf("× %.2f", f.Change)}
}

// verdict says in a word that a target isn't met.
func (f *Figure) verdict() string {
	if f.Ratio > 1 {
		return "over"
	}
	return ""
}

// The names of figures, those that have a target among them.
const (
	nameInPlace = "edit → stored, in place, socket"
	nameRename  = "edit → stored, rename, socket"
	nameCPU     = "CPU per edit"
	nameCold    = "start → stored, cold"
	nameWarm    = "start → stored, warm"
	nameStop    = "SIGTERM → ended"
	nameColdCPU = "CPU from start to end, cold"
	nameWarmCPU = "CPU from start to end, warm"
	nameIdle    = "resident, after a rest"
	nameEdited  = "resident, after edits"
	nameQuiet   = "resident, a rest after edits"
	namePeak    = "resident, at most at the start"
	nameSeveral = "five agents of one user, together"
)

type target struct {
	name   string
	skills int
}

// targets are for a machine of two processors that has nothing else to do.
var targets = map[target]float64{
	{nameInPlace, 50}: 10, {nameInPlace, 200}: 13,
	{nameRename, 50}: 10, {nameRename, 200}: 13,
	{nameCPU, 4}: 4, {nameCPU, 200}: 6,
	{nameCold, 50}: 100, {nameCold, 200}: 120,
	{nameWarm, 4}: 20, {nameWarm, 50}: 24, {nameWarm, 200}: 32,
	{nameStop, 50}: 1000, {nameStop, 200}: 1000,
	{nameIdle, 200}: 36, {nameEdited, 200}: 42, {namePeak, 200}: 60,
	{nameSeveral, 4}:    100,
	{nameInPlace, 4000}: 30, {nameRename, 4000}: 30,
}
