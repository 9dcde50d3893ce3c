package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/errtext"
	"waymark/internal/httpapi/problem"
)

// Call is one request and its answer.
type Call struct {
	*http.Request
	router *Router
	route  *Route // nil until one is found
	w      answerWriter
	limit  int64 // of the body, in bytes
	query  url.Values
	socket *websocket.Conn
	done   []func(status int)
}

// Writer is where the answer goes. Header is that of the request.
func (c *Call) Writer() http.ResponseWriter { return &c.w }

// Done has a function called when the call is over, with the status that was
// answered, 0 for none: also when the handler has panicked.
func (c *Call) Done(f func(status int)) { c.done = append(c.done, f) }

// Failed says for a person what the call doesn't do when it fails; see Route.
func (c *Call) Failed() string {
	if c.route == nil {
		return ""
	}
	return c.route.Failed
}

// Arg returns the parameter of the path with that name.
func (c *Call) Arg(name string) string { return c.PathValue(name) }

// BadQuery is the error of a query that can't be right.
func BadQuery(detail string) error {
	return &problem.Error{Code: http.StatusBadRequest, Message: "the query is not what it should be", Detail: detail}
}

// Query returns the parameters of the query. It refuses what url.Values drops
// silently.
func (c *Call) Query() (url.Values, error) {
	if c.query == nil {
		var err error
		if c.query, err = url.ParseQuery(c.URL.RawQuery); err != nil {
			c.query = nil
			return nil, BadQuery(errtext.Of(err))
		}
	}
	return c.query, nil
}

// Text returns a parameter of the query that may be given once; "" when it
// isn't.
func (c *Call) Text(name string) (string, error) {
	query, err := c.Query()
	if err != nil {
		return "", err
	}
	switch list := query[name]; len(list) {
	case 0:
		return "", nil
	case 1:
		return list[0], nil
	}
	return "", BadQuery(name + " is given more than once")
}

// Number returns a parameter that is a whole number from 0, of at most so many
// bits; given is false when it isn't there.
func (c *Call) Number(name string, bits int) (n uint64, given bool, err error) {
	text, err := c.Text(name)
	if err != nil || text == "" {
		return 0, false, err
	}
	if n, err = strconv.ParseUint(text, 10, bits); err != nil {
		return 0, false, BadQuery(name + " is not a whole number from 0, such as 3")
	}
	return n, true, nil
}

// Duration returns a parameter that is a time to wait, at most limit; given is
// false when it isn't there.
func (c *Call) Duration(name string, limit time.Duration) (d time.Duration, given bool, err error) {
	text, err := c.Text(name)
	if err != nil || text == "" {
		return 0, false, err
	}
	if d, err = time.ParseDuration(text); err != nil || d < 0 {
		return 0, false, BadQuery(name + " is not a time to wait: write one like 30s or 1m30s")
	}
	return min(d, limit), true, nil
}

// Word returns a parameter of the query that is one of some words; empty when it
// isn't there.
func (c *Call) Word(name string, words ...string) (string, error) {
	text, err := c.Text(name)
	if err != nil || text == "" || slices.Contains(words, text) {
		return text, err
	}
	return "", BadQuery(name + " is not one of " + strings.Join(words, ", "))
}

// Decode reads the JSON body into v. It is strict: an unknown key, here as
// nearly always, is a known one that somebody misspelled. encoding/json would
// also take repeated keys, keys in the wrong case, and bytes that aren't UTF-8,
// which it changes.
func (c *Call) Decode(v any) error {
	kind := c.Header.Get("Content-Type")
	untyped := kind == "" && c.route != nil && c.route.Untyped
	if media, _, err := mime.ParseMediaType(kind); !untyped && (err != nil || media != "application/json") {
		return &problem.Error{Code: http.StatusUnsupportedMediaType, Message: "a JSON body is needed",
			Detail: "send it with Content-Type: application/json"}
	}
	err := jsonv2.UnmarshalRead(c.Body, v, jsonv2.RejectUnknownMembers(true))
	var large *http.MaxBytesError
	var syntax *jsontext.SyntacticError
	var meaning *jsonv2.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.As(err, &syntax), errors.As(err, &meaning):
		return &problem.Error{Code: http.StatusBadRequest, Message: "the body is not what it should be", Detail: errtext.Of(err)}
	}
	// It didn't come, or not in time.
	return &problem.Error{Code: http.StatusBadRequest, Message: "the body can't be read", Detail: errtext.Of(err)}
}

// DecodeNothing reads the body of a call that needs none: there is none, or an
// empty object.
func (c *Call) DecodeNothing() error {
	if c.ContentLength == 0 {
		return nil
	}
	return c.Decode(&struct{}{})
}

func tooLarge(limit int64) *problem.Error {
	size := fmt.Sprintf("%d bytes", limit)
	if limit%1024 == 0 {
		size = fmt.Sprintf("%d KiB", limit/1024)
	}
	return &problem.Error{Code: http.StatusRequestEntityTooLarge, Message: "the body is too large", Detail: "at most " + size + " are read"}
}

// JSON answers with v. It is encoded first, so that what can't be encoded
// becomes an error and not half an answer.
func (c *Call) JSON(code int, v any) error {
	body, err := Encode(v)
	if err != nil {
		return err
	}
	c.Send(code, c.router.opts.JSONType, body)
	return nil
}

// Encode returns v as one line of JSON. Nobody shows it as HTML, see Secure, so
// nothing of it is escaped for that.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// SendEncoded answers with what Encode has returned.
func (c *Call) SendEncoded(code int, body []byte) { c.Send(code, c.router.opts.JSONType, body) }

// Send answers with a body. That the client has gone is its own business.
func (c *Call) Send(code int, contentType string, body []byte) {
	header := c.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(code)
	_, _ = c.w.Write(body) // never HTML: see Secure
}

// SendPayload answers with a payload: whatever it is, nobody may take it for
// anything but text or bytes.
func (c *Call) SendPayload(body []byte) {
	contentType := "application/octet-stream"
	if IsText(body) {
		contentType = "text/plain; charset=utf-8"
	}
	c.Send(http.StatusOK, contentType, body)
}

// IsText reports whether a payload can be shown as text.
func IsText(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// NoContent answers that all is done, and no more.
func (c *Call) NoContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// Known sets the ETag, which is given without quotes, and reports whether the
// client has what it names already; then the client has been told so.
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

// Tags returns the ETags in If-None-Match, quotes included, as strong ones: this
// package makes no others, and proxies may weaken them. "*" stands for all.
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

// Within lets do work for as long as d, after which its context ends, and gives
// the client Options.WriteTimeout to read the answer after that: by itself
// net/http counts both together, from the arrival of the request.
func (c *Call) Within(d time.Duration, do func(context.Context) error) error {
	// A deadline that has passed may not be moved any more, so it is moved now,
	// and when the answer begins.
	c.w.timeout = c.router.opts.WriteTimeout
	c.w.setDeadline(time.Now().Add(d + c.w.timeout))
	ctx, cancel := context.WithTimeout(c.Context(), d)
	defer cancel()
	return do(ctx)
}

// Stream is for an answer that goes on. It lifts the server's deadline: in
// HTTP/2 that ends also a stream on which nothing is being written.
func (c *Call) Stream() {
	c.w.timeout = 0
	c.w.setDeadline(time.Time{})
}

// Flush sends a part of a streamed answer, which the client has
// Options.WriteTimeout to take.
func (c *Call) Flush(part []byte) error {
	c.w.setDeadline(time.Now().Add(c.router.opts.WriteTimeout))
	defer c.w.setDeadline(time.Time{})
	_, err := c.w.Write(part)
	if err == nil {
		err = http.NewResponseController(&c.w).Flush()
	}
	return err
}
