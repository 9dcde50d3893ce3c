package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/host/api/types"
	"waymark/host/applies"
	"waymark/host/clients"
	"waymark/host/coverage"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/workspace"
	"waymark/workspace/client"
)

// The calls of the context API: what the engine says, with the codes of the agent.

// received is v as it comes out of JSON: a copy, and without what doesn't travel.
func received[T any](v T) (*T, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(data, out)
}

// asked is enter for a call that takes no time.
func (a *Agent) asked(ctx context.Context) error {
	_, leave, err := a.enter(ctx)
	if err == nil {
		leave()
	}
	return err
}

// coded gives the engine's errors their codes.
func coded(ctx context.Context, message string, err error) error {
	code := http.StatusInternalServerError
	switch {
	case err == nil || client.CodeOf(err) != 0:
		return err
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, sources.ErrNotFound), errors.Is(err, applies.ErrOutside):
		code = http.StatusNotFound
	case errors.Is(err, applies.ErrSecret):
		code = http.StatusForbidden
	case errors.Is(err, applies.ErrPath), errors.Is(err, sources.ErrInvalid), errors.Is(err, sources.ErrRelative), errors.Is(err, sources.ErrNotAllowed), errors.Is(err, sources.ErrTooMany):
		code = http.StatusBadRequest
	}
	return refuse(code, message, err.Error())
}

// Status implements client.Client.
func (a *Agent) Status(ctx context.Context) (*types.Status, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	return received(a.state.engine.Status())
}

// Health implements client.Client.
func (a *Agent) Health(ctx context.Context) error { return a.asked(ctx) }

// Metrics implements client.Client. The fake has one.
func (a *Agent) Metrics(ctx context.Context) ([]byte, error) {
	return []byte("waymark_up 1\n"), a.asked(ctx)
}

// Snapshot implements client.Client.
func (a *Agent) Snapshot(ctx context.Context, opts client.SnapshotOptions) (*snapshot.Snapshot, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	after := opts.After
	if after > a.state.engine.Current().Version {
		after = 0
	}
	if opts.Wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, opts.Wait)
		defer cancel()
		for {
			s, err := a.state.engine.Wait(waiting, after)
			if err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
				return nil, coded(ctx, "there is no snapshot to show", err)
			}
			if err != nil || !opts.Complete || !s.Discovery.Pending() {
				break
			}
			after = s.Version
		}
	}
	return received(*a.state.engine.Current())
}

// Watch implements client.Client.
func (a *Agent) Watch(ctx context.Context, after uint64) iter.Seq2[*snapshot.Snapshot, error] {
	return func(yield func(*snapshot.Snapshot, error) bool) {
		for ctx.Err() == nil {
			s, err := a.Snapshot(ctx, client.SnapshotOptions{Wait: time.Minute, After: after})
			switch {
			case ctx.Err() != nil:
			case err == nil && (s.Version == 0 || s.Version == after): // there is none newer
			case err == nil:
				if after = s.Version; !yield(s, nil) {
					return
				}
			case !yield(nil, err) || !errors.Is(err, errBroken) || a.state.back(ctx) != nil:
				return
			default:
				after = 0 // another life of the agent begins with what it has
			}
		}
	}
}

// Resync implements client.Client.
func (a *Agent) Resync(ctx context.Context) (*snapshot.Snapshot, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := a.state.engine.Resync(ctx)
	if err != nil {
		return nil, coded(ctx, "the resync was not completed", err)
	}
	return received(*s)
}

// Resource implements client.Client.
func (a *Agent) Resource(ctx context.Context, id string) ([]byte, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	r := a.state.engine.Current().Find(id)
	if r == nil || r.Payload == nil {
		detail := "there is no such resource"
		if r != nil {
			detail = string(r.Status) + ": it has no payload"
		}
		return nil, refuse(http.StatusNotFound, "there is nothing to read", detail)
	}
	return slices.Clone(r.Payload), nil
}

// Coverage implements client.Client.
func (a *Agent) Coverage(ctx context.Context) (*coverage.Report, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	report, err := a.state.engine.Coverage(ctx)
	if err != nil {
		return nil, coded(ctx, "it is not known what isn't used", err)
	}
	return report, nil
}

// Applies implements client.Client.
func (a *Agent) Applies(ctx context.Context, path string) (*applies.Answer, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := a.state.engine.For(ctx, path)
	if err != nil {
		return nil, coded(ctx, "it is not known what applies to the file", err)
	}
	return answer, nil
}

// ClientApplies implements client.Client.
func (a *Agent) ClientApplies(ctx context.Context, client, path string) (*applies.Answer, error) {
	return forClient(ctx, a, client, "it is not known what applies to the file", func(ctx context.Context, c *clients.Client) (*applies.Answer, error) {
		return a.state.engine.ForClient(ctx, c, path)
	})
}

// ClientContext implements client.Client.
func (a *Agent) ClientContext(ctx context.Context, client, dir string) (*clients.View, error) {
	return forClient(ctx, a, client, "it is not known what the client sees", func(ctx context.Context, c *clients.Client) (*clients.View, error) {
		return a.state.engine.ClientContext(ctx, c, dir)
	})
}

// ClientWhy implements client.Client.
func (a *Agent) ClientWhy(ctx context.Context, client string, paths ...string) ([]why.Answer, error) {
	answers, err := a.Why(ctx, paths...)
	if err != nil || len(paths) == 0 {
		return answers, err
	}
	return forClient(ctx, a, client, "the question was not answered", func(ctx context.Context, c *clients.Client) ([]why.Answer, error) {
		verdicts, err := a.state.engine.WhyClient(ctx, c, paths...)
		for i := range verdicts {
			answers[i].Client = &verdicts[i]
		}
		return answers, err
	})
}

// forClient asks something about a client that is to be known.
func forClient[T any](ctx context.Context, a *Agent, name, failed string, ask func(context.Context, *clients.Client) (T, error)) (answer T, err error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return answer, err
	}
	defer leave()
	c := clients.Lookup(name)
	if c == nil {
		return answer, refuse(http.StatusBadRequest, failed, "the client is none of "+strings.Join(clients.IDs(), ", "))
	}
	if answer, err = ask(ctx, c); err != nil {
		return answer, coded(ctx, failed, err)
	}
	return answer, nil
}

// SkillFiles implements client.Client.
func (a *Agent) SkillFiles(ctx context.Context, id string) (*types.SkillFiles, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	files, err := a.state.engine.SkillFiles(ctx, id)
	if err != nil {
		return nil, coded(ctx, "the skill's files are not known", err)
	}
	return files, nil
}

// SkillFile implements client.Client.
func (a *Agent) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	body, err := a.state.engine.SkillFile(ctx, id, file)
	if err != nil {
		return nil, coded(ctx, "the skill's file can't be read", err)
	}
	return body, nil
}

// Why implements client.Client.
func (a *Agent) Why(ctx context.Context, paths ...string) ([]why.Answer, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	answers := []why.Answer{}
	for _, p := range paths {
		if !path.IsAbs(p) {
			return nil, refuse(http.StatusBadRequest, "the question was not answered", fmt.Sprintf("%q is not absolute", p))
		}
		answer, err := a.state.engine.Why(ctx, p)
		if err != nil {
			return nil, coded(ctx, "the question was not answered", err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// Sources implements client.Client.
func (a *Agent) Sources(ctx context.Context) ([]sources.Source, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	return append([]sources.Source{}, a.state.engine.Sources()...), nil
}

// Source implements client.Client.
func (a *Agent) Source(ctx context.Context, name string) (sources.Source, error) {
	list, err := a.Sources(ctx)
	if err != nil {
		return sources.Source{}, err
	}
	i := slices.IndexFunc(list, func(s sources.Source) bool { return s.Path == filepath.Clean(name) })
	if i < 0 {
		return sources.Source{}, refuse(http.StatusNotFound, "no such source", "the agent has no source of this path")
	}
	return list[i], nil
}

// AddSource implements client.Client.
func (a *Agent) AddSource(ctx context.Context, name string, persist bool) (sources.Source, bool, error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return sources.Source{}, false, err
	}
	defer leave()
	s, added, err := a.state.engine.AddSource(ctx, name, persist)
	return s, added, coded(ctx, "the source was not added", err)
}

// RemoveSource implements client.Client.
func (a *Agent) RemoveSource(ctx context.Context, name string) error {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return coded(ctx, "the source was not removed", a.state.engine.RemoveSource(ctx, name))
}

// SetRoot implements client.Client. It tells the engine: the services keep
// Options.Root.
func (a *Agent) SetRoot(ctx context.Context, name string) error {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !path.IsAbs(name) {
		return refuse(http.StatusBadRequest, "the root was not set", "path must be absolute")
	}
	return coded(ctx, "the root was not set", a.state.engine.SetRoot(ctx, path.Clean(name)))
}

// Ready implements client.Client.
func (a *Agent) Ready(ctx context.Context) error {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return coded(ctx, "the first snapshot was not released", a.state.engine.Ready(ctx))
}

// Plugins implements client.Client.
func (a *Agent) Plugins(ctx context.Context) ([]snapshot.Plugin, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	list, err := received(a.state.engine.Status().Plugins)
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// RetryPlugins implements client.Client.
func (a *Agent) RetryPlugins(ctx context.Context) error {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return coded(ctx, "the plugins were not retried", a.state.engine.RetryPlugins(ctx))
}

// WaitingPlugins implements client.Client.
func (a *Agent) WaitingPlugins(ctx context.Context) ([]approvals.Pending, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	return append([]approvals.Pending{}, a.state.engine.WaitingPlugins()...), nil
}

// ApprovePlugin implements client.Client.
func (a *Agent) ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	ctx, leave, err := a.act(ctx, scopeApprove)
	if err != nil {
		return nil, err
	}
	defer leave()
	approved, err := a.state.engine.ApprovePlugin(ctx, name, digest)
	return approved, coded(ctx, "the plugin was not approved", err)
}

// ContextConfig implements client.Client.
func (a *Agent) ContextConfig(ctx context.Context) (*workspace.ContextConfig, error) {
	if err := a.asked(ctx); err != nil {
		return nil, err
	}
	if c := a.state.opts.Config; c != nil {
		return received(*c)
	}
	home, root := a.state.opts.Home, a.state.opts.Root
	return &workspace.ContextConfig{
		InstructionsDirs: []string{path.Join(home, ".coder")}, InstructionsFile: "AGENTS.md",
		SkillsDirs: []string{path.Join(home, ".coder/skills"), path.Join(root, ".agents/skills")}, SkillMetaFile: "SKILL.md",
		MCPConfigFiles: []string{path.Join(root, ".mcp.json")},
	}, nil
}
