package host

import (
	"context"
	"slices"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// MaxBody is the size limit, in bytes, of a text that Body reads.
const MaxBody = 1 << 20

// Body returns the text of a resource in the newest snapshot. If the snapshot lists the
// resource without its text because of a size cap, Body rereads the file through its root,
// with all the checks that applied when it was found, up to MaxBody. It returns nil when
// there is no text to show: the resource is gone, isn't backed by a file, or holds secrets.
func (h *Host) Body(ctx context.Context, id string) ([]byte, error) {
	r := h.Current().Find(id)
	switch {
	case r == nil || r.Payload != nil:
		return payloadOf(r), nil
	case r.Kind == abi.KindMCPConfig, r.Status != snapshot.StatusOversize && r.Status != snapshot.StatusExcluded:
		return nil, nil
	}
	_, leave, err := h.turn.Take(ctx) // keeps roots open meanwhile
	if err != nil {
		return nil, err
	}
	defer leave()
	resolvers := h.resolvers()
	for _, u := range h.used() {
		for i := range u.slot.outcomes {
			o := &u.slot.outcomes[i]
			found := slices.ContainsFunc(o.Candidates, func(c snapshot.Candidate) bool { return c.Resolver == r.Resolver && c.ID() == id })
			by := slices.IndexFunc(resolvers, func(r resolve.Resolver) bool { return r.ID() == o.Resolver })
			if !found || by < 0 {
				continue
			}
			now, err := h.engine.Body(&resolvers[by], u.root, id, MaxBody)
			if now != nil || err != nil {
				return payloadOf(now), err
			}
		}
	}
	return nil, nil
}

func payloadOf(r *snapshot.Resource) []byte {
	if r == nil {
		return nil
	}
	return r.Payload
}
