package api

import (
	"bytes"
	"net/http"
	"unicode/utf8"

	"waymark/snapshot"
)

// resource answers GET /api/v0/context/resources/{id}.
func (h *handler) resource(w http.ResponseWriter, r *http.Request, id string) error {
	res := h.opts.Backend.Current().Find(id)
	if res == nil {
		return &Error{Code: http.StatusNotFound, Message: "no such resource", Detail: "see GET /api/v0/context/snapshot for the ids"}
	}
	if res.Payload == nil {
		return &Error{Code: http.StatusNotFound, Message: "the resource has no payload", Detail: noPayload(res)}
	}
	if len(res.ContentHash) > 0 && isKnown(w, r, `"`+res.ContentHash.String()+`"`) {
		return nil
	}
	// Whatever it is, nobody may take it for anything but text or bytes.
	contentType := "application/octet-stream"
	if utf8.Valid(res.Payload) && !bytes.ContainsRune(res.Payload, 0) {
		contentType = "text/plain; charset=utf-8"
	}
	send(w, http.StatusOK, contentType, res.Payload)
	return nil
}

// noPayload says why.
func noPayload(r *snapshot.Resource) string {
	switch {
	case r.Status != snapshot.StatusOK && r.Error != "":
		return string(r.Status) + ": " + r.Error
	case r.Status != snapshot.StatusOK:
		return "its status is " + string(r.Status)
	}
	return "a resource of kind " + string(r.Kind) + " need not have one, and an mcp_config never has, since such files hold tokens"
}
