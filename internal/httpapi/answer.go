package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// JSON answers with v. It encodes v first, so that an encoding error doesn't leave half an
// answer.
func (c *Call) JSON(code int, v any) error {
	body, err := Encode(v)
	if err != nil {
		return err
	}
	c.Send(code, c.router.opts.JSONType, body)
	return nil
}

// Encode returns v as one line of JSON. It doesn't escape for HTML, because answers are never
// shown as HTML; see Secure.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// SendEncoded answers with the result of Encode.
func (c *Call) SendEncoded(code int, body []byte) { c.Send(code, c.router.opts.JSONType, body) }

// Send answers with a body. It ignores a client that has gone.
func (c *Call) Send(code int, contentType string, body []byte) {
	header := c.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(code)
	_, _ = c.w.Write(body) // never HTML: see Secure
}

// SendPayload answers with a payload, as text or bytes and nothing else.
func (c *Call) SendPayload(body []byte) {
	contentType := "application/octet-stream"
	if IsText(body) {
		contentType = "text/plain; charset=utf-8"
	}
	c.Send(http.StatusOK, contentType, body)
}

// IsText reports whether a payload can be shown as text.
func IsText(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// NoContent answers success without a body.
func (c *Call) NoContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// Known sets the ETag, given without quotes. If the client already has that version, it
// answers so and returns true.
func (c *Call) Known(tag string) bool {
	tag = `"` + tag + `"`
	c.w.Header().Set("ETag", tag)
	for _, known := range c.Tags() {
		if known == tag || known == "*" {
			c.w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// Tags returns the ETags in If-None-Match, quotes included, as strong ones: this package
// makes no others, and proxies may weaken them. "*" stands for all.
func (c *Call) Tags() []string {
	var list []string
	for _, line := range c.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}

// Within gives do at most d, after which its context ends, and the client then
// Options.WriteTimeout to read the answer. net/http alone counts both together, from the
// arrival of the request.
func (c *Call) Within(d time.Duration, do func(context.Context) error) error {
	// An expired deadline can't be moved any more, so it is moved now and again when the
	// answer begins.
	c.w.timeout = c.router.opts.WriteTimeout
	c.w.setDeadline(time.Now().Add(d + c.w.timeout))
	ctx, cancel := context.WithTimeout(c.Context(), d)
	defer cancel()
	return do(ctx)
}

// Stream starts an answer of unlimited length. It lifts the server's deadline, which in
// HTTP/2 also ends an idle stream.
func (c *Call) Stream() {
	c.w.timeout = 0
	c.w.setDeadline(time.Time{})
}

// Flush sends a part of a streamed answer. The client has Options.WriteTimeout to read it.
func (c *Call) Flush(part []byte) error {
	c.w.setDeadline(time.Now().Add(c.router.opts.WriteTimeout))
	defer c.w.setDeadline(time.Time{})
	_, err := c.w.Write(part)
	if err == nil {
		err = http.NewResponseController(&c.w).Flush()
	}
	return err
}
