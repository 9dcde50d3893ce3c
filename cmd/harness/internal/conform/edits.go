package conform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"waymark/host"
)

// edit is a change of a workspace.
type edit struct {
	name string
	do   func(root string) error
}

// edits changes a workspace step by step and compares what a host that
// remembers results and units makes of it with what one that remembers nothing
// does.
func (c *checker) edits(ctx context.Context) error {
	c.checked[ruleIncremental] = true
	p := &workspace{name: "edited", rule: ruleIncremental, tree: c.sample.tree}
	if err := c.make(p); err != nil {
		return err
	}
	clean := c.hostOptions()
	clean.Roots = []host.RootSpec{{Path: p.root}}
	keeping := clean
	keeping.NoMemo = false
	hosts := [2]*host.Host{}
	for i, o := range []host.Options{keeping, clean} {
		h, err := host.New(o)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }()
		if err := h.Load(ctx); err != nil {
			return err
		}
		hosts[i] = h
	}
	for _, e := range c.script() {
		if err := e.do(p.root); err != nil {
			return err
		}
		if err := c.compare(ctx, hosts[0], hosts[1], p, e.name); err != nil {
			return err
		}
	}
	return nil
}

// compare refreshes both hosts. One that remembers is asked twice: the second
// time nothing has changed.
func (c *checker) compare(ctx context.Context, keeping, clean *host.Host, p *workspace, step string) error {
	incremental, err := keeping.Refresh(ctx)
	again, err2 := keeping.Refresh(ctx)
	fresh, err3 := clean.Refresh(ctx)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	was, reused, is := outcomesOf(incremental, p.root), outcomesOf(again, p.root), outcomesOf(fresh, p.root)
	for _, name := range c.alive() {
		if was[name] == nil || is[name] == nil || is[name].Err != nil {
			continue // the other rules say it
		}
		c.runs += 2
		f := Finding{Rule: ruleIncremental, Resolver: name, Workspaces: []string{p.name}}
		if d := difference(was[name], is[name]); d != "" {
			f.Severity = Fail
			f.Detail = "after " + step + " its re-used results aren't those of a clean run: " + d
			f.Hint = "a unit's value may depend only on its key, the request and what is read between memo_begin and memo_end (abi/ABI.md, \"Units\")"
			c.find(f)
		} else if o := reused[name]; o != nil && o.Err == nil && !o.Reused {
			f.Severity, f.Detail = Warn, "it is run again although nothing has changed"
			f.Hint = "something that it looks at is never the same: harness run --explain shows what"
			c.find(f)
		}
	}
	return nil
}

// maxEdited bounds the script: the kinds of edits matter, not their number.
const maxEdited = 4

// script is what happens to the workspace.
func (c *checker) script() []edit {
	list := []edit{{"nothing", func(string) error { return nil }}}
	paths := spread(c.sample.victims, maxEdited)
	for i, path := range paths {
		other := paths[(i+1)%len(paths)]
		list = append(list,
			edit{"rewriting " + path, put(path, sampleText(path, "Edited"))},
			edit{"removing " + path, func(root string) error { return os.Remove(filepath.Join(root, path)) }},
			edit{"breaking " + path, put(path, "---\nname: [\n")},
			edit{"making " + path + " a link", func(root string) error {
				target := filepath.Join(root, path)
				if err := os.Rename(target, target+".moved"); err != nil {
					return err
				}
				return os.Symlink(filepath.Base(path)+".moved", target)
			}},
			edit{"restoring " + path, func(root string) error {
				if err := os.Remove(filepath.Join(root, path)); err != nil {
					return err
				}
				return put(path, sampleText(path, "Sample"))(root)
			}},
			edit{"emptying " + other, put(other, "")},
			edit{"restoring " + other, put(other, sampleText(other, "Sample"))})
	}
	for _, s := range spread(slices.Clone(c.sample.stars), maxEdited) {
		for _, e := range c.sample.named([]string{s}, "added")[len(c.sample.tree):] {
			list = append(list, edit{"adding " + e.Path, put(e.Path, string(e.Body))},
				edit{"removing " + e.Path, func(root string) error { return os.Remove(filepath.Join(root, e.Path)) }})
		}
	}
	return list
}

func put(path, body string) func(root string) error {
	return func(root string) error {
		e := fileOf(path, body)
		return e.Make(root, root)
	}
}
