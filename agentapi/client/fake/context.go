package fake

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"time"

	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/internal/httpapi/apiclient"
	"waymark/snapshot"
)

// received returns v after a round trip through JSON: a copy, without what isn't encoded.
func received[T any](v T) (*T, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(data, out)
}

// Health implements client.Client.
func (a *Agent) Health(ctx context.Context) error {
	return a.do(ctx, "", func(context.Context) error { return nil })
}

// Status implements client.Client.
func (a *Agent) Status(ctx context.Context) (*status.Status, error) {
	return call(ctx, a, "", func(context.Context) (*status.Status, error) { return received(a.Engine().Status()) })
}

// Snapshot implements client.Client.
func (a *Agent) Snapshot(ctx context.Context, opts client.SnapshotOptions) (*snapshot.Snapshot, error) {
	return call(ctx, a, "", func(ctx context.Context) (*snapshot.Snapshot, error) {
		if opts.After > a.Engine().Current().Version {
			opts.After = 0
		}
		waiting, cancel := context.WithTimeout(ctx, opts.Wait)
		defer cancel()
		for waits := opts.Wait > 0; waits; {
			s, err := a.Engine().Wait(waiting, opts.After)
			if err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
				return nil, err
			}
			if waits = err == nil && opts.Complete && s.Discovery.Pending(); waits {
				opts.After = s.Version
			}
		}
		return received(*a.Engine().Current())
	})
}

// Watch implements client.Client. The result can be iterated once.
func (a *Agent) Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error] {
	return apiclient.Follow(ctx, time.Second, func(ctx context.Context, c *apiclient.Connection[*snapshot.Snapshot]) error {
		s, err := a.Snapshot(ctx, client.SnapshotOptions{Wait: time.Minute, After: after})
		if err != nil {
			after = 0 // another life of the agent starts with its current snapshot
			return err
		}
		if s.Version != after {
			after = s.Version
			c.Yield(s)
		}
		return nil
	})
}

// Resource implements client.Client.
func (a *Agent) Resource(ctx context.Context, id string) ([]byte, error) {
	return call(ctx, a, "", func(context.Context) ([]byte, error) {
		if r := a.Engine().Current().Find(id); r != nil && r.Payload != nil {
			return slices.Clone(r.Payload), nil
		}
		return nil, refuse(http.StatusNotFound, "there is no such resource, or it has no payload")
	})
}

// Applies implements client.Client.
func (a *Agent) Applies(ctx context.Context, name string) (*applicability.Answer, error) {
	return call(ctx, a, "", func(ctx context.Context) (*applicability.Answer, error) {
		answer, err := a.Engine().For(ctx, name)
		if err != nil { // the only possible cause is an invalid path
			err = refuse(http.StatusBadRequest, "%v", err)
		}
		return answer, err
	})
}

// SkillFiles implements client.Client.
func (a *Agent) SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error) {
	return call(ctx, a, "", func(ctx context.Context) (*status.SkillFiles, error) { return a.Engine().SkillFiles(ctx, id) })
}

// SkillFile implements client.Client.
func (a *Agent) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	return call(ctx, a, "", func(ctx context.Context) ([]byte, error) { return a.Engine().SkillFile(ctx, id, file) })
}
