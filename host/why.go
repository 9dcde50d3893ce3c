package host

import (
	"context"

	"waymark/host/why"
)

// Why tells whether a file is in the context, and if not, why. The path is
// absolute. It answers from what the last refresh has seen, and refreshes
// first if there was none.
func (h *Host) Why(ctx context.Context, path string) (why.Answer, error) {
	report, err := h.lastReport(ctx)
	if err != nil {
		return why.Answer{}, err
	}
	_, leave, err := h.enter(ctx) // no root is closed meanwhile
	if err != nil {
		return why.Answer{}, err
	}
	defer leave()
	in := why.Input{Snapshot: report.Snapshot, Notes: report.Notes, Missing: h.missing()}
	for _, r := range h.refusedRoots() {
		in.Refused = append(in.Refused, why.Refused(r))
	}
	for i, u := range h.used() {
		in.Roots = append(in.Roots, why.Root{FS: u.root.FS, Role: u.root.Role, SourcePath: u.root.SourcePath})
		for _, o := range u.slot.outcomes {
			in.Runs = append(in.Runs, why.Run{
				Resolver: o.Resolver, Root: i, View: o.View, Filter: o.Filter, Trace: o.Trace,
				Denied: o.Denied, Candidates: o.Candidates, Err: o.Err,
			})
		}
	}
	return why.Explain(in, path), nil
}

// lastReport is that of the last refresh, or of one that is made now.
func (h *Host) lastReport(ctx context.Context) (*Report, error) {
	h.mu.Lock()
	report := h.report
	h.mu.Unlock()
	if report != nil {
		return report, nil
	}
	return h.Refresh(ctx)
}
