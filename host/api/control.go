package api

import (
	"context"
	_ "embed" // the document
	"net/http"
	"path/filepath"

	"waymark/host/plugin/approvals"
	"waymark/host/push"
	"waymark/snapshot"
)

//go:embed openapi.json
var document []byte

// Document returns the description of the API, in OpenAPI 3.1.
func Document() []byte { return append([]byte(nil), document...) }

// document answers GET /api/v0/openapi.json.
func (h *handler) document(w http.ResponseWriter, _ *http.Request, _ string) error {
	send(w, http.StatusOK, "application/json", document)
	return nil
}

// health answers GET /healthz.
func (h *handler) health(w http.ResponseWriter, _ *http.Request, _ string) error {
	return answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// metrics answers GET /metrics.
func (h *handler) metrics(w http.ResponseWriter, r *http.Request, _ string) error {
	if h.opts.Metrics == nil {
		return &Error{Code: http.StatusNotFound, Message: "there are no metrics"}
	}
	h.opts.Metrics.ServeHTTP(w, r)
	return nil
}

// status answers GET /api/v0/status, with [] and {} where there is nothing.
func (h *handler) status(w http.ResponseWriter, _ *http.Request, _ string) error {
	s := h.opts.Backend.Status()
	if s.Roots == nil {
		s.Roots = []string{}
	}
	s.Plugins = pluginList(s.Plugins)
	if s.Push != nil && s.Push.HeldBack.Reasons == nil {
		p := *s.Push
		p.HeldBack.Reasons = map[push.Reason]int{}
		s.Push = &p
	}
	return answer(w, http.StatusOK, s)
}

// plugins answers GET /api/v0/plugins.
func (h *handler) plugins(w http.ResponseWriter, _ *http.Request, _ string) error {
	return answer(w, http.StatusOK, pluginList(h.opts.Backend.Status().Plugins))
}

func pluginList(list []snapshot.Plugin) []snapshot.Plugin {
	if list == nil {
		return []snapshot.Plugin{}
	}
	return list
}

// retryPlugins answers POST /api/v0/plugins/retry.
func (h *handler) retryPlugins(w http.ResponseWriter, r *http.Request, _ string) error {
	return h.order(w, r, h.opts.Backend.RetryPlugins)
}

// waitingPlugins answers GET /api/v0/plugins/waiting.
func (h *handler) waitingPlugins(w http.ResponseWriter, _ *http.Request, _ string) error {
	return answer(w, http.StatusOK, append([]approvals.Pending{}, h.opts.Backend.WaitingPlugins()...))
}

// approvePlugin answers POST /api/v0/plugins/approve.
func (h *handler) approvePlugin(w http.ResponseWriter, r *http.Request, _ string) error {
	var body Approval
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Name == "" || body.Digest == "" {
		return &Error{Code: http.StatusBadRequest, Message: "the plugin was not approved", Detail: "name and digest must be there: see GET /api/v0/plugins/waiting"}
	}
	var approved *approvals.Pending
	err := h.within(w, r, h.opts.Timeout, func(ctx context.Context) (err error) {
		approved, err = h.opts.Backend.ApprovePlugin(ctx, body.Name, body.Digest)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, approved)
}

// ready answers POST /api/v0/context/ready.
func (h *handler) ready(w http.ResponseWriter, r *http.Request, _ string) error {
	return h.order(w, r, h.opts.Backend.Ready)
}

// order does something that takes and gives nothing.
func (h *handler) order(w http.ResponseWriter, r *http.Request, do func(context.Context) error) error {
	if err := decodeNothing(w, r); err != nil {
		return err
	}
	if err := h.within(w, r, h.opts.Timeout, do); err != nil {
		return err
	}
	return nothing(w)
}

// putRoot answers PUT /api/v0/context/root.
func (h *handler) putRoot(w http.ResponseWriter, r *http.Request, _ string) error {
	var body Root
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if !filepath.IsAbs(body.Path) {
		return &Error{Code: http.StatusBadRequest, Message: "the root was not set", Detail: "path must be absolute"}
	}
	err := h.within(w, r, h.opts.Timeout, func(ctx context.Context) error {
		return h.opts.Backend.SetRoot(ctx, filepath.Clean(body.Path))
	})
	if err != nil {
		return err
	}
	return nothing(w)
}
