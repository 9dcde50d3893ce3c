package conform

import (
	"context"
	"fmt"
)

// basics looks at an empty workspace and at the sample, which all else is
// compared with.
func (c *checker) basics(ctx context.Context) error {
	c.sample = sampleOf(c.resolvers(), c.entry().Config)
	empty := &workspace{
		name: "empty", rule: ruleEmpty, plain: true,
		hint: "a missing file is nothing to report: answer with no resources",
	}
	full := &workspace{name: "sample", rule: ruleSample, tree: c.sample.tree, plain: true}
	if err := c.run(ctx, empty, full); err != nil {
		return err
	}
	c.judge(empty)
	c.judge(full)
	for _, name := range c.names() {
		f := Finding{Resolver: name}
		if o := empty.outcomes[name]; o != nil && o.Err == nil {
			f.Rule, f.Severity = ruleEmpty, Fail
			if n := len(o.Candidates); n > 0 {
				f.Detail, f.Hint = fmt.Sprintf("it finds %s in an empty workspace", count(n, "resource")), "emit resources for files that are there, and for nothing else"
				c.find(f)
			}
			if _, dropped := droppedRow(first(o.Warnings)); len(o.Warnings) > 0 && !dropped {
				f.Severity, f.Detail, f.Hint = Warn, "it warns in an empty workspace: "+first(o.Warnings), "don't warn of what is merely missing: most workspaces have none of it"
				c.find(f)
			}
		}
		o := full.outcomes[name]
		if o == nil {
			continue
		}
		c.base[name] = o
		if _, dropped := droppedRow(first(o.Warnings)); o.Err == nil && len(o.Candidates) == 0 && !dropped {
			f.Rule, f.Severity = ruleSample, Warn
			f.Detail = fmt.Sprintf("none of %s made from its reads became a resource, so the checks hardly reach its code", count(len(c.sample.tree), "file"))
			f.Hint = "name the places and extensions in reads more precisely, or check what it does with the files of harness check --keep DIR"
			c.find(f)
		}
	}
	return nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
