package resolve

import (
	"slices"

	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// A resolver that reads settings files could put a token into any of its words, and into any
// path that it asks for. So nothing of it is repeated except the paths that it declared by
// name.

// withholds reports whether a resolver's own words must not be repeated.
func withholds(r *Resolver) bool { return sandbox.Withholds(r.Info.Kinds) }

// Observed returns the part of the trace that may be shown, and how many entries were left
// out. For a withholding resolver it also omits the texts of links.
func (o *Outcome) Observed() (shown []vfs.Dep, withheld int) {
	if o.showable == nil {
		return slices.Clone(o.Trace), 0
	}
	for _, d := range o.Trace {
		if d.Path != "." && !slices.Contains(o.showable, d.Path) {
			withheld++
			continue
		}
		d.Target = ""
		shown = append(shown, d)
	}
	return shown, withheld
}

// showable lists the paths of a resolver that may be shown; nil means all.
func showable(r *Resolver) []string {
	if !withholds(r) {
		return nil
	}
	return append([]string{}, r.Info.Reads...)
}

// changedFor returns the path to show for what made a memo stale.
func changedFor(r *Resolver, path string) string {
	if withholds(r) && path != "." && !slices.Contains(r.Info.Reads, path) {
		return "a file that it looked for"
	}
	return path
}

// deniedTo lists what was refused.
func deniedTo(r *Resolver, run *vfs.Run) []vfs.Denial {
	denied := run.Denied()
	if withholds(r) {
		denied = slices.DeleteFunc(denied, func(d vfs.Denial) bool { return !slices.Contains(r.Info.Reads, d.Path) })
	}
	return denied
}
