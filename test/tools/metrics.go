package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
)

// printMetrics prints measurements of the packages in a tree: metrics [-json] [BEFORE] DIR.
// With a second directory it prints both, the first as the state before.
func printMetrics(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("metrics", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs := flags.Args()
	if len(dirs) < 1 || len(dirs) > 2 {
		return errors.New("usage: metrics [-json] [BEFORE] DIR")
	}
	var trees [][]Package
	for _, dir := range dirs {
		tree, err := Count(dir, "waymark")
		if err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	if *asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(trees)
	}
	last := trees[len(trees)-1]
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "code\tcomments\ttests\tfiles\tsmall\texported\trepeated\t package")
	for _, p := range last {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t %s\n", p.Code, p.Comments, p.Tests, p.Files, p.Small, p.Exported, p.Repeated, p.Path)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "packages\tcode\tcomments\ttests\tfiles\tsmall\texported\tupward\trepeated\t")
	for i, tree := range trees {
		sum, packages := Total(tree)
		name := "the product"
		if len(trees) == 2 {
			name = []string{"before", "after"}[i]
		}
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t %s\n", packages, sum.Code, sum.Comments, sum.Tests, sum.Files, sum.Small, sum.Exported, len(sum.Upward), sum.Repeated, name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, dir := range dirs {
		other, err := CountOther(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d lines of Go and %d of OpenAPI generated, %d of OpenAPI by hand, %d of kits in C and AssemblyScript\n", dirs[i], other.Generated, other.Documents, other.OpenAPI, other.Kits)
	}
	sum, _ := Total(last)
	for _, line := range sum.Upward {
		fmt.Fprintln(w, "upward:", line)
	}
	return nil
}
