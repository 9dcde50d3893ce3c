package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"waymark/host/sources"
)

const sourcesPath = "/api/v0/context/sources"

// listSources answers GET /api/v0/context/sources.
func (h *handler) listSources(w http.ResponseWriter, _ *http.Request, _ string) error {
	list := h.opts.Backend.Sources()
	if list == nil {
		list = []sources.Source{}
	}
	return answer(w, http.StatusOK, list)
}

// addSource answers POST /api/v0/context/sources: 201 also when the source was
// there already, as the design knows 201 and 400; "added" tells.
func (h *handler) addSource(w http.ResponseWriter, r *http.Request, _ string) error {
	var body NewSource
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Path == "" {
		return &Error{Code: http.StatusBadRequest, Message: "the source was not added", Detail: "path is missing"}
	}
	var result AddedSource
	err := h.within(w, r, h.opts.Timeout, func(ctx context.Context) (err error) {
		result.Source, result.Added, err = h.opts.Backend.AddSource(ctx, body.Path, body.Persist)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", sourcesPath+"/"+url.PathEscape(result.Path))
	return answer(w, http.StatusCreated, result)
}

// showSource answers GET /api/v0/context/sources/{path}.
func (h *handler) showSource(w http.ResponseWriter, _ *http.Request, path string) error {
	list := h.opts.Backend.Sources()
	find := func(path string) int {
		return slices.IndexFunc(list, func(s sources.Source) bool { return s.Path == path })
	}
	// By the path it is known by, or by one that leads there.
	i := find(filepath.Clean(path))
	if i < 0 {
		if canonical, err := sources.Canonical(path, ""); err == nil {
			i = find(canonical)
		}
	}
	if i < 0 {
		return &Error{Code: http.StatusNotFound, Message: "no such source", Detail: "see GET " + sourcesPath}
	}
	return answer(w, http.StatusOK, list[i])
}

// removeSource answers DELETE /api/v0/context/sources/{path}.
func (h *handler) removeSource(w http.ResponseWriter, r *http.Request, path string) error {
	err := h.within(w, r, h.opts.Timeout, func(ctx context.Context) error {
		return h.opts.Backend.RemoveSource(ctx, path)
	})
	if errors.Is(err, sources.ErrInvalid) || errors.Is(err, sources.ErrRelative) || errors.Is(err, sources.ErrNotFound) {
		// What can't be a source isn't one.
		return &Error{Code: http.StatusNotFound, Message: "the source was not removed", Detail: err.Error()}
	}
	if err != nil {
		return err
	}
	return nothing(w)
}
