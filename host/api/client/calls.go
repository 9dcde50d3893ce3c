package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waymark/host/api"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/snapshot"
)

const (
	pathSnapshot = "/api/v0/context/snapshot"
	pathSources  = "/api/v0/context/sources"
)

func (a *agent) Status(ctx context.Context) (*api.Status, error) {
	return fetch[api.Status](ctx, a, call{method: http.MethodGet, path: "/api/v0/status"})
}

func (a *agent) Health(ctx context.Context) error {
	return a.order(ctx, call{method: http.MethodGet, path: "/healthz"})
}

func (a *agent) Metrics(ctx context.Context) ([]byte, error) {
	return a.bytes(ctx, "/metrics")
}

func (a *agent) Snapshot(ctx context.Context, opts SnapshotOptions) (*snapshot.Snapshot, error) {
	return fetch[snapshot.Snapshot](ctx, a, newest(opts))
}

// newest asks for the snapshot.
func newest(opts SnapshotOptions) call {
	c := call{method: http.MethodGet, path: pathSnapshot}
	if opts.Wait > 0 {
		c.wait = opts.Wait
		c.query = url.Values{"wait": {opts.Wait.String()}, "after": {strconv.FormatUint(opts.After, 10)}}
	}
	return c
}

func (a *agent) Resync(ctx context.Context) (*snapshot.Snapshot, error) {
	timeout := a.opts.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		// Past the deadline the context ends the call, whatever is asked for.
		timeout = max(time.Until(deadline), time.Millisecond)
	}
	return fetch[snapshot.Snapshot](ctx, a, call{
		method: http.MethodPost, path: "/api/v0/context/resync", wait: timeout,
		query: url.Values{"timeout": {timeout.String()}},
	})
}

func (a *agent) Resource(ctx context.Context, id string) ([]byte, error) {
	return a.bytes(ctx, "/api/v0/context/resources/"+url.PathEscape(id))
}

func (a *agent) bytes(ctx context.Context, path string) ([]byte, error) {
	ans, err := a.do(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	return ans.body, nil
}

// maxQuestions is how many paths one request asks about. The agent takes 64,
// and 32 KiB of headers; a path has up to 12 KiB there.
const maxQuestions, maxQuestionBytes = 64, 16 << 10

func (a *agent) Why(ctx context.Context, paths ...string) ([]why.Answer, error) {
	answers := make([]why.Answer, 0, len(paths))
	for len(paths) > 0 {
		n, size := 0, 0
		for n < len(paths) && n < maxQuestions {
			size += len("path=&") + len(url.QueryEscape(paths[n]))
			if n > 0 && size > maxQuestionBytes {
				break
			}
			n++
		}
		some, err := fetch[[]why.Answer](ctx, a, call{
			method: http.MethodGet, path: "/api/v0/context/why", query: url.Values{"path": paths[:n]},
		})
		if err != nil {
			return nil, err
		}
		answers, paths = append(answers, *some...), paths[n:]
	}
	return answers, nil
}

func (a *agent) Sources(ctx context.Context) ([]sources.Source, error) {
	return list[sources.Source](ctx, a, pathSources)
}

func (a *agent) Source(ctx context.Context, path string) (sources.Source, error) {
	s, err := fetch[sources.Source](ctx, a, call{method: http.MethodGet, path: sourcePath(path)})
	if err != nil {
		return sources.Source{}, err
	}
	return *s, nil
}

func (a *agent) AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error) {
	s, err := fetch[api.AddedSource](ctx, a, call{
		method: http.MethodPost, path: pathSources, body: api.NewSource{Path: path, Persist: persist},
	})
	if err != nil {
		return sources.Source{}, false, err
	}
	return s.Source, s.Added, nil
}

func (a *agent) RemoveSource(ctx context.Context, path string) error {
	return a.order(ctx, call{method: http.MethodDelete, path: sourcePath(path)})
}

func sourcePath(path string) string { return pathSources + "/" + url.PathEscape(path) }

func (a *agent) SetRoot(ctx context.Context, path string) error {
	return a.order(ctx, call{method: http.MethodPut, path: "/api/v0/context/root", body: api.Root{Path: path}})
}

func (a *agent) Ready(ctx context.Context) error {
	return a.order(ctx, call{method: http.MethodPost, path: "/api/v0/context/ready"})
}

func (a *agent) Plugins(ctx context.Context) ([]snapshot.Plugin, error) {
	return list[snapshot.Plugin](ctx, a, "/api/v0/plugins")
}

func (a *agent) RetryPlugins(ctx context.Context) error {
	return a.order(ctx, call{method: http.MethodPost, path: "/api/v0/plugins/retry"})
}

func (a *agent) WaitingPlugins(ctx context.Context) ([]approvals.Pending, error) {
	return list[approvals.Pending](ctx, a, "/api/v0/plugins/waiting")
}

func (a *agent) ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	return fetch[approvals.Pending](ctx, a, call{
		method: http.MethodPost, path: "/api/v0/plugins/approve", body: api.Approval{Name: name, Digest: digest},
	})
}
