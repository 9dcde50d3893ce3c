package conform

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// place is a workspace that resolvers look at, and by which rule they are
// judged.
type place struct {
	name, rule string
	tree       tree
	reversed   bool     // made from the last entry to the first
	above      string   // further directories above the root
	file       string   // the root is this file of it
	role       abi.Role // of the root
	// victims are paths that the tree holds something else at than the sample:
	// resources elsewhere must be as they were. Nil doesn't compare.
	victims []string
	// plain places hold no links: what is asked for is what was meant.
	plain bool
	// lenient places forgive an error that the resolver reports itself.
	lenient bool
	hint    string

	root     string
	outcomes map[string]*resolve.Outcome // by resolver
}

// make writes the workspace. All have the same base name, since a resolver may
// depend on it.
func (c *checker) make(p *place) error {
	c.places++
	p.root = filepath.Join(c.dir, fmt.Sprintf("%03d-%s", c.places, p.name), p.above, "workspace")
	if err := makeDir(filepath.Join(outside(p.root), "dir")); err != nil {
		return err
	}
	for _, name := range []string{"secret.md", "dir/SKILL.md"} {
		if err := makeFile(filepath.Join(outside(p.root), name), "outside of the workspace\n"); err != nil {
			return err
		}
	}
	if err := p.tree.write(p.root, p.reversed); err != nil {
		return fmt.Errorf("workspace %s: %w", p.name, err)
	}
	return nil
}

// look has the resolvers that still run look at workspaces.
func (c *checker) look(ctx context.Context, places ...*place) error {
	for _, p := range places {
		if err := c.make(p); err != nil {
			return err
		}
	}
	opts := c.hostOptions()
	for _, p := range places {
		opts.Roots = append(opts.Roots, host.RootSpec{Path: filepath.Join(p.root, p.file), Role: p.role})
	}
	h, err := host.New(opts)
	if err != nil {
		return err
	}
	report, err := refresh(ctx, h)
	if err := errors.Join(err, h.Close()); err != nil {
		return err
	}
	for _, p := range places {
		p.outcomes = outcomesOf(report, p.root)
		c.runs += len(p.outcomes)
	}
	c.seen = append(c.seen, places...)
	return nil
}

func refresh(ctx context.Context, h *host.Host) (*host.Report, error) {
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	return h.Refresh(ctx)
}

// outcomesOf are a root's outcomes, by the resolver's name.
func outcomesOf(r *host.Report, root string) map[string]*resolve.Outcome {
	byName := map[string]*resolve.Outcome{}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Root == root {
			_, name, _ := strings.Cut(o.Resolver, "/")
			byName[name] = o
		}
	}
	return byName
}

// mourn stops running a resolver that has exceeded its deadline.
func (c *checker) mourn(name string, err error) {
	if errors.Is(err, sandbox.ErrDeadline) && !slices.Contains(c.dead, name) {
		c.dead = append(c.dead, name)
	}
}

// matchesAnywhere reports whether a path, or a directory on the way to it,
// matches a pattern of the host's lists.
func matchesAnywhere(pattern, path string) bool {
	ok, err := doublestar.Match("**/"+strings.ToLower(pattern), strings.ToLower(path))
	return ok && err == nil
}
