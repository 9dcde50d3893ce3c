package consumer

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// seal sets what every answer has. Nothing here is meant to be shown as
// anything but data: payloads are text that a workspace chose.
func seal(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
}

// answer sends v as JSON. It is encoded first, so that what can't be encoded
// becomes an error and not half an answer.
func answer(w http.ResponseWriter, code int, v any) error {
	var buf bytes.Buffer
	if err := encode(&buf, v); err != nil {
		return err
	}
	send(w, code, "application/json; charset=utf-8", buf.Bytes())
	return nil
}

// encode writes v as one line of JSON.
func encode(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // nobody shows it as HTML: see seal
	return enc.Encode(v)
}

// send sends a body. That the client has gone is its own business.
func send(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // never HTML: see seal
}

// sendBody sends a payload: text where it is that, bytes otherwise.
func sendBody(w http.ResponseWriter, body []byte) {
	contentType := "application/octet-stream"
	if isPlain(body) {
		contentType = "text/plain; charset=utf-8"
	}
	send(w, http.StatusOK, contentType, body)
}

// isPlain reports whether bytes can be shown as text.
func isPlain(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// isKnown sets the ETag and reports whether the client has that already; then
// it has been told so.
func isKnown(w http.ResponseWriter, r *http.Request, tag string) bool {
	tag = `"` + tag + `"`
	w.Header().Set("ETag", tag)
	for _, line := range r.Header.Values("If-None-Match") {
		for known := range strings.SplitSeq(line, ",") {
			if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}
