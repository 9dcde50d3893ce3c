package openapitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Checker compares answers with a document.
type Checker struct {
	doc *openapi3.T

	mu   sync.Mutex
	seen map[string]bool // "METHOD path code"
}

// texts makes known to the library that these are texts.
var texts = sync.OnceFunc(func() {
	for _, media := range []string{"text/markdown", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.RegisteredBodyDecoder("text/plain"))
	}
})

// Load reads a document.
func Load(t testing.TB, document []byte) *Checker {
	t.Helper()
	texts()
	var raw any
	if err := json.Unmarshal(document, &raw); err != nil {
		t.Fatal(err)
	}
	tighten(raw)
	data, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	return &Checker{doc: doc, seen: map[string]bool{}}
}

func tighten(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, isSchema := v["properties"].(map[string]any)
		if _, ok := v["additionalProperties"]; isSchema && v["type"] == "object" && !ok {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			tighten(member)
		}
	case []any:
		for _, member := range v {
			tighten(member)
		}
	}
}

// Valid fails the test when the document itself, its examples included, isn't
// as it should be.
func (c *Checker) Valid(t testing.TB) {
	t.Helper()
	if err := c.doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	ids := map[string]bool{}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if ids[op.OperationID] || op.Summary == "" || len(op.Tags) == 0 {
				t.Errorf("%s %s: operationId %q must be its own, and summary and tags be there", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}

// Routes lists the documented paths with their methods, sorted.
func (c *Checker) Routes() map[string][]string {
	routes := map[string][]string{}
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			routes[path] = append(routes[path], method)
		}
		slices.Sort(routes[path])
	}
	return routes
}

// Schema fails the test when JSON isn't what the schema of that name says.
func (c *Checker) Schema(t testing.TB, name string, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v: %s", name, err, data)
		return
	}
	if err := c.doc.Components.Schemas[name].Value.VisitJSON(v); err != nil {
		t.Errorf("not a %s: %v\n%s", name, err, data)
	}
}

// Check fails the test when an answer isn't what the document says. path is
// the documented one. It gives the body back to be read again.
func (c *Checker) Check(t testing.TB, r *http.Request, path string, resp *http.Response) {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	c.mu.Lock()
	c.seen[r.Method+" "+path+" "+strconv.Itoa(resp.StatusCode)] = true
	c.mu.Unlock()

	item := c.doc.Paths.Value(path)
	if item == nil {
		t.Errorf("%s is not documented", path)
		return
	}
	op := operation(item, r.Method)
	if op == nil { // 405, the same for all
		op = item.Operations()[slices.Sorted(keysOf(item.Operations()))[0]]
	}
	if resp.StatusCode >= 400 && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%s %s %d: an error is %q", r.Method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if r.Method == http.MethodHead {
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: r.Method, Operation: op},
		},
		Status: resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	input.SetBodyBytes(data)
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s %s %d is not as documented: %v\n%s", r.Method, path, resp.StatusCode, err, data)
	}
}

// operation answers HEAD as GET.
func operation(item *openapi3.PathItem, method string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return item.GetOperation(method)
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Unseen lists the documented codes that no answer had, as "METHOD path code".
func (c *Checker) Unseen() []string {
	var list []string
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			for code := range op.Responses.Map() {
				if key := method + " " + path + " " + code; code != "default" && !c.seen[key] {
					list = append(list, key)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// Undocumented lists the codes that answers had and only "default" covers,
// but for those in common, which mean the same everywhere.
func (c *Checker) Undocumented(common ...int) []string {
	var list []string
	for key := range c.seen {
		method, rest, _ := strings.Cut(key, " ")
		path, code, _ := strings.Cut(rest, " ")
		item := c.doc.Paths.Value(path)
		if item == nil {
			continue
		}
		op := operation(item, method)
		n, err := strconv.Atoi(code)
		if op != nil && op.Responses.Value(code) == nil && (err != nil || !slices.Contains(common, n)) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}
