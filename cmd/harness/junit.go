package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"time"
)

// The JUnit form, as far as CI systems read it. Libraries for it bring parsers
// and converters along; these are three elements.
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
