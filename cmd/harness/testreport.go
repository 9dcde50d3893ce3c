package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

// Results of a fixture.
const (
	resultOK      = "ok"
	resultFail    = "fail"
	resultSkip    = "skip"
	resultUpdated = "updated"
)

// testReport is the output of `harness test --json`.
type testReport struct {
	Module   snapshot.Plugin `json:"module"`
	OK       int             `json:"ok"`
	Failed   int             `json:"failed"`
	Skipped  int             `json:"skipped"`
	Updated  int             `json:"updated"`
	Fixtures []fixtureResult `json:"fixtures"`
}

// fixtureResult is the result of one fixture.
type fixtureResult struct {
	Name     string        `json:"name"`
	Path     string        `json:"path"`
	Result   string        `json:"result"` // ok, fail, skip, updated
	Summary  string        `json:"summary"`
	Diff     string        `json:"diff"` // unified
	Finds    int           `json:"finds"`
	Fuel     int64         `json:"fuel"`
	Duration time.Duration `json:"duration_ns"`
	// Output is what the resolvers wrote and where they failed, except for failures that
	// the fixture expects.
	Output []resolverOutput `json:"output"`
}

func (r *testReport) add(one fixtureResult) {
	r.Fixtures = append(r.Fixtures, one)
	switch one.Result {
	case resultOK:
		r.OK++
	case resultFail:
		r.Failed++
	case resultSkip:
		r.Skipped++
	case resultUpdated:
		r.Updated++
	}
}

// testPrinter prints results as they arrive.
type testPrinter struct {
	w     io.Writer
	quiet bool // JSON is printed at the end
	width int
}

// longest is the width of the column of names.
func longest(files []string) int {
	n := 0
	for _, f := range files {
		n = max(n, len(fixtureName(f)))
	}
	return n
}

func (p *testPrinter) fixture(r *fixtureResult) error {
	if p.quiet {
		return nil
	}
	name := fmt.Sprintf("%-7s  %-*s", strings.ToUpper(r.Result), p.width, cli.Visible(r.Name))
	if r.Result == resultOK || r.Result == resultUpdated {
		_, err := fmt.Fprintf(p.w, "%s  %s, %s fuel, %s\n",
			strings.Replace(name, "OK", "ok", 1), cli.Count(r.Finds, "find"), cli.Number(r.Fuel), cli.Took(r.Duration))
		return cmp.Or(err, p.output(r))
	}
	_, err := fmt.Fprintf(p.w, "%s  %s\n", name, cli.VisibleLines(r.Summary, "         "))
	if err == nil && r.Diff != "" {
		_, err = fmt.Fprintf(p.w, "         %s\n", cli.VisibleLines(strings.TrimSuffix(r.Diff, "\n"), "         "))
	}
	return cmp.Or(err, p.output(r))
}

// output prints what the resolvers wrote for one fixture.
func (p *testPrinter) output(r *fixtureResult) error {
	for i := range r.Output {
		o := &r.Output[i]
		if _, err := fmt.Fprintln(p.w, o.lines("         ", name(o.Resolver))); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the report.
func (p *testPrinter) finish(r *testReport) error {
	if p.quiet {
		return cli.JSON(p.w, r)
	}
	_, err := fmt.Fprintln(p.w, r.summary())
	return err
}

// summary formats a report in one line.
func (r *testReport) summary() string {
	parts := []string{fmt.Sprintf("%d ok", r.OK)}
	for _, c := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Updated, "updated"}, {r.Skipped, "skipped"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return fmt.Sprintf("%s %s: %s", r.Module.Name, cli.Visible(r.Module.Version), strings.Join(parts, ", "))
}

// The JUnit format, as far as CI systems read it. Three elements don't justify a library
// with parsers and converters.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(path string, r *testReport) error {
	suite := junitSuite{Name: r.Module.Name, Tests: len(r.Fixtures), Failures: r.Failed, Skipped: r.Skipped}
	var total time.Duration
	for i := range r.Fixtures {
		f := &r.Fixtures[i]
		total += f.Duration
		c := junitCase{Name: f.Name, Class: r.Module.Name, File: f.Path, Time: seconds(f.Duration)}
		switch f.Result {
		case resultFail:
			c.Failure = &junitMessage{Message: f.Summary, Text: f.Diff}
		case resultSkip:
			c.Skipped = &junitMessage{Message: f.Summary}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = seconds(total)
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	data = append([]byte(xml.Header), append(data, '\n')...)
	return os.WriteFile(path, data, 0o644) //nolint:gosec // a report for others
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
