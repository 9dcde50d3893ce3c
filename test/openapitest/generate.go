package openapitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go/openapi31"

	"waymark/abi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

var update = flag.Bool("update-openapi", false, "write openapi.json anew")

// Generate makes the description of an API from the routes and types of its services, and
// fails the test where a route or a field says nothing of itself, the description isn't
// valid, or openapi.json in the package's directory isn't what it has made. `make generate` writes that: a package with a
// document has
//
//	//go:generate go test -tags openapi -run ^TestDocument$ -count=1 . -update-openapi
//
// and the tag where everything under test would be larger for it.
//
// What the document says of itself is what the first service does.
func Generate(t *testing.T, services ...httpapi.Service) {
	t.Helper()
	document := Document(t, services...)
	const file = "openapi.json"
	if *update {
		if err := os.WriteFile(file, document, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, document) {
		t.Errorf("%s isn't what the routes and types say: make generate (%v)", file, err)
	}
}

// Document makes the description of services that are under test by themselves, and fails
// the test as Generate does.
func Document(t testing.TB, services ...httpapi.Service) []byte {
	t.Helper()
	document, problems := generate(services...)
	for _, problem := range problems {
		t.Error(problem)
	}
	if problems != nil {
		t.FailNow()
	}
	Load(t, document).Valid(t)
	return document
}

// generator makes one description.
type generator struct {
	service  httpapi.Service // whose turn it is
	r        *openapi31.Reflector
	comments *comments
	defs     map[string]reflect.Type // the components by their names
	called   map[reflect.Type]string // those that aren't called as their types are
	messages []string                // those that are sent by themselves
	problems []string
}

func generate(services ...httpapi.Service) (document []byte, problems []string) {
	g := &generator{r: openapi31.NewReflector(), comments: newComments(), defs: map[string]reflect.Type{}, called: map[reflect.Type]string{}}
	g.r.DefaultOptions = append(g.r.DefaultOptions,
		jsonschema.InterceptDefName(g.name), jsonschema.InterceptSchema(g.schema), jsonschema.InterceptNullability(nullability))
	g.r.AddTypeMapping(snapshot.Hash{}, hash{})
	g.r.AddTypeMapping(snapshot.Attribute{}, attribute{})
	g.r.AddTypeMapping(snapshot.Resource{}, snapshot.ResourceJSON{})
	g.called[reflect.TypeFor[snapshot.ResourceJSON]()] = "Resource"
	for i := range services {
		for name, of := range services[i].About.Names {
			g.called[reflect.TypeOf(of)] = name
		}
	}
	g.r.AddTypeMapping(json.RawMessage(nil), new(any)) // whatever it is
	for i := range services {
		g.service = services[i]
		g.about(i == 0)
		for i := range g.service.Routes {
			if route := &g.service.Routes[i]; route.Operation == nil {
				g.complain("%s %s says nothing of itself", route.Method, route.Pattern)
			} else if err := g.operation(route); err != nil {
				g.complain("%s %s: %v", route.Method, route.Pattern, err)
			}
		}
		for _, message := range g.service.About.Messages {
			g.component(message)
			g.messages = append(g.messages, g.name(reflect.TypeOf(message), ""))
		}
	}
	g.closed()
	document, err := g.r.Spec.MarshalJSON()
	if err != nil {
		g.complain("%v", err)
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, document, "", "\t") // it has been encoded just now
	indented.WriteByte('\n')
	return indented.Bytes(), g.problems
}

func (g *generator) complain(format string, args ...any) {
	if problem := fmt.Sprintf(format, args...); !slices.Contains(g.problems, problem) {
		g.problems = append(g.problems, problem)
	}
}

// about fills in what isn't said by routes.
func (g *generator) about(first bool) {
	about := &g.service.About
	spec := g.r.SpecEns()
	if len(about.Groups) == 0 {
		g.complain("About needs a group")
	}
	if first {
		spec.Openapi = "3.1.0"
		spec.Info.WithTitle(cmp.Or(about.Title, "Waymark")).WithVersion("0")
		if about.Summary != "" {
			spec.Info.WithSummary(about.Summary)
		}
		if about.Text != "" {
			spec.Info.WithDescription(about.Text)
		}
		for _, server := range about.Servers {
			s := openapi31.Server{URL: server.URL}
			if server.Text != "" {
				s.WithDescription(server.Text)
			}
			spec.Servers = append(spec.Servers, s)
		}
	}
	for _, group := range about.Groups {
		if slices.ContainsFunc(spec.Tags, func(tag openapi31.Tag) bool { return tag.Name == group.Name }) {
			continue // an earlier service has it, too
		}
		spec.Tags = append(spec.Tags, *new(openapi31.Tag).WithName(group.Name).WithDescription(group.Text))
	}
	for _, scheme := range about.Schemes {
		s := new(openapi31.SecurityScheme).WithDescription(scheme.Text)
		if scheme.Cookie != "" {
			s.WithAPIKey(openapi31.SecuritySchemeAPIKey{Name: scheme.Cookie, In: openapi31.SecuritySchemeAPIKeyInCookie})
		} else {
			s.WithHTTP(openapi31.SecuritySchemeHTTP{Scheme: scheme.Kind})
		}
		spec.ComponentsEns().WithSecuritySchemesItem(scheme.Name, openapi31.SecuritySchemeOrReference{SecurityScheme: s})
	}
}

func security(names []string) (list []map[string][]string) {
	for _, name := range names {
		if name == "" {
			list = append(list, map[string][]string{})
		} else {
			list = append(list, map[string][]string{name: {}})
		}
	}
	return list
}

// everywhere is what statuses mean where a service doesn't say more; 0 is for all others.
var everywhere = map[int]string{
	0:                                "An error: `message` says what didn't work, `detail` why, and what to do.",
	http.StatusBadRequest:            "The request can't be right; `detail` says why.",
	http.StatusUnauthorized:          "There is no token, or one that isn't known, has expired or was revoked.",
	http.StatusForbidden:             "The token doesn't allow it; `detail` says what it lacks.",
	http.StatusNotFound:              "It isn't there.",
	http.StatusConflict:              "It can't be done as things are; `detail` says why.",
	http.StatusRequestEntityTooLarge: "The body is too large; `detail` says how much is read.",
	http.StatusUnsupportedMediaType:  "The body isn't `application/json`.",
	http.StatusTooManyRequests:       "There is enough to do; come again after `Retry-After`.",
	http.StatusServiceUnavailable:    "It can't be answered now; come again after `Retry-After`.",
}

// errorRef refers to what a status means, and makes that when it is asked for first.
// What a service has of its own is named after the first that says so.
func (g *generator) errorRef(code int) openapi31.ResponseOrReference {
	name, text := strings.ReplaceAll(http.StatusText(code), " ", ""), g.service.About.Errors[code]
	switch {
	case text != "":
		name = g.upper(g.service.About.Groups[0].Name) + name
	case code == 0:
		name, text = "Error", everywhere[0]
	default:
		if text = everywhere[code]; text == "" {
			g.complain("what does %d mean?", code)
		}
	}
	components := g.r.SpecEns().ComponentsEns()
	for other, r := range components.Responses {
		if strings.HasSuffix(other, strings.ReplaceAll(http.StatusText(code), " ", "")) && r.Response.Description == text {
			name = other
		}
	}
	if _, made := components.Responses[name]; !made {
		r := new(openapi31.Response).WithDescription(text)
		r.Content = g.content(problem.Error{}, nil)
		r.Headers = errorHeaders(code)
		components.WithResponsesItem(name, openapi31.ResponseOrReference{Response: r})
	}
	return openapi31.ResponseOrReference{Reference: new(openapi31.Reference).WithRef("#/components/responses/" + name)}
}

func (*generator) upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// errorHeaders are those that the router sets.
func errorHeaders(code int) map[string]openapi31.HeaderOrReference {
	header := func(name, text, kind string) map[string]openapi31.HeaderOrReference {
		return map[string]openapi31.HeaderOrReference{name: {Header: new(openapi31.Header).WithDescription(text).WithSchema(map[string]any{"type": kind})}}
	}
	switch code {
	case http.StatusUnauthorized:
		return header("WWW-Authenticate", "That a bearer token is wanted.", "string")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return header("Retry-After", "When to come again, in seconds.", "integer")
	}
	return nil
}

// operation adds one.
func (g *generator) operation(route *httpapi.Route) error {
	o := route.Operation
	if o.ID == "" || o.Summary == "" || len(o.Answers) == 0 {
		g.complain("%s %s needs an ID, a summary and an answer", route.Method, route.Pattern)
	}
	op := new(openapi31.Operation).WithID(o.ID).WithSummary(o.Summary)
	group := o.Group
	if group == "" {
		group = g.service.About.Groups[0].Name
	}
	op.WithTags(group)
	if o.Text != "" {
		op.WithDescription(o.Text)
	}
	about := &g.service.About
	switch {
	case o.Security != nil:
		op.Security = security(o.Security)
	case route.Scope != "" && about.Scoped != nil:
		op.Security = security(about.Scoped)
	default:
		op.Security = security(about.Security)
	}
	path := strings.ReplaceAll(route.Pattern, "...}", "}")
	parameters, err := g.parameters(o.Params)
	if err != nil {
		return err
	}
	op.Parameters = parameters
	for _, name := range strings.Split(path, "{")[1:] {
		name, _, _ = strings.Cut(name, "}")
		if !slices.ContainsFunc(op.Parameters, func(p openapi31.ParameterOrReference) bool { return p.Parameter.Name == name }) {
			g.complain("%s %s: the parameter %s is not among Params", route.Method, route.Pattern, name)
		}
	}
	if o.Body != nil {
		body := new(openapi31.RequestBody).WithRequired(!o.Optional)
		body.Content = g.content(o.Body, o.Example)
		op.RequestBody = &openapi31.RequestBodyOrReference{RequestBody: body}
	}
	for _, answer := range o.Answers {
		if answer.Text == "" {
			g.complain("%s %s: what is %d?", route.Method, route.Pattern, answer.Code)
		}
		r := new(openapi31.Response).WithDescription(answer.Text)
		if answer.Code >= 400 && answer.Body == nil {
			answer.Body = problem.Error{}
			r.Headers = errorHeaders(answer.Code)
		}
		if answer.Body != nil {
			r.Content = g.content(answer.Body, answer.Example)
		}
		if r.Headers, err = g.headers(answer.Headers, r.Headers); err != nil {
			return err
		}
		if answer.Code == 0 {
			op.ResponsesEns().Default = &openapi31.ResponseOrReference{Response: r}
			continue
		}
		op.ResponsesEns().WithMapOfResponseOrReferenceValuesItem(fmt.Sprint(answer.Code), openapi31.ResponseOrReference{Response: r})
	}
	errors := o.Errors
	if _, raw := o.Body.(httpapi.Content); o.Body != nil && !raw {
		errors = append(slices.Clip(errors), http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if route.Scope != "" {
		errors = append(slices.Clip(errors), http.StatusUnauthorized, http.StatusForbidden)
	}
	for _, code := range errors {
		if slices.ContainsFunc(o.Answers, func(a httpapi.Answer) bool { return a.Code == code }) {
			continue
		}
		op.ResponsesEns().WithMapOfResponseOrReferenceValuesItem(fmt.Sprint(code), g.errorRef(code))
	}
	if rest := g.errorRef(0); op.ResponsesEns().Default == nil {
		op.Responses.Default = &rest
	}
	return g.r.SpecEns().AddOperation(strings.ToLower(route.Method), path, *op)
}

// parameters are the fields of a struct.
func (g *generator) parameters(of any) (list []openapi31.ParameterOrReference, err error) {
	for _, f := range fields(of) {
		for _, in := range []string{"path", "query", "header"} {
			name := f.Tag.Get(in)
			if name == "" {
				continue
			}
			schema, err := g.r.Reflect(reflect.New(f.Type).Elem().Interface(), jsonschema.InlineRefs)
			if err != nil {
				return nil, err
			}
			p := new(openapi31.Parameter).WithName(name).WithIn(openapi31.ParameterIn(in)).WithSchema(g.tagged(schema, f))
			if in == "path" || f.Tag.Get("required") == "true" {
				p.WithRequired(true)
			}
			if text := g.describe(f); text != "" {
				p.WithDescription(text)
			}
			if example := f.Tag.Get("example"); example != "" {
				p.WithExample(value(example, f.Type))
			}
			list = append(list, openapi31.ParameterOrReference{Parameter: p})
		}
	}
	return list, nil
}

// headers are the fields of a struct, in addition to others.
func (g *generator) headers(of any, all map[string]openapi31.HeaderOrReference) (map[string]openapi31.HeaderOrReference, error) {
	for _, f := range fields(of) {
		schema, err := g.r.Reflect(reflect.New(f.Type).Elem().Interface(), jsonschema.InlineRefs)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]openapi31.HeaderOrReference{}
		}
		h := new(openapi31.Header).WithDescription(g.describe(f)).WithSchema(g.tagged(schema, f))
		if example := f.Tag.Get("example"); example != "" {
			h.WithExample(value(example, f.Type))
		}
		all[f.Tag.Get("header")] = openapi31.HeaderOrReference{Header: h}
	}
	return all, nil
}

// fields are those of a struct, those of embedded ones among them.
func fields(of any) (list []field) {
	if of == nil {
		return nil
	}
	return fieldsOf(reflect.TypeOf(of))
}

// field is one with the type that declares it.
type field struct {
	reflect.StructField
	in reflect.Type
}

func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		kind := deref(f.Type)
		switch {
		case f.Anonymous && kind.Kind() == reflect.Struct && f.Tag.Get("json") == "":
			list = append(list, fieldsOf(kind)...)
		case f.IsExported():
			list = append(list, field{f, t})
		}
	}
	return list
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// describe returns what the comment of a field says, and complains where there is none.
func (g *generator) describe(f field) string {
	text := g.comments.field(f.in, f.Name)
	if text == "" {
		g.complain("%s.%s has no comment that says what it is", f.in, f.Name)
	}
	return text
}

// tagged is a schema with the bounds of a field's tags, simplified.
func (g *generator) tagged(schema jsonschema.Schema, f field) map[string]any {
	m := simple(schema)
	if text, ok := f.Tag.Lookup("enum"); ok {
		values := []any{}
		for _, word := range strings.Split(text, ",") {
			values = append(values, value(word, f.Type))
		}
		m["enum"] = values
	}
	if values := g.comments.values(deref(f.Type)); len(values) > 0 {
		m["enum"] = values
	}
	for _, name := range []string{"default", "minimum", "maximum"} {
		if text, ok := f.Tag.Lookup(name); ok {
			m[name] = value(text, f.Type)
		}
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		if text, ok := f.Tag.Lookup(name); ok {
			m[name] = value(text, reflect.TypeFor[int]())
		}
	}
	for _, name := range []string{"format", "pattern"} {
		if text, ok := f.Tag.Lookup(name); ok {
			m[name] = text
		}
	}
	delete(m, "description")
	return m
}

// value reads a tag as what its field holds.
func value(text string, t reflect.Type) any {
	var v any
	if deref(t).Kind() == reflect.String || json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func simple(schema jsonschema.Schema) map[string]any {
	m, err := schema.ToSchemaOrBool().ToSimpleMap()
	if err != nil {
		panic(err) // it is the library's own
	}
	return m
}

// content describes a body.
func (g *generator) content(body, example any) map[string]openapi31.MediaType {
	all := map[string]openapi31.MediaType{}
	var several []map[string]any
	kinds, ok := body.(httpapi.Contents)
	if !ok {
		kinds = httpapi.Contents{body}
	}
	for _, kind := range kinds {
		if media, ok := kind.(httpapi.Content); ok {
			schema := map[string]any{"type": "string"}
			if !strings.HasPrefix(string(media), "text/") {
				schema["format"] = "binary"
			}
			all[string(media)] = openapi31.MediaType{Schema: schema}
			continue
		}
		several = append(several, g.component(kind))
	}
	switch {
	case len(several) == 1:
		all["application/json"] = openapi31.MediaType{Schema: several[0]}
	case several != nil:
		all["application/json"] = openapi31.MediaType{Schema: map[string]any{"anyOf": several}}
	}
	if example != nil {
		media := slices.Sorted(maps.Keys(all))[0]
		m := all[media]
		m.WithExample(example)
		all[media] = m
	}
	return all
}

// component makes one of a type, or several, and returns what refers to it.
func (g *generator) component(of any) map[string]any {
	schema, err := g.r.Reflect(of, jsonschema.RootRef, jsonschema.DefinitionsPrefix("#/components/schemas/"),
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) {
			g.r.SpecEns().ComponentsEns().WithSchemasItem(name, simple(schema))
		}))
	if err != nil {
		g.complain("%T: %v", of, err)
	}
	return simple(schema)
}

// name is that of a component: the type's, which must be the only one.
func (g *generator) name(t reflect.Type, _ string) string {
	t = deref(t)
	name := t.Name()
	if called := g.called[t]; called != "" {
		name = called
	}
	name = g.upper(name)
	if slices.Contains(mapped, t) {
		return "Go" + name // what stands for it has the name
	}
	if other := g.defs[name]; other != nil && other != t {
		g.complain("%s and %s have the same name", other, t)
	}
	g.defs[name] = t
	return name
}

// schema says of a struct what its comments and tags do.
func (g *generator) schema(params jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := params.Value.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if params.Processed && t.Kind() == reflect.Uint16 {
		params.Schema.WithMaximum(math.MaxUint16) // what is greater can't be decoded
	}
	if !params.Processed || !strings.HasPrefix(t.PkgPath(), "waymark/") {
		return false, nil
	}
	if values := g.comments.values(t); t.Kind() == reflect.String && slices.Contains(open, t) {
		params.Schema.WithExamples(values...)
	} else if t.Kind() == reflect.String && len(values) > 0 {
		params.Schema.Enum = values
	}
	if t.Kind() != reflect.Struct || len(params.Schema.Properties) == 0 {
		return false, nil
	}
	if text := g.comments.of(t); text != "" {
		if rest, ok := strings.CutPrefix(text, t.Name()+" "); ok && g.called[t] != "" {
			text = g.called[t] + " " + rest
		}
		params.Schema.WithDescription(g.upper(text))
	}
	params.Schema.Required = nil
	for _, f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		property := params.Schema.Properties[name]
		if property.TypeObject == nil {
			continue
		}
		if text := g.describe(f); text != "" {
			property.TypeObject.WithDescription(text)
		}
		if items := property.TypeObject.Items; items != nil && items.SchemaOrBool != nil && property.TypeObject.Enum != nil {
			items.SchemaOrBool.TypeObject.Enum, property.TypeObject.Enum = property.TypeObject.Enum, nil
		}
		switch ref := property.TypeObject.Ref; {
		case strings.Contains(options, "omit"):
			property.TypeObject.RemoveType(jsonschema.Null) // it is left out
		case ref != nil && f.Type.Kind() == reflect.Pointer:
			property.TypeObject.Ref = nil
			property.TypeObject.WithOneOf(jsonschema.Null.ToSchemaOrBool(), (&jsonschema.Schema{Ref: ref}).ToSchemaOrBool())
		}
		if _, said := f.Tag.Lookup("required"); !said && !strings.Contains(options, "omit") || f.Tag.Get("required") == "true" {
			params.Schema.Required = append(params.Schema.Required, name)
		}
	}
	return false, nil
}

// nullability: a slice or map is never null. None is encoded so in an answer: the tests of
// answers would say so.
func nullability(params jsonschema.InterceptNullabilityParams) {
	if kind := params.Type.Kind(); params.NullAdded && (kind == reflect.Slice || kind == reflect.Map) {
		params.Schema.RemoveType(jsonschema.Null)
	}
}

// closed forbids unknown members in what is sent only: requests are strict, and clients
// have to take members that they don't know.
func (g *generator) closed() {
	spec := g.r.SpecEns()
	spec.ComponentsEns()
	answered := map[string]bool{}
	var reach func(v any)
	reach = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(ref, "#/components/schemas/")
				if !answered[name] {
					answered[name] = true
					reach(plain(spec.Components.Schemas[name]))
				}
			}
			for _, member := range v {
				reach(member)
			}
		case []any:
			for _, element := range v {
				reach(element)
			}
		}
	}
	reach(plain(spec.Components.Responses))
	for _, item := range spec.PathsEns().MapOfPathItemValues {
		for _, op := range []*openapi31.Operation{item.Get, item.Post, item.Put, item.Delete, item.Patch} {
			if op != nil {
				reach(plain(op.Responses))
			}
		}
	}
	for _, name := range g.messages {
		reach(map[string]any{"$ref": "#/components/schemas/" + name})
	}
	for name, schema := range spec.Components.Schemas {
		if _, object := schema["properties"]; object && !answered[name] {
			schema["additionalProperties"] = false
		}
	}
}

// plain is a value as JSON has it.
func plain(v any) (out any) {
	data, err := json.Marshal(v)
	if err != nil || json.Unmarshal(data, &out) != nil {
		panic(fmt.Sprint("not JSON: ", err))
	}
	return out
}

// open are the types of texts to which a newer agent may add words.
var open = []reflect.Type{
	reflect.TypeFor[abi.Kind](), reflect.TypeFor[abi.Severity](),
	reflect.TypeFor[snapshot.Scope](), reflect.TypeFor[snapshot.Outcome](), reflect.TypeFor[snapshot.PluginState](),
}

// mapped are the types that others stand for.
var mapped = []reflect.Type{reflect.TypeFor[snapshot.Hash](), reflect.TypeFor[snapshot.Attribute](), reflect.TypeFor[snapshot.Resource]()}

// hash stands for snapshot.Hash, attribute for snapshot.Attribute.
type (
	hash      struct{}
	attribute struct{}
)

func (attribute) PrepareJSONSchema(s *jsonschema.Schema) error {
	s.Type = nil
	s.WithOneOf(jsonschema.String.ToSchemaOrBool(), (&jsonschema.Schema{}).WithType(jsonschema.Array.Type()).WithItems(*(&jsonschema.Items{}).WithSchemaOrBool(jsonschema.String.ToSchemaOrBool())).ToSchemaOrBool())
	return nil
}

func (hash) PrepareJSONSchema(s *jsonschema.Schema) error {
	s.WithType(jsonschema.String.Type()).WithPattern("^([0-9a-f]{2})*$").WithDescription("A SHA-256 in hexadecimal digits; empty where there is none.")
	return nil
}
