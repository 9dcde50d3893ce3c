package conform

import (
	"context"

	"waymark/cmd/harness/internal/fixture"
	"waymark/host/resolve"
)

// again looks at trees that are equal in everything that a resolver may depend
// on, and compares.
func (c *checker) again(ctx context.Context) error {
	c.checked[ruleDeterminism] = true
	linked := c.linked()
	same := []*workspace{
		{name: "sample-again", tree: c.sample.tree},
		{name: "sample-elsewhere", tree: c.sample.tree, above: "some/other/place", reversed: true},
		{name: "linked", tree: linked},
		{name: "linked-elsewhere", tree: linked, above: "some/other/place", reversed: true},
	}
	for _, p := range same {
		p.rule = ruleDeterminism
	}
	if err := c.run(ctx, same...); err != nil {
		return err
	}
	for _, name := range c.names() {
		c.equal(name, c.base[name], same[0].outcomes[name], same[0],
			"it gives other rows for the same tree in a second run", "a run may depend on nothing but files, request and the module itself")
		c.equal(name, c.base[name], same[1].outcomes[name], same[1],
			"it gives other rows for the same tree at another place", "a result may not depend on where the root lies, or on the order in which files were made")
		c.equal(name, same[2].outcomes[name], same[3].outcomes[name], same[3],
			"it gives other rows for the same links at another place", "don't show the text of a link: an absolute one names the place where the workspace happens to be")
	}
	return nil
}

// equal compares what two runs gave.
func (c *checker) equal(name string, a, b *resolve.Outcome, at *workspace, detail, hint string) {
	if a == nil || b == nil {
		return
	}
	if d := difference(a, b); d != "" {
		c.find(Finding{
			Rule: ruleDeterminism, Severity: Fail, Resolver: name, Detail: detail + ": " + d, Hint: hint, Workspaces: []string{at.name},
		})
	}
}

// linked is the sample with links, absolute ones too, to copies of its files.
func (c *checker) linked() tree {
	t := c.sample.tree
	for i, v := range c.sample.victims {
		target := "$ROOT/originals/" + v
		if i%2 == 1 {
			target = "$ROOT/./originals/" + v
		}
		t = append(t.without(v), fixture.Entry{Path: v, Kind: fixture.Link, Target: target})
		t.add(fileOf("originals/"+v, sampleText(v, "Original")))
	}
	return t
}
