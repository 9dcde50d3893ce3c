// Latency measures the agent from end to end (see test/latency) and prints
// a table: edit → stored in the hub, CPU per edit, start → first push, SIGTERM →
// end, resident memory, each with its target. It takes the programs that
// `make build` makes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waymark/test/latency"
	"waymark/test/tools/internal/command"
)

func main() {
	command.Main("latency", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts := latency.Options{Progress: stderr}
	flags := flag.NewFlagSet("latency", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.Agent, "agent", "bin/agent", "the `program` to measure")
	flags.IntVar(&opts.Edits, "edits", 30, "how many edits of each kind")
	flags.IntVar(&opts.Starts, "starts", 7, "how many cold starts; there are twice as many warm ones")
	flags.DurationVar(&opts.Idle, "idle", 30*time.Second, "how long memory is left alone")
	flags.IntVar(&opts.Later, "later", 100, "how many edits there are before memory is looked at for the last time")
	parts := flags.String("run", "", "measure only parts that match this `regexp`: edits, web, starts, memory")
	sizes := flags.String("skills", "4,50,200", "sizes of the workspaces, in skills of 8 KiB")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if opts.Parts, err = regexp.Compile(*parts); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-skills %q: write numbers from 1 on, with commas between them", *sizes)
		}
		opts.Skills = append(opts.Skills, n)
	}
	report, err := latency.Measure(ctx, opts)
	if err != nil {
		return err
	}
	return command.Print(stdout, *asJSON, report, report.Table)
}
