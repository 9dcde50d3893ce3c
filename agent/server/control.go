package server

import (
	"net/http"
	"path/filepath"

	"waymark/agentapi/status"
	"waymark/host/plugin/approvals"
	"waymark/host/push"
	"waymark/internal/httpapi"
	"waymark/snapshot"
)

// getHealth answers GET /healthz.
func (h *API) getHealth(c *httpapi.Call) error {
	return c.JSON(http.StatusOK, health{"ok"})
}

// getMetrics answers GET /metrics.
func (h *API) getMetrics(c *httpapi.Call) error {
	if h.opts.Metrics == nil {
		return &Error{Code: http.StatusNotFound, Message: "there are no metrics"}
	}
	h.opts.Metrics.ServeHTTP(c.Writer(), c.Request)
	return nil
}

// getStatus answers GET /api/v0/status, with [] and {} instead of null.
func (h *API) getStatus(c *httpapi.Call) error {
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
	return c.JSON(http.StatusOK, s)
}

// getPlugins answers GET /api/v0/plugins.
func (h *API) getPlugins(c *httpapi.Call) error {
	return c.JSON(http.StatusOK, pluginList(h.opts.Backend.Status().Plugins))
}

func pluginList(list []snapshot.Plugin) []snapshot.Plugin {
	if list == nil {
		return []snapshot.Plugin{}
	}
	return list
}

// getWaitingPlugins answers GET /api/v0/plugins/waiting.
func (h *API) getWaitingPlugins(c *httpapi.Call) error {
	return c.JSON(http.StatusOK, append([]approvals.Pending{}, h.opts.Backend.WaitingPlugins()...))
}

// approvePlugin answers POST /api/v0/plugins/approve.
func (h *API) approvePlugin(c *httpapi.Call) error {
	var body status.Approval
	if err := c.Decode(&body); err != nil {
		return err
	}
	if body.Name == "" || body.Digest == "" {
		return &Error{Code: http.StatusBadRequest, Message: "the plugin was not approved", Detail: "name and digest must be there", See: "GET /api/v0/plugins/waiting"}
	}
	approved, err := h.opts.Backend.ApprovePlugin(c.Context(), body.Name, body.Digest)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, approved)
}

// putRoot answers PUT /api/v0/context/root.
func (h *API) putRoot(c *httpapi.Call) error {
	var body status.Root
	if err := c.Decode(&body); err != nil {
		return err
	}
	if !filepath.IsAbs(body.Path) {
		return &Error{Code: http.StatusBadRequest, Message: "the root was not set", Detail: "path must be absolute"}
	}
	if err := h.opts.Backend.SetRoot(c.Context(), filepath.Clean(body.Path)); err != nil {
		return err
	}
	return c.NoContent()
}
