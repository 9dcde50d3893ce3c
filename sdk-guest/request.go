package guest

import (
	"errors"
	"strconv"

	"waymark/abi"
	"waymark/sdk-guest/jsonlite"
)

// ErrRequest says that the input of resolve isn't a Request that this SDK understands. The
// host is at fault, or has another ABI version.
var ErrRequest = errors.New("bad request")

type requestError struct{ detail string }

func (e *requestError) Error() string { return "bad request: " + e.detail }
func (e *requestError) Unwrap() error { return ErrRequest }

// decodeRequest reads a Request. Unknown fields are ignored; missing ones have their zero
// value, except the version.
func decodeRequest(input []byte) (*Request, error) {
	doc, err := jsonlite.Parse(input, jsonlite.Options{})
	if err != nil {
		return nil, &requestError{err.Error()}
	}
	if doc.Kind() != jsonlite.Object {
		return nil, &requestError{"not an object"}
	}
	var (
		d       decoder
		req     Request
		version int64
	)
	for key, v := range doc.Members() {
		switch key {
		case "abi":
			version = d.integer(key, v)
		case "resolver":
			req.Resolver = d.text(key, v)
		case "root":
			req.Root = d.root(key, v)
		case "config":
			req.Config = Config{d.object(key, v)}
		case "limits":
			req.Limits = d.limits(key, v)
		}
	}
	if d.err == nil && version != abi.Version {
		d.err = &requestError{"it is of ABI version " + strconv.FormatInt(version, 10) +
			", this module speaks version " + strconv.Itoa(abi.Version)}
	}
	if d.err != nil {
		return nil, d.err
	}
	return &req, nil
}

// decoder keeps the first error, so that fields can be read one after the other.
type decoder struct{ err error }

func (d *decoder) fail(key, want string, v jsonlite.Value) {
	if d.err == nil {
		d.err = &requestError{key + " is " + string(v.Kind()) + ", not " + want}
	}
}

func (d *decoder) text(key string, v jsonlite.Value) string {
	s, ok := v.Text()
	if !ok {
		d.fail(key, string(jsonlite.String), v)
	}
	return s
}

func (d *decoder) integer(key string, v jsonlite.Value) int64 {
	n, err := v.Int()
	if err != nil {
		d.fail(key, "an integer", v)
	}
	return n
}

func (d *decoder) object(key string, v jsonlite.Value) jsonlite.Value {
	if v.Kind() != jsonlite.Object {
		d.fail(key, string(jsonlite.Object), v)
	}
	return v
}

func (d *decoder) root(key string, v jsonlite.Value) (root Root) {
	for k, f := range d.object(key, v).Members() {
		switch k {
		case "name":
			root.Name = d.text("root.name", f)
		case "file":
			root.File = d.text("root.file", f)
		case "role":
			root.Role = abi.Role(d.text("root.role", f))
		}
	}
	return root
}

func (d *decoder) limits(key string, v jsonlite.Value) (limits Limits) {
	for k, f := range d.object(key, v).Members() {
		switch k {
		case "max_resource_bytes":
			limits.MaxResourceBytes = d.integer("limits.max_resource_bytes", f)
		case "max_resources":
			limits.MaxResources = int(d.integer("limits.max_resources", f))
		}
	}
	return limits
}
