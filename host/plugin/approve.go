package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/host/plugin/approvals"
)

// ErrNotWaiting says that no module with that name or digest waits for an approval.
var ErrNotWaiting = errors.New("no such module waits for approval")

// ErrWhichModule says that several modules with one name wait.
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

// Approve lets a waiting module run, and returns once it is in the list or has failed to
// load. An empty digest means the only waiting file of that name. The caller calls Check when
// the list is in use: the approval can change the verdict on other files, which a later list
// shows.
//
// # Errors
//
// ErrNotWaiting, ErrWhichModule, or that the approval couldn't be saved, which doesn't
// prevent its use.
func (c *Catalog) Approve(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	waits, kept, err := c.approve(ctx, name, digest)
	if err != nil {
		return nil, err
	}
	return waits, errors.Join(c.updateNow(ctx, false), kept)
}

// approve records the approval; kept is the error from saving it.
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

// findWaiting finds the row of a waiting module.
func (c *Catalog) findWaiting(name, digest string) (*approvals.Pending, *approvals.Module, error) {
	var found []*row
	for _, p := range c.current.rows {
		// If the file was reread since, the approval would be for content that nobody was
		// shown.
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
