package host

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

// WaitingPlugins lists the modules that wait for Approve.
func (h *Host) WaitingPlugins() []approvals.Pending {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.waits)
}

// Approve lets a module run that waits for it, and returns when it is in use,
// or can't be. An empty digest means the one file of that name that waits.
//
// # Errors
//
// ErrNotWaiting, ErrWhichModule, or that the approval couldn't be kept.
func (h *Host) Approve(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	ctx, leave, err := h.enterPlugins(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	waits, m, err := h.findWaiting(name, digest)
	if err != nil {
		return nil, err
	}
	h.approvals.Approve(m)
	kept := h.approvals.Save()
	if kept != nil {
		kept = fmt.Errorf("the plugin is used until the agent ends: %w", kept)
	}
	_, err = h.restock(ctx, false)
	h.pluginsChanged() // for the times of later looks, and for what was left undone
	return waits, errors.Join(err, kept)
}

// findWaiting finds the row of a module that waits.
func (h *Host) findWaiting(name, digest string) (*approvals.Pending, *approvals.Module, error) {
	var found []*plugin
	for _, p := range h.plugins {
		if p.waits != nil && p.waits.Name == name && (digest == "" || p.waits.Digest == digest) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0 && digest != "":
		return nil, nil, fmt.Errorf("%w: %s with digest %s: see 'agent plugins approve' for those that do", ErrNotWaiting, name, digest)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("%w: %s: see 'agent plugins approve' for those that do", ErrNotWaiting, name)
	case len(found) > 1 && slices.ContainsFunc(found, func(p *plugin) bool { return p.waits.Digest != found[0].waits.Digest }):
		return nil, nil, ErrWhichModule
	}
	p := found[0]
	entry, _ := h.opts.entry(name)
	return p.waits, moduleOf(p.file, p.file.newest, &entry), nil
}
