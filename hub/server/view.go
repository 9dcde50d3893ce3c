package server

import (
	"context"
	"slices"

	"waymark/hub/store"
)

// view is the store as seen with a reader's token, and the handlers' only access to the
// store. What is out of the token's scope is answered exactly like something that doesn't
// exist. Such a query about an agent doesn't reach the store; one about a pin first looks
// up the pin's agent, which never changes.
type view struct {
	store store.Store
	token *store.Token
}

// agent refuses an agent that is out of scope.
func (v view) agent(id string) error {
	if v.token.Allows(id) {
		return nil
	}
	return &store.NotFoundError{What: "agent", ID: id}
}

// pin refuses a pin whose agent is out of scope.
func (v view) pin(ctx context.Context, id string) error {
	if v.token.Scope == nil {
		return nil
	}
	_, err := v.Pin(ctx, id)
	return err
}

func (v view) FindAgents(ctx context.Context, q store.AgentQuery) (store.AgentPage, error) {
	q.Scope = v.token.Scope
	return v.store.FindAgents(ctx, q)
}

// Newest tells a limited reader only that something happens.
func (v view) Newest(ctx context.Context) (store.Cursor, error) { return v.store.Newest(ctx) }

func (v view) Agent(ctx context.Context, id string) (store.AgentInfo, error) {
	if err := v.agent(id); err != nil {
		return store.AgentInfo{}, err
	}
	return v.store.Agent(ctx, id)
}

func (v view) Snapshot(ctx context.Context, q store.Query) (store.StoredSnapshot, error) {
	if err := v.agent(q.AgentID); err != nil {
		return store.StoredSnapshot{}, err
	}
	return v.store.Snapshot(ctx, q)
}

func (v view) ResourceBody(ctx context.Context, q store.Query, resourceID string) ([]byte, error) {
	if err := v.agent(q.AgentID); err != nil {
		return nil, err
	}
	return v.store.ResourceBody(ctx, q, resourceID)
}

func (v view) Search(ctx context.Context, q store.SearchQuery) ([]store.Hit, error) {
	q.Scope = v.token.Scope
	return v.store.Search(ctx, q)
}

func (v view) History(ctx context.Context, agentID string) ([]store.Change, error) {
	if err := v.agent(agentID); err != nil {
		return nil, err
	}
	return v.store.History(ctx, agentID)
}

func (v view) Diff(ctx context.Context, agentID string, from, to int64) ([]store.ResourceChange, error) {
	if err := v.agent(agentID); err != nil {
		return nil, err
	}
	return v.store.Diff(ctx, agentID, from, to)
}

func (v view) CreatePin(ctx context.Context, agentID, name string) (store.Pin, error) {
	if err := v.agent(agentID); err != nil {
		return store.Pin{}, err
	}
	return v.store.CreatePin(ctx, agentID, name)
}

func (v view) Pins(ctx context.Context, agentID string) ([]store.Pin, error) {
	list, err := v.store.Pins(ctx, agentID)
	return slices.DeleteFunc(list, func(p store.Pin) bool { return !v.token.Allows(p.AgentID) }), err
}

func (v view) Pin(ctx context.Context, id string) (store.Pin, error) {
	pin, err := v.store.Pin(ctx, id)
	if err == nil && !v.token.Allows(pin.AgentID) {
		return store.Pin{}, &store.NotFoundError{What: "pin", ID: id}
	}
	return pin, err
}

func (v view) PinSnapshot(ctx context.Context, id string, withoutPayloads bool) (store.Pin, store.StoredSnapshot, error) {
	if err := v.pin(ctx, id); err != nil {
		return store.Pin{}, store.StoredSnapshot{}, err
	}
	return v.store.PinSnapshot(ctx, id, withoutPayloads)
}

func (v view) PinBody(ctx context.Context, id, resourceID string) ([]byte, error) {
	if err := v.pin(ctx, id); err != nil {
		return nil, err
	}
	return v.store.PinBody(ctx, id, resourceID)
}

func (v view) PinDiff(ctx context.Context, id string) (store.Pin, []store.ResourceChange, int64, error) {
	if err := v.pin(ctx, id); err != nil {
		return store.Pin{}, nil, 0, err
	}
	return v.store.PinDiff(ctx, id)
}

func (v view) PinManifests(ctx context.Context, id string) ([]byte, error) {
	if err := v.pin(ctx, id); err != nil {
		return nil, err
	}
	return v.store.PinManifests(ctx, id)
}

func (v view) RefreshPin(ctx context.Context, id string) (store.Pin, error) {
	if err := v.pin(ctx, id); err != nil {
		return store.Pin{}, err
	}
	return v.store.RefreshPin(ctx, id)
}

func (v view) DeletePin(ctx context.Context, id string) error {
	if err := v.pin(ctx, id); err != nil {
		return err
	}
	return v.store.DeletePin(ctx, id)
}

// Pins are the pins that the reader of a call may see: those of agents out of scope don't
// exist. Errors are those of [store.Pins].
type Pins interface {
	Pin(ctx context.Context, id string) (store.Pin, error)
	PinSnapshot(ctx context.Context, id string, withoutPayloads bool) (store.Pin, store.StoredSnapshot, error)
	PinBody(ctx context.Context, id, resourceID string) ([]byte, error)
	PinDiff(ctx context.Context, id string) (store.Pin, []store.ResourceChange, int64, error)
	PinManifests(ctx context.Context, id string) ([]byte, error)
}

// PinsOf returns the pins of a store that the reader of the call in ctx may see.
func PinsOf(ctx context.Context, s store.Store) Pins {
	reader := ReaderOf(ctx)
	return view{s, &reader.Token}
}
