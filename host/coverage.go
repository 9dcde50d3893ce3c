package host

import (
	"context"

	"waymark/abi"
	"waymark/host/why"
)

// Coverage reports files that lie where agents look but that no resource was made of. It
// reads only names, and only in roots without a role. It refreshes first if no refresh has
// run yet.
func (h *Host) Coverage(ctx context.Context) (*why.Coverage, error) {
	if err := h.haveReport(ctx); err != nil {
		return nil, err
	}
	_, leave, err := h.turn.Take(ctx) // keeps roots open meanwhile
	if err != nil {
		return nil, err
	}
	defer leave()
	opts := why.CoverageOptions{Own: h.config.conventions.Own, Disabled: h.config.conventions.Disabled}
	for _, r := range h.resolvers() {
		opts.Kinds = append(opts.Kinds, r.Info.Kinds...)
	}
	var roots []why.CoverageRoot
	for _, u := range h.used() {
		if u.root.Role == abi.RoleNone {
			roots = append(roots, why.CoverageRoot{FS: u.root.FS, Scope: u.root.Scope, Children: u.slot.children.names})
		}
	}
	return why.CoverageOf(roots, opts), nil
}
