package api_test

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
	"github.com/google/go-cmp/cmp"

	"waymark/host/api"
)

// TestDocumentIsValid checks the document itself, its examples included.
func TestDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDocumentHasAllRoutes compares it with the handler, both ways.
func TestDocumentHasAllRoutes(t *testing.T) {
	doc := loadDocument(t).doc
	documented := map[string][]string{}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			documented[path] = append(documented[path], method)
			if ids[op.OperationID] || op.Summary == "" || len(op.Tags) == 0 {
				t.Errorf("%s %s: operationId %q must be its own, and summary and tags be there", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	routes := api.Routes()
	for _, list := range []map[string][]string{documented, routes} {
		for _, methods := range list {
			slices.Sort(methods)
		}
	}
	if diff := cmp.Diff(routes, documented); diff != "" {
		t.Errorf("routes and document differ (-routes +document):\n%s", diff)
	}
}

// TestDocumentIsACopy: nobody can change what is served.
func TestDocumentIsACopy(t *testing.T) {
	clear(api.Document())
	if !json.Valid(api.Document()) {
		t.Error("the document has been overwritten")
	}
}

// checker compares answers with the document.
type checker struct {
	doc *openapi3.T

	mu   sync.Mutex
	seen map[string]bool // "METHOD path code"
}

// loadDocument reads the document, made stricter: consumers must take members
// that aren't documented, but there are none.
func loadDocument(t *testing.T) *checker {
	t.Helper()
	var raw any
	if err := json.Unmarshal(api.Document(), &raw); err != nil {
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
	return &checker{doc: doc, seen: map[string]bool{}}
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

// check fails the test when an answer isn't what the document says. path is
// the documented one. It gives the body back to be read again.
func (c *checker) check(t *testing.T, r *http.Request, path string, resp *http.Response) {
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
	op := item.GetOperation(strings.Replace(r.Method, http.MethodHead, http.MethodGet, 1))
	if op == nil { // 405, the same for all
		op = item.Operations()[slices.Sorted(keysOf(item.Operations()))[0]]
	}
	if resp.StatusCode >= 400 || r.Method != http.MethodHead {
		input := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{
				Request: r, Route: &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: r.Method, Operation: op},
			},
			Status: resp.StatusCode, Header: resp.Header,
			Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		}
		input.SetBodyBytes(data)
		if r.Method != http.MethodHead {
			if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
				t.Errorf("%s %s %d is not as documented: %v\n%s", r.Method, path, resp.StatusCode, err, data)
			}
		}
	}
	if resp.StatusCode >= 400 && resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %d: an error is %q", r.Method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
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

// unseen lists the documented codes that no answer had.
func (c *checker) unseen() []string {
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

// undocumented lists the codes that answers had and only "default" covers.
func (c *checker) undocumented() []string {
	common := []int{404, 405, 413, 415, 403, 421, 500, 501, 503, 504, 400, 409}
	var list []string
	for key := range c.seen {
		method, rest, _ := strings.Cut(key, " ")
		path, code, _ := strings.Cut(rest, " ")
		op := c.doc.Paths.Value(path).GetOperation(strings.Replace(method, http.MethodHead, http.MethodGet, 1))
		n, err := strconv.Atoi(code)
		if op != nil && op.Responses.Value(code) == nil && (err != nil || !slices.Contains(common, n)) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}
