package push

import (
	"waymark/snapshot"
	"waymark/wire"
)

// content encodes all of a push.
func (p *prepared) content(protocol wire.Protocol) ([]byte, error) {
	if protocol == wire.ProtocolCoder {
		return p.whole(1, true)
	}
	return p.change(1, nil, false)
}

// Prepare lets the tests look at a push of everything without a connection, so that a fuzz
// target can make many.
func Prepare(s *snapshot.Snapshot, protocol wire.Protocol) ([]byte, HeldBack, int, error) {
	return PrepareAfter(nil, s, protocol)
}

// PrepareDelta returns what makes another snapshot of before, once that was pushed.
func PrepareDelta(before *snapshot.Snapshot) (func(after *snapshot.Snapshot) ([]byte, error), error) {
	base, err := prepare(before, wire.ProtocolWaymark, nil, nil)
	if err != nil {
		return nil, err
	}
	if _, err := base.change(1, nil, false); err != nil {
		return nil, err
	}
	return func(after *snapshot.Snapshot) ([]byte, error) {
		p, err := prepare(after, wire.ProtocolWaymark, nil, base)
		if err != nil {
			return nil, err
		}
		return p.change(2, base, true)
	}, nil
}

// PrepareHolding does what Prepare does for a peer that doesn't get everything.
func PrepareHolding(s *snapshot.Snapshot, protocol wire.Protocol, hold func(*snapshot.Resource) Reason) ([]byte, HeldBack, error) {
	p, err := prepare(s, protocol, hold, nil)
	if err != nil {
		return nil, HeldBack{}, err
	}
	content, err := p.content(protocol)
	return content, p.report.held, err
}

// PrepareAfter is Prepare of what comes after another snapshot, unless that is nil.
func PrepareAfter(before, after *snapshot.Snapshot, protocol wire.Protocol) (_ []byte, _ HeldBack, _ int, err error) {
	var base *prepared
	if before != nil {
		if base, err = prepare(before, protocol, nil, nil); err != nil {
			return nil, HeldBack{}, 0, err
		}
	}
	p, err := prepare(after, protocol, nil, base)
	if err != nil {
		return nil, HeldBack{}, 0, err
	}
	content, err := p.content(protocol)
	return content, p.report.held, p.report.mended, err
}
