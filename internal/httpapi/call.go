package httpapi

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
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

// Writer returns the writer of the answer. Header is that of the request.
func (c *Call) Writer() http.ResponseWriter { return &c.w }

// Done registers a function to be called at the end of the call, even after a panic of the
// handler, with the status that was answered, 0 for none.
func (c *Call) Done(f func(status int)) { c.done = append(c.done, f) }

// Failed says for a person what the call failed to do; see Route.
func (c *Call) Failed() string {
	if c.route == nil {
		return ""
	}
	return c.route.Failed
}

// Arg returns the parameter of the path with that name.
func (c *Call) Arg(name string) string { return c.PathValue(name) }

// BadQuery returns the error for an invalid query.
func BadQuery(detail string) error {
	return &problem.Error{Code: http.StatusBadRequest, Message: "the query is not what it should be", Detail: detail}
}

// Query returns the parameters of the query. It refuses what url.Values drops silently.
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

// Text returns a parameter of the query that may be given once; "" if it is absent.
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

// Number returns a parameter that is an unsigned integer of at most the given bits; given is
// false if it is absent.
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

// Duration returns a parameter that is a time to wait, at most limit; given is false if it is
// absent.
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

// Word returns a parameter of the query that is one of some words; empty if it is absent.
func (c *Call) Word(name string, words ...string) (string, error) {
	text, err := c.Text(name)
	if err != nil || text == "" || slices.Contains(words, text) {
		return text, err
	}
	return "", BadQuery(name + " is not one of " + strings.Join(words, ", "))
}

// Decode reads the JSON body into v. It is strict: an unknown key is nearly always a
// misspelled known one. encoding/json would also accept repeated keys, keys in the wrong
// case, and invalid UTF-8, which it changes.
func (c *Call) Decode(v any) error {
	kind := c.Header.Get("Content-Type")
	untyped := kind == "" && c.route != nil && c.route.Untyped
	if media, _, err := mime.ParseMediaType(kind); !untyped && (err != nil || media != "application/json") {
		return &problem.Error{Code: http.StatusUnsupportedMediaType, Message: "a JSON body is needed",
			Detail: "send it with Content-Type: application/json"}
	}
	err := json.UnmarshalRead(c.Body, v, json.RejectUnknownMembers(true))
	var large *http.MaxBytesError
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.As(err, &syntax), errors.As(err, &meaning):
		return &problem.Error{Code: http.StatusBadRequest, Message: "the body is not what it should be", Detail: errtext.Of(err)}
	}
	// It didn't arrive, or not in time.
	return &problem.Error{Code: http.StatusBadRequest, Message: "the body can't be read", Detail: errtext.Of(err)}
}

// DecodeNothing reads the body of a call that needs none: it must be absent or an empty
// object.
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
