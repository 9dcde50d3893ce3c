package resolve

import (
	"slices"

	"waymark/host/vfs"
)

// Observed is the trace as far as it may be shown, and how many entries were
// left out: of a resolver that reads MCP configurations only what it declared
// by name is told, as with denials. Link texts of such a resolver are left out
// too.
func (o *Outcome) Observed() (shown []vfs.Dep, withheld int) {
	if o.tellable == nil {
		return slices.Clone(o.Trace), 0
	}
	for _, d := range o.Trace {
		if d.Path != "." && !slices.Contains(o.tellable, d.Path) {
			withheld++
			continue
		}
		d.Target = ""
		shown = append(shown, d)
	}
	return shown, withheld
}

// tellable lists the paths of a resolver that may be shown; nil means all.
func tellable(r *Resolver) []string {
	if !withholds(r) {
		return nil
	}
	return append([]string{}, r.Info.Reads...)
}
