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
	"waymark/cmd/harness/internal/fixture"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// workspace is a tree that resolvers look at, and by which rule they are
// judged.
type workspace struct {
	name, rule string
	tree       tree
	shape      fixture.Entry // stands at the places, whatever the tree has there
	places     []string
	reversed   bool     // made from the last entry to the first
	above      string   // further directories above the root
	file       string   // the root is this file of it
	role       abi.Role // of the root
	// victims are paths that the tree holds something else at than the sample:
	// resources elsewhere must be as they were. Nil doesn't compare.
	victims []string
	// plain workspaces hold no links: what is asked for is what was meant.
	plain bool
	// lenient workspaces forgive an error that the resolver reports itself.
	lenient bool
	hint    string

	root     string
	outcomes map[string]*resolve.Outcome // by resolver
}

// make writes the workspace. All have the same base name, since a resolver may
// depend on it.
func (c *checker) make(p *workspace) error {
	c.made++
	p.root = filepath.Join(c.dir, fmt.Sprintf("%03d-%s", c.made, p.name), p.above, "workspace")
	const secret = "outside of the workspace\n"
	err := fixture.MakeAll(outside(p.root), p.root, tree{fileOf("secret.md", secret), fileOf("dir/SKILL.md", secret)})
	if err != nil {
		return err
	}
	if err := p.write(); err != nil {
		return fmt.Errorf("workspace %s: %w", p.name, err)
	}
	return nil
}

// write writes its tree, and then one after the other what stands at its places: it
// may be large.
func (p *workspace) write() error {
	if err := p.tree.without(p.places...).write(p.root, p.reversed); err != nil {
		return err
	}
	for _, place := range p.places {
		e, err := shapeAt(p.shape, place)
		if err != nil {
			return err
		}
		if err := (tree{e}).write(p.root, false); err != nil {
			return err
		}
	}
	return nil
}

// run has the resolvers that still run look at workspaces.
func (c *checker) run(ctx context.Context, workspaces ...*workspace) error {
	for _, p := range workspaces {
		if err := c.make(p); err != nil {
			return err
		}
	}
	opts := c.hostOptions()
	for _, p := range workspaces {
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
	for _, p := range workspaces {
		p.outcomes = outcomesOf(report, p.root)
		c.runs += len(p.outcomes)
	}
	c.seen = append(c.seen, workspaces...)
	return nil
}

func refresh(ctx context.Context, h *host.Host) (*host.Report, error) {
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	return h.Refresh(ctx)
}

// forget leaves of the outcomes what another host needs to look at the same.
func (p *workspace) forget() {
	for name, o := range p.outcomes {
		p.outcomes[name] = &resolve.Outcome{View: o.View, Filter: o.Filter}
	}
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

// stopRunning stops running a resolver that has exceeded its deadline.
func (c *checker) stopRunning(name string, err error) {
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
