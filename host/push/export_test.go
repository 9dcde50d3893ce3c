package push

import (
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/waymark"
)

// Prepare lets the tests look at a push without a connection, so that a fuzz
// target can make many.
func Prepare(s *snapshot.Snapshot, protocol wire.Protocol) ([]byte, HeldBack, int, error) {
	return PrepareFor(s, protocol, nil)
}

// PrepareFor does the same for a hub that takes so much.
func PrepareFor(s *snapshot.Snapshot, protocol wire.Protocol, m *waymark.Takes) ([]byte, HeldBack, int, error) {
	p, err := prepare(s, protocol, takesOf(m), nil, nil)
	if err != nil {
		return nil, HeldBack{}, 0, err
	}
	content, err := p.full(nil)
	return content, p.report.held, p.report.mended, err
}

// PrepareDelta returns what makes after of before, and nil where the whole is
// better.
func PrepareDelta(before, after *snapshot.Snapshot) ([]byte, error) {
	base, err := prepare(before, wire.ProtocolWaymark, takes{}, nil, nil)
	if err != nil {
		return nil, err
	}
	p, err := prepare(after, wire.ProtocolWaymark, takes{}, nil, base)
	if err != nil {
		return nil, err
	}
	return p.delta(nil, base, before.Version)
}

// PrepareHolding does what Prepare does for a peer that doesn't get everything.
func PrepareHolding(s *snapshot.Snapshot, protocol wire.Protocol, hold func(*snapshot.Resource) Reason) ([]byte, HeldBack, error) {
	p, err := prepare(s, protocol, takes{}, hold, nil)
	if err != nil {
		return nil, HeldBack{}, err
	}
	content, err := p.full(nil)
	return content, p.report.held, err
}

// PrepareAfter is PrepareFor of what comes after another snapshot, in either protocol.
func PrepareAfter(before, after *snapshot.Snapshot, protocol wire.Protocol, m *waymark.Takes) ([]byte, HeldBack, int, error) {
	base, err := prepare(before, protocol, takesOf(m), nil, nil)
	if err != nil {
		return nil, HeldBack{}, 0, err
	}
	p, err := prepare(after, protocol, takesOf(m), nil, base)
	if err != nil {
		return nil, HeldBack{}, 0, err
	}
	content, err := p.full(nil)
	return content, p.report.held, p.report.mended, err
}
