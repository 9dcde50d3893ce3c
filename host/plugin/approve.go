package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/host/plugin/approvals"
)

// ErrNotWaiting says that no module of that name, or digest, waits for an
// approval.
var ErrNotWaiting = errors.New("no such module waits for approval")

// ErrWhichModule says that several modules of one name wait.
var ErrWhichModule = errors.New("several modules of that name wait: name the digest")

// Waiting lists the modules of the current list that wait for Approve.
func (c *Catalog) Waiting() []approvals.Pending {
	var list []approvals.Pending
	for _, p := range c.Current().rows {
		if p.waits != nil {
			list = append(list, *p.waits)
		}
	}
	return list
}

// Approve lets a module run that waits for it, and returns when it is in the
// list, or can't be. An empty digest means the one file of that name that waits.
// The caller calls Check when the list is in use: with it the modules of other
// files may be judged differently, which is for a later list.
//
// # Errors
//
// ErrNotWaiting, ErrWhichModule, or that the approval couldn't be kept, which
// doesn't hinder its use.
func (c *Catalog) Approve(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	waits, kept, err := c.approve(ctx, name, digest)
	if err != nil {
		return nil, err
	}
	return waits, errors.Join(c.updateNow(ctx, false), kept)
}

// approve remembers the approval; kept is why that won't outlive the process.
func (c *Catalog) approve(ctx context.Context, name, digest string) (waits *approvals.Pending, kept, err error) {
	_, leave, err := c.turn.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	waits, m, err := c.findWaiting(name, digest)
	if err != nil {
		return nil, nil, err
	}
	c.approvals.Approve(m)
	if kept = c.approvals.Save(); kept != nil {
		kept = fmt.Errorf("the plugin is used until the agent ends: %w", kept)
	}
	return waits, kept, nil
}

// findWaiting finds the row of a module that waits.
func (c *Catalog) findWaiting(name, digest string) (*approvals.Pending, *approvals.Module, error) {
	var found []*row
	for _, p := range c.current.rows {
		// Of a file that was read again since, the approval would be for another
		// content than the one that was shown.
		if p.waits != nil && p.waits.Digest == p.file.newest.digest && p.waits.Name == name && (digest == "" || p.waits.Digest == digest) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0 && digest != "":
		return nil, nil, fmt.Errorf("%w: %s with digest %s: see 'agent plugins approve' for those that do", ErrNotWaiting, name, digest)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("%w: %s: see 'agent plugins approve' for those that do", ErrNotWaiting, name)
	case len(found) > 1 && slices.ContainsFunc(found, func(p *row) bool { return p.waits.Digest != found[0].waits.Digest }):
		return nil, nil, ErrWhichModule
	}
	p := found[0]
	entry, _ := c.config.entry(name)
	return p.waits, moduleOf(p.file, p.file.newest, &entry), nil
}
