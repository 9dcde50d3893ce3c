package server

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"waymark/agentapi/status"
	"waymark/host/sources"
	"waymark/internal/httpapi"
)

const sourcesPath = "/api/v0/context/sources"

// listSources answers GET /api/v0/context/sources.
func (h *API) listSources(c *httpapi.Call) error {
	list := h.opts.Backend.Sources()
	if list == nil {
		list = []sources.Source{}
	}
	return c.JSON(http.StatusOK, list)
}

// addSource answers POST /api/v0/context/sources. It is 201 even if the source existed
// already, because the API only has 201 and 400; "added" tells the difference.
func (h *API) addSource(c *httpapi.Call) error {
	var body status.NewSource
	if err := c.Decode(&body); err != nil {
		return err
	}
	if body.Path == "" {
		return &Error{Code: http.StatusBadRequest, Message: "the source was not added", Detail: "path is missing"}
	}
	var result status.AddedSource
	var err error
	if result.Source, result.Added, err = h.opts.Backend.AddSource(c.Context(), body.Path, body.Persist); err != nil {
		return err
	}
	c.Writer().Header().Set("Location", sourcesPath+"/"+url.PathEscape(result.Path))
	return c.JSON(http.StatusCreated, result)
}

// getSource answers GET /api/v0/context/sources/{path}.
func (h *API) getSource(c *httpapi.Call) error {
	path := c.Arg("path")
	list := h.opts.Backend.Sources()
	find := func(path string) int {
		return slices.IndexFunc(list, func(s sources.Source) bool { return s.Path == path })
	}
	// Find it by its own path, or by a path that leads to it.
	i := find(filepath.Clean(path))
	if i < 0 {
		if canonical, err := sources.Canonical(path, ""); err == nil {
			i = find(canonical)
		}
	}
	if i < 0 {
		return &Error{Code: http.StatusNotFound, Message: "no such source", Detail: "the agent has no source of this path", See: "GET " + sourcesPath}
	}
	return c.JSON(http.StatusOK, list[i])
}

// removeSource answers DELETE /api/v0/context/sources/{path}.
func (h *API) removeSource(c *httpapi.Call) error {
	err := h.opts.Backend.RemoveSource(c.Context(), c.Arg("path"))
	if errors.Is(err, sources.ErrInvalid) || errors.Is(err, sources.ErrRelative) || errors.Is(err, sources.ErrNotFound) {
		// An invalid path can't be a source, so it isn't found.
		return &Error{Code: http.StatusNotFound, Message: "the source was not removed", Detail: err.Error()}
	}
	if err != nil {
		return err
	}
	return c.NoContent()
}
