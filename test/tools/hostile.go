package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"

	"waymark/test/built"
	"waymark/test/hostile"
	"waymark/test/process"
)

var errBad = errors.New("some outcomes are not as stated")

// runHostile runs the hostile corpus (see test/hostile) against the engine and prints what
// came out: case, outcome, time to the outcome, memory high-water and the longest garbage
// collection elsewhere, as medians. It fails when something isn't as stated.
//
// Every run of a case has a process of its own, one at a time.
func runHostile(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	pattern := flags.String("run", "", "run only cases whose name matches this `regexp`")
	count := flags.Int("count", 5, "how often to run each case; figures are medians (endurance cases run once)")
	rounds := flags.Int("rounds", 1000, "how often endurance cases do what they do")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	builtin, err := built.Guest(ctx, "waymark/plugins/builtin")
	if err != nil {
		return err
	}
	pool, err := hostile.NewPool(hostile.PoolOptions{Builtin: builtin, Fresh: true, Rounds: *rounds})
	if err != nil {
		return err
	}
	list, err := runAll(ctx, pool, chosen, *count, stderr)
	if err = errors.Join(err, pool.Close()); err != nil {
		return err
	}
	err = process.Print(stdout, *asJSON, list, func(w io.Writer) error { return hostile.Table(w, list) })
	for _, s := range list {
		if !s.OK && err == nil {
			err = errBad
		}
	}
	return err
}

func runAll(ctx context.Context, pool *hostile.Pool, chosen *regexp.Regexp, count int, progress io.Writer) ([]hostile.Summary, error) {
	list := []hostile.Summary{}
	for _, c := range hostile.Cases() {
		if !chosen.MatchString(c.Name) {
			continue
		}
		fmt.Fprintf(progress, "\r\x1b[K%s", c.Name)
		n := max(count, 1)
		if c.Class == hostile.ClassEndurance {
			n = 1
		}
		var results []*hostile.Result
		for range n {
			res, err := pool.Run(ctx, &c)
			if err != nil {
				return list, err
			}
			results = append(results, res)
			if res.Outcome == hostile.Hung { // once is enough
				break
			}
		}
		list = append(list, hostile.Summarize(&c, results))
	}
	fmt.Fprint(progress, "\r\x1b[K")
	return list, nil
}
