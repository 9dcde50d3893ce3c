//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
)

// measureCost measures what tests cost, and says which packages cost more than was agreed. It
// returns the exit code: that of the test, or 2 for wrong usage.
//
// `run PROGRAM ARGUMENTS…` runs a test binary and adds a line to the file that TESTCOST names:
// the package's directory, the processor time of all that the test has started, the wall time,
// and the most memory that any one of these processes had. What the test leaves behind when it
// has ended is named, and fails it: it would run on beside the next one.
//
// `table` prints the dearest packages and the sum, each with its budget: processor seconds, in
// a table of Markdown whose first column has packages, "any other" for the rest, and whose
// other columns are named as -budget says. A package beyond its budget, and one that has had
// more than 500 MB, is named at the end; -strict makes that an error. Processor time depends
// on the machine, and on how busy it is: a budget is twice what was measured.
func measureCost(args []string) int {
	if len(args) > 1 && args[0] == "run" {
		return runMeasured(args[1:])
	}
	flags := flag.NewFlagSet("tools cost table", flag.ContinueOnError)
	column := flags.String("budget", "short", "the `column` of the budgets")
	file := flags.String("budgets", "", "the `file` with the budgets")
	dearest := flags.Int("n", 20, "how many packages are shown")
	strict := flags.Bool("strict", false, "fail when a budget isn't kept")
	if len(args) == 0 || args[0] != "table" || flags.Parse(args[1:]) != nil || flags.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: tools cost run PROGRAM [ARGUMENTS…], or tools cost table [-budget COLUMN -budgets FILE -n COUNT -strict] FILE")
		return 2
	}
	beyond, err := table(os.Stdout, flags.Arg(0), *file, *column, *dearest)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "testcost:", err)
		return 1
	case beyond && *strict:
		return 1
	}
	return 0
}
