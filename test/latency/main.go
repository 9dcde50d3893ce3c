package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waymark/test/process"
)

func main() {
	process.Tool("latency", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts := Options{Progress: stderr}
	flags := flag.NewFlagSet("latency", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.Agent, "agent", "bin/agent", "the `program` to measure")
	before := flags.String("before", "", "a `program or revision` to compare with; a revision is built once, and kept")
	flags.IntVar(&opts.Edits, "edits", 30, "how many edits of each kind")
	flags.IntVar(&opts.Starts, "starts", 7, "how many cold starts; there are twice as many warm ones")
	flags.DurationVar(&opts.Idle, "idle", 30*time.Second, "how long memory is left alone")
	flags.DurationVar(&opts.Age, "age", 2100*time.Millisecond, "how old the files are when a measurement begins")
	flags.IntVar(&opts.Halves, "halves", 40, "how many files are written in two steps, of each kind")
	flags.Uint64Var(&opts.Seed, "seed", 1, "chooses the pauses between these steps")
	flags.IntVar(&opts.Large, "large", 4000, "size of the large workspace, in skills of 3 KiB")
	flags.IntVar(&opts.Later, "later", 200, "how many edits there are before memory is looked at for the last time")
	parts := flags.String("run", "", "measure only parts that match this `regexp`: edits, web, halves, starts, memory, slow, several, large")
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
	if *before != "" {
		if opts.Before, err = Program(ctx, ".", *before, stderr); err != nil {
			return err
		}
	}
	report, err := Measure(ctx, opts)
	if report == nil || len(report.Figures) == 0 {
		return err
	}
	// What was measured before something failed took its minutes.
	return errors.Join(err, process.Print(stdout, *asJSON, report, report.Table))
}
