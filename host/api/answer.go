package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// answer sends v as JSON. It is encoded first, so that what can't be encoded
// becomes an error and not half an answer.
func answer(w http.ResponseWriter, code int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	send(w, code, "application/json", body)
	return nil
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // nobody shows it as HTML: see secure
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// fail sends an error.
func fail(w http.ResponseWriter, e *Error) {
	if e.Code == http.StatusServiceUnavailable {
		w.Header().Set("Connection", "close")
	}
	body, err := json.Marshal(e)
	if err != nil { // two strings can always be encoded
		body = []byte(`{"message":"internal error","detail":""}`)
	}
	send(w, e.Code, "application/json", append(body, '\n'))
}

// send sends a body. That the client has gone is its own business.
func send(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) //nolint:gosec // never HTML: see secure
}

// nothing sends that all is done, and no more.
func nothing(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// isKnown sets the ETag and reports whether the client has that already; then
// it has been told so.
func isKnown(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	if !hasTag(r, etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}
