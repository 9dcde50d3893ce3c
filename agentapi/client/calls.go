package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin/approvals"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi/apiclient"
	"waymark/snapshot"
)

const (
	pathSnapshot = "/api/v0/context/snapshot"
	pathSources  = "/api/v0/context/sources"
)

func (a *agent) Status(ctx context.Context) (*status.Status, error) {
	return apiclient.Fetch[status.Status](ctx, a.api, apiclient.Get("/api/v0/status"))
}

func (a *agent) Health(ctx context.Context) error {
	return a.api.Send(ctx, apiclient.Get("/healthz"))
}

func (a *agent) Metrics(ctx context.Context) ([]byte, error) {
	return a.api.Bytes(ctx, apiclient.Get("/metrics"))
}

func (a *agent) Snapshot(ctx context.Context, opts SnapshotOptions) (*snapshot.Snapshot, error) {
	return apiclient.Fetch[snapshot.Snapshot](ctx, a.api, newest(opts))
}

// newest returns the request for a snapshot.
func newest(opts SnapshotOptions) apiclient.Request {
	c := apiclient.Get(pathSnapshot)
	if opts.Wait > 0 {
		c.Wait = opts.Wait
		c.Query = url.Values{"wait": {opts.Wait.String()}, "after": {strconv.FormatUint(opts.After, 10)}}
		if opts.Complete {
			c.Query.Set("discovery", "complete")
		}
	}
	return c
}

func (a *agent) Resync(ctx context.Context) (*snapshot.Snapshot, error) {
	timeout := a.opts.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		// Past the deadline the context ends the call in any case.
		timeout = max(time.Until(deadline), time.Millisecond)
	}
	return apiclient.Fetch[snapshot.Snapshot](ctx, a.api, apiclient.Request{
		Method: http.MethodPost, Path: "/api/v0/context/resync", Wait: timeout,
		Query: url.Values{"timeout": {timeout.String()}},
	})
}

func (a *agent) Resource(ctx context.Context, id string) ([]byte, error) {
	return a.api.Bytes(ctx, apiclient.Get("/api/v0/context/resources/"+url.PathEscape(id)))
}

// maxPathBytes limits the paths in the query of one request. The agent accepts 32 KiB of
// headers, and an encoded path takes up to 12 KiB.
const maxPathBytes = 16 << 10

func (a *agent) Why(ctx context.Context, paths ...string) ([]why.Answer, error) {
	return a.why(ctx, nil, paths)
}

func (a *agent) ClientWhy(ctx context.Context, client string, paths ...string) ([]why.Answer, error) {
	return a.why(ctx, []string{client}, paths)
}

// why asks for the paths in batches. client has one element or none.
func (a *agent) why(ctx context.Context, client, paths []string) ([]why.Answer, error) {
	answers := make([]why.Answer, 0, len(paths))
	for len(paths) > 0 {
		n, size := 0, 0
		for n < len(paths) && n < status.MaxWhyPaths {
			size += len("path=&") + len(url.QueryEscape(paths[n]))
			if n > 0 && size > maxPathBytes {
				break
			}
			n++
		}
		query := url.Values{"path": paths[:n]}
		if len(client) > 0 {
			query["client"] = client
		}
		some, err := apiclient.Fetch[[]why.Answer](ctx, a.api, apiclient.Request{
			Method: http.MethodGet, Path: "/api/v0/context/why", Query: query,
		})
		if err != nil {
			return nil, err
		}
		answers, paths = append(answers, *some...), paths[n:]
	}
	return answers, nil
}

func (a *agent) Applies(ctx context.Context, path string) (*applicability.Answer, error) {
	return apiclient.Fetch[applicability.Answer](ctx, a.api, apiclient.Request{
		Method: http.MethodGet, Path: "/api/v0/context/for", Query: url.Values{"path": {path}},
	})
}

func (a *agent) ClientApplies(ctx context.Context, client, path string) (*applicability.Answer, error) {
	return apiclient.Fetch[applicability.Answer](ctx, a.api, apiclient.Request{
		Method: http.MethodGet, Path: "/api/v0/context/for", Query: url.Values{"path": {path}, "client": {client}},
	})
}

func (a *agent) ClientContext(ctx context.Context, client, dir string) (*codingagents.View, error) {
	query := url.Values{"client": {client}}
	if dir != "" {
		query.Set("dir", dir)
	}
	return apiclient.Fetch[codingagents.View](ctx, a.api, apiclient.Request{Method: http.MethodGet, Path: "/api/v0/context/client", Query: query})
}

func (a *agent) SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error) {
	return apiclient.Fetch[status.SkillFiles](ctx, a.api, apiclient.Request{
		Method: http.MethodGet, Path: "/api/v0/context/skill-files", Query: url.Values{"id": {id}},
	})
}

func (a *agent) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	return a.api.Bytes(ctx, apiclient.Request{
		Method: http.MethodGet, Path: "/api/v0/context/skill-file", Query: url.Values{"id": {id}, "path": {file}},
	})
}

func (a *agent) Coverage(ctx context.Context) (*why.Coverage, error) {
	return apiclient.Fetch[why.Coverage](ctx, a.api, apiclient.Get("/api/v0/context/coverage"))
}

func (a *agent) Sources(ctx context.Context) ([]sources.Source, error) {
	return apiclient.List[sources.Source](ctx, a.api, apiclient.Get(pathSources))
}

func (a *agent) Source(ctx context.Context, path string) (sources.Source, error) {
	s, err := apiclient.Fetch[sources.Source](ctx, a.api, apiclient.Get(sourcePath(path)))
	if err != nil {
		return sources.Source{}, err
	}
	return *s, nil
}

func (a *agent) AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error) {
	s, err := apiclient.Fetch[status.AddedSource](ctx, a.api, apiclient.Request{
		Method: http.MethodPost, Path: pathSources, Body: status.NewSource{Path: path, Persist: persist},
	})
	if err != nil {
		return sources.Source{}, false, err
	}
	return s.Source, s.Added, nil
}

func (a *agent) RemoveSource(ctx context.Context, path string) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodDelete, Path: sourcePath(path)})
}

func sourcePath(path string) string { return pathSources + "/" + url.PathEscape(path) }

func (a *agent) SetRoot(ctx context.Context, path string) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodPut, Path: "/api/v0/context/root", Body: status.Root{Path: path}})
}

func (a *agent) Ready(ctx context.Context) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodPost, Path: "/api/v0/context/ready"})
}

func (a *agent) Plugins(ctx context.Context) ([]snapshot.Plugin, error) {
	return apiclient.List[snapshot.Plugin](ctx, a.api, apiclient.Get("/api/v0/plugins"))
}

func (a *agent) RetryPlugins(ctx context.Context) error {
	return a.api.Send(ctx, apiclient.Request{Method: http.MethodPost, Path: "/api/v0/plugins/retry"})
}

func (a *agent) WaitingPlugins(ctx context.Context) ([]approvals.Pending, error) {
	return apiclient.List[approvals.Pending](ctx, a.api, apiclient.Get("/api/v0/plugins/waiting"))
}

func (a *agent) ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	return apiclient.Fetch[approvals.Pending](ctx, a.api, apiclient.Request{
		Method: http.MethodPost, Path: "/api/v0/plugins/approve", Body: status.Approval{Name: name, Digest: digest},
	})
}
