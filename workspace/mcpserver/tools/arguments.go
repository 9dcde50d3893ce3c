package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/internal/text"
)

// decode parses the arguments of a call. It refuses unknown parameters, because a
// misspelled one would look like an omitted one.
func decode[T any](c *call) (T, error) {
	var in T
	dec := json.NewDecoder(bytes.NewReader(c.arguments))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			return in, wrong("the arguments of %s are more than one JSON object", c.tool.Name)
		}
		return in, nil
	}
	var bad misuse
	var mismatch *json.UnmarshalTypeError
	known := c.tool.parameters()
	switch name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case errors.As(err, &bad):
		return in, bad
	case unknown:
		name, _ = strconv.Unquote(name)
		hint := ""
		if near := text.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return in, wrong("%s has no parameter %.100q, only %s%s", c.tool.Name, name, strings.Join(known, ", "), hint)
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return in, wrong("%s can't be a %s", mismatch.Field, mismatch.Value)
	case errors.As(err, &mismatch):
		return in, wrong("the arguments of %s are a JSON object, and not a %s", c.tool.Name, mismatch.Value)
	}
	return in, wrong("the arguments of %s are no JSON", c.tool.Name)
}

// parameters returns the names of a tool's parameters, in order.
func (t *Tool) parameters() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // it is a constant of this package
	return slices.Sorted(maps.Keys(schema.Properties))
}

// duration is a duration from a model: "30s", "5m", or a number of seconds.
type duration struct {
	given bool
	time.Duration
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(data []byte) error {
	var seconds float64
	var s string
	switch {
	case bytes.Equal(data, []byte("null")):
		return nil
	case json.Unmarshal(data, &seconds) == nil:
	case json.Unmarshal(data, &s) == nil:
		parsed, err := time.ParseDuration(strings.TrimSpace(s))
		if err == nil {
			d.given, d.Duration = true, parsed
			return nil
		}
		if seconds, err = strconv.ParseFloat(strings.TrimSpace(s), 64); err != nil {
			return wrong("%.40q is no time: write 30s, 5m or 1h30m", s)
		}
	default:
		return wrong("a time is a text such as 30s, 5m or 1h30m")
	}
	const most = 1e6 // seconds; above every limit, and far below the maximum of a Duration
	d.given, d.Duration = true, time.Duration(max(min(seconds, most), -most)*float64(time.Second))
	return nil
}

// or returns the duration, or a default if none was given. A value out of bounds is a
// misuse.
func (d duration) or(otherwise, least, most time.Duration, name string) (time.Duration, error) {
	switch {
	case !d.given:
		return otherwise, nil
	case d.Duration < least || d.Duration > most:
		return 0, wrong("%s is from %s to %s", name, short(least), short(most))
	}
	return d.Duration, nil
}

// short formats a duration without zero units: 4h instead of 4h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// absolute makes a model's path absolute, relative to the workspace's directory.
func (c *call) absolute(p, name string) (string, error) {
	switch {
	case p == "":
		return "", wrong("%s needs %s", c.tool.Name, name)
	case strings.ContainsRune(p, 0):
		return "", wrong("%s has a NUL character", name)
	case path.IsAbs(p):
		return p, nil
	}
	root, err := c.root()
	if err != nil {
		return "", err
	}
	joined := path.Join(root, p)
	if strings.HasSuffix(p, "/") { // it means a directory
		joined += "/"
	}
	return joined, nil
}

// root returns the workspace's directory: the last of the agent's roots.
func (c *call) root() (string, error) {
	s, err := c.client.Status(c)
	switch {
	case err != nil:
		return "", err
	case len(s.Roots) == 0:
		return "", wrong("the agent has no directory yet: write absolute paths")
	}
	return s.Roots[len(s.Roots)-1], nil
}
