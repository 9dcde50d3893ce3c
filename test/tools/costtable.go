//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// maxMegabytes is the most that a process of a test may have.
const maxMegabytes = 500

// cost is what the tests of a package have cost: seconds and megabytes.
type cost struct {
	pkg       string // relative to the module
	cpu, wall float64
	megabytes int
}

// table prints the costs in a file, and reports whether any of them is beyond its budget.
func table(w io.Writer, name, budgetFile, column string, n int) (beyond bool, err error) {
	costs, err := read(name)
	if err != nil {
		return false, err
	}
	allowed := func(string) (float64, bool) { return 0, false }
	if budgetFile != "" {
		if allowed, err = budgets(budgetFile, column); err != nil {
			return false, err
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Or(cmp.Compare(b.cpu, a.cpu), strings.Compare(a.pkg, b.pkg)) })
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "processor s\tbudget\twall s\tMB\t  package")
	var sum, rest cost
	var named []string
	for i, c := range costs {
		budget := "-"
		seconds, ok := allowed(c.pkg)
		if ok {
			budget = strconv.FormatFloat(seconds, 'f', -1, 64)
		}
		if ok && c.cpu > seconds {
			named = append(named, fmt.Sprintf("%s has cost %.1f s of a processor, and its budget is %s", c.pkg, c.cpu, budget))
		}
		if c.megabytes > maxMegabytes {
			named = append(named, fmt.Sprintf("a process of %s has had %d MB, more than %d", c.pkg, c.megabytes, maxMegabytes))
		}
		sum.add(c)
		if i < n {
			fmt.Fprintf(out, "%.1f\t%s\t%.1f\t%d\t  %s\n", c.cpu, budget, c.wall, c.megabytes, c.pkg)
		} else {
			rest.add(c)
		}
	}
	if len(costs) > n {
		fmt.Fprintf(out, "%.1f\t\t%.1f\t%d\t  %d others\n", rest.cpu, rest.wall, rest.megabytes, len(costs)-n)
	}
	fmt.Fprintf(out, "%.1f\t\t%.1f\t%d\t  %d packages\n", sum.cpu, sum.wall, sum.megabytes, len(costs))
	if err := out.Flush(); err != nil {
		return false, err
	}
	for _, line := range named {
		fmt.Fprintln(w, line)
	}
	return len(named) > 0, nil
}

func (c *cost) add(more cost) {
	c.cpu, c.wall, c.megabytes = c.cpu+more.cpu, c.wall+more.wall, max(c.megabytes, more.megabytes)
}

// read reads what run has written. Of a package that was tested twice the last time counts.
func read(name string) ([]cost, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	byPackage := map[string]cost{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s: %q isn't a line of testcost run", name, line)
		}
		c := cost{pkg: inModule(fields[0])}
		var errs [3]error
		c.cpu, errs[0] = strconv.ParseFloat(fields[1], 64)
		c.wall, errs[1] = strconv.ParseFloat(fields[2], 64)
		c.megabytes, errs[2] = strconv.Atoi(fields[3])
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		byPackage[c.pkg] = c
	}
	costs := make([]cost, 0, len(byPackage))
	for _, c := range byPackage {
		costs = append(costs, c)
	}
	return costs, nil
}

// inModule is a directory relative to that of its module.
func inModule(dir string) string {
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
		}
	}
	return dir
}

// others is the name of the row for packages that no other row names.
const others = "any other"

// budgets reads the first table of a Markdown file whose first row begins with "package" and
// has the column. Cells are packages in backquotes, and seconds.
func budgets(name, column string) (func(pkg string) (float64, bool), error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	at, found := -1, map[string]float64{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		switch {
		case at < 0 && cells[0] == "package":
			at = slices.Index(cells, column)
		case at < 0 || strings.HasPrefix(cells[0], "---"):
		case !strings.HasPrefix(line, "|"):
			return func(pkg string) (float64, bool) {
				if seconds, ok := found[pkg]; ok {
					return seconds, true
				}
				seconds, ok := found[others]
				return seconds, ok
			}, nil
		case at < len(cells) && cells[at] != "":
			if found[cells[0]], err = strconv.ParseFloat(cells[at], 64); err != nil {
				return nil, fmt.Errorf("%s: the budget of %s: %w", name, cells[0], err)
			}
		}
	}
	return nil, fmt.Errorf("%s has no table of packages with a column %q, followed by another line", name, column)
}
