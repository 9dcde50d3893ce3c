package conform

import (
	"context"
	"os"
	"slices"
	"strings"
)

// hostile looks at workspaces as they shouldn't be.
func (c *checker) hostile(ctx context.Context) error {
	for _, places := range [][]*place{c.contents(), c.specials(), c.links(), c.parents(), c.oddNames(), c.crowds()} {
		if len(places) == 0 {
			continue
		}
		if err := c.look(ctx, places...); err != nil {
			return err
		}
		for _, p := range places {
			c.judge(p)
		}
		if len(c.alive()) == 0 {
			break
		}
	}
	return nil
}

// replaced is the sample with something in the place of each victim.
func (c *checker) replaced(rule, name, hint string, replace func(path string) entry) *place {
	return &place{
		name: name, rule: rule, tree: c.sample.each(replace), victims: slices.Clone(c.sample.victims), hint: hint,
	}
}

const oneFile = "report what is wrong with one file as its resource's status invalid and error, or emit it without a status: the host classifies what it can't read"

// contents are files that hold something else than they should.
func (c *checker) contents() []*place {
	var places []*place
	for _, bad := range badContents() {
		p := c.replaced(ruleContents, bad.name, oneFile, func(path string) entry { return entry{text: bad.text(path)} })
		p.plain = true
		places = append(places, p)
	}
	return places
}

// specials are things that aren't the file that they should be.
func (c *checker) specials() []*place {
	const huge = 1 << 30
	of := func(name string, e entry) *place {
		return c.replaced(ruleFiles, name, oneFile, func(string) entry { return e })
	}
	places := []*place{
		of("fifo", entry{kind: pipe}),
		of("socket", entry{kind: socket, maybe: true}),
		of("directory", entry{kind: directory}),
		of("huge", entry{kind: sparse, size: huge}),
		c.replaced(ruleFiles, "large", oneFile, func(path string) entry {
			return entry{text: sampleText(path, "Sample") + strings.Repeat("A line of many.\n", 1<<16)}
		}),
	}
	if os.Geteuid() != 0 { // root reads everything
		places = append(places, of("unreadable", entry{text: "nobody reads this\n", sealed: true}))
	}
	return places
}

// links are links in the place of files.
func (c *checker) links() []*place {
	of := func(name, target string) *place {
		return c.replaced(ruleLinks, name, oneFile, func(string) entry { return entry{kind: link, text: target} })
	}
	places := []*place{
		of("link-broken", "no-such-file"),
		of("link-out", "$OUT/secret.md"),
		of("link-device", "/dev/zero"),
		of("link-root", "$ROOT"),
		of("link-directory", "$OUT/dir"),
		c.replaced(ruleLinks, "link-loop", oneFile, func(path string) entry { return entry{kind: link, text: "$ROOT/" + path} }),
	}
	for _, p := range places {
		if p.name == "link-root" { // it leads to all that is there, by other names
			p.victims = nil
		}
	}
	return places
}
