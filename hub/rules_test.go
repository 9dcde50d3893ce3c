package hub_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"storj.io/drpc/drpcerr"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// refused requires that bad was refused with text, that nothing was written,
// and that good still works on the same connection.
func refused(t *testing.T, f *fixture, agent string, text string, bad, good func() (bool, error)) {
	t.Helper()
	before := f.snapshot(agent)
	_, err := bad()
	if err == nil || !strings.Contains(err.Error(), text) || drpcerr.Code(err) != 0 {
		t.Errorf("error is %v, code %d; want code 0 and %q", err, drpcerr.Code(err), text)
	}
	if after := f.snapshot(agent); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("something was written: %v", after)
	}
	if accepted, err := good(); err != nil || !accepted {
		t.Errorf("the next good push: %v, %v", accepted, err)
	}
}

func TestCoderRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	version := uint64(0)
	next := func(rs ...*coder.ContextResource) *coder.PushContextStateRequest {
		version++
		return &coder.PushContextStateRequest{Version: version, Resources: rs}
	}
	if _, err := p.pushCoder(next(coderFile("/kept", "text"))); err != nil {
		t.Fatal(err)
	}
	row := func(change func(*coder.ContextResource)) func(*coder.PushContextStateRequest) {
		return func(r *coder.PushContextStateRequest) {
			bad := coderFile("/bad", "x")
			change(bad)
			r.Resources = append(r.Resources, coderFile("/new", "new"), bad)
		}
	}
	path := long(1025)
	for name, tc := range map[string]struct {
		change func(*coder.PushContextStateRequest)
		text   string
	}{
		"3 version":         {func(r *coder.PushContextStateRequest) { r.Version = math.MaxInt64 + 1 }, "version"},
		"4 aggregate hash":  {func(r *coder.PushContextStateRequest) { r.AggregateHash = make([]byte, 65) }, "aggregate_hash"},
		"5 snapshot error":  {func(r *coder.PushContextStateRequest) { r.SnapshotError = long(4097) }, "snapshot_error"},
		"6 count":           {func(r *coder.PushContextStateRequest) { r.Resources = many(1001) }, "1001 resources"},
		"8 no source":       {row(func(r *coder.ContextResource) { r.Source = "" }), "source is empty"},
		"8 only NUL":        {row(func(r *coder.ContextResource) { r.Source = "\x00" }), "source is empty"},
		"9 source":          {row(func(r *coder.ContextResource) { r.Source = path }), "source is 1025"},
		"10 twice":          {row(func(r *coder.ContextResource) { r.Source = "/new" }), "source appears twice"},
		"10 across kinds":   {row(func(r *coder.ContextResource) { r.Source, r.Body = "/new", &coder.ContextResource_McpConfig{} }), "source appears twice"},
		"10 twice by NUL":   {row(func(r *coder.ContextResource) { r.Source = "/n\x00ew" }), "source appears twice"},
		"11 source path":    {row(func(r *coder.ContextResource) { r.SourcePath = &path }), "source_path"},
		"12 error":          {row(func(r *coder.ContextResource) { r.Error = long(4097) }), "error is 4097"},
		"13 content hash":   {row(func(r *coder.ContextResource) { r.ContentHash = make([]byte, 65) }), "content_hash"},
		"14 size":           {row(func(r *coder.ContextResource) { r.SizeBytes = math.MaxInt64 + 1 }), "size_bytes"},
		"15 no body":        {row(func(r *coder.ContextResource) { r.Body = nil }), "missing body variant"},
		"16 body":           {row(func(r *coder.ContextResource) { *r = *coderFile("/bad", long(200<<10)) }), "body is"},
		"17 sum":            {func(r *coder.PushContextStateRequest) { r.Resources = large(20, 170<<10) }, "together"},
		"18 status unset":   {row(func(r *coder.ContextResource) { r.Status = 0 }), "status"},
		"18 status unknown": {row(func(r *coder.ContextResource) { r.Status = 6 }), "status"},
		// The order: of two broken rules the first in the list is told.
		"12 before 18": {row(func(r *coder.ContextResource) { r.Error, r.Status = long(4097), 0 }), "error is 4097"},
		"15 before 18": {row(func(r *coder.ContextResource) { r.Body, r.Status = nil, 0 }), "missing body variant"},
		"5 before 6":   {func(r *coder.PushContextStateRequest) { r.SnapshotError, r.Resources = long(4097), many(1001) }, "snapshot_error"},
	} {
		t.Run(name, func(t *testing.T) {
			request := next()
			tc.change(request)
			refused(t, f, "a", tc.text,
				func() (bool, error) { return p.pushCoder(request) },
				func() (bool, error) { return p.pushCoder(next(coderFile("/kept", "text"))) })
		})
	}
}

func many(n int) (list []*coder.ContextResource) {
	for i := range n {
		list = append(list, coderFile(fmt.Sprint("/", i), ""))
	}
	return list
}

func large(n, size int) (list []*coder.ContextResource) {
	for i := range n {
		list = append(list, coderFile(fmt.Sprint("/", i), long(size)))
	}
	return list
}

// TestCoderLimits pushes what is just within the rules.
func TestCoderLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	path := long(1024)
	edge := coderFile(path, long(190<<10))
	edge.SourcePath, edge.Error, edge.ContentHash, edge.SizeBytes = &path, long(4096), make([]byte, 64), math.MaxInt64
	request := &coder.PushContextStateRequest{
		Version: math.MaxInt64, AggregateHash: make([]byte, 64), SnapshotError: long(4096),
		Resources: append(many(999), edge),
	}
	if accepted, err := p.pushCoder(request); err != nil || !accepted {
		t.Fatal(accepted, err)
	}
	if got := f.snapshot("a").Snapshot; len(got.Resources) != 1000 || got.PayloadBytes != 190<<10 {
		t.Errorf("stored %d resources of %d bytes", len(got.Resources), got.PayloadBytes)
	}
	if accepted, err := p.pushCoder(&coder.PushContextStateRequest{Initial: true}); err != nil || !accepted {
		t.Fatal(accepted, err)
	}
	if got := f.snapshot("a").Snapshot; len(got.Resources) != 0 {
		t.Errorf("an empty push left %d resources", len(got.Resources))
	}
}

// TestCoderBodies: all bodies arrive, NULs don't.
func TestCoderBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	schema, err := structpb.NewStruct(map[string]any{"type": "object", "required": []any{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	userSource := "/u\x00ser"
	request := &coder.PushContextStateRequest{Version: 1, SnapshotError: "no\x00 inotify", Resources: []*coder.ContextResource{
		{Source: "/s\x00kill", SourcePath: &userSource, Error: "e\x00", Status: coder.ContextResource_INVALID,
			Body: &coder.ContextResource_Skill{Skill: &coder.SkillMetaBody{Meta: []byte("me\x00ta"), Name: "na\x00me", Description: "\x00d"}}},
		{Source: "/.mcp.json", Status: coder.ContextResource_OK, Body: &coder.ContextResource_McpConfig{McpConfig: &coder.MCPConfigBody{}}},
		{Source: "mcp", Status: coder.ContextResource_OK, Body: &coder.ContextResource_McpServer{McpServer: &coder.MCPServerBody{
			ServerName: "ser\x00ver", Tools: []*coder.MCPTool{{Name: "tool", InputSchema: schema}}}}},
		coderFile("/AGENTS.md", ""),
	}}
	if accepted, err := p.pushCoder(request); err != nil || !accepted {
		t.Fatal(accepted, err)
	}
	got := f.snapshot("a").Snapshot
	var lines []string
	for _, r := range got.Resources {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%q", r.ID(), r.SourcePath, r.Name, r.Description, r.Status, r.Error, r.Payload))
	}
	want := []string{
		`instruction_file:/AGENTS.md||||ok||""`,
		`mcp_config:/.mcp.json||||ok||""`,
		`mcp_server:mcp||server||ok||"{\"tools\":[{\"name\":\"tool\",\"input_schema\":{\"required\":[\"x\"],\"type\":\"object\"}}]}"`,
		`skill:/skill|/user|name|d|invalid|e|"me\x00ta"`,
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) || got.SnapshotError != "no inotify" {
		t.Errorf("stored %q:\n%s", got.SnapshotError, strings.Join(lines, "\n"))
	}
}

func TestWaymarkRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	version := uint64(0)
	next := func(rs ...*pushtest.Resource) *pushtest.Push {
		version++
		return &pushtest.Push{Version: version, Resources: rs}
	}
	p.mustPush(next(file("/kept", "text")), true)
	row := func(change func(*pushtest.Resource)) func(*pushtest.Push) {
		return func(r *pushtest.Push) {
			bad := file("/bad", "x")
			change(bad)
			r.Resources = append(r.Resources, file("/new", "new"), bad)
		}
	}
	text := func(s string) *waymark.Attribute { return &waymark.Attribute{Value: &waymark.Attribute_Text{Text: s}} }
	sources := func(list ...*waymark.SourceOutcome) func(*pushtest.Push) {
		return func(r *pushtest.Push) { r.Discovery = &waymark.Discovery{Phase: "complete", Sources: list} }
	}
	server := func(r *pushtest.Resource) {
		*r = *file("/w/.mcp.json", `{"tools":[]}`)
		r.Kind, r.Key = "mcp_server", "a"
	}
	plugin := func(p *waymark.Plugin) func(*pushtest.Push) {
		return func(r *pushtest.Push) { r.Plugins = []*waymark.Plugin{p} }
	}
	for name, tc := range map[string]struct {
		change func(*pushtest.Push)
		text   string
	}{
		"version":        {func(r *pushtest.Push) { r.Version = math.MaxInt64 + 1 }, "version"},
		"aggregate hash": {func(r *pushtest.Push) { r.AggregateHash = make([]byte, 65) }, "aggregate_hash"},
		"snapshot error": {func(r *pushtest.Push) { r.SnapshotError = long(4097) }, "snapshot_error"},
		"count": {func(r *pushtest.Push) {
			for i := range 4001 {
				r.Resources = append(r.Resources, file(fmt.Sprint(i), ""))
			}
		}, "4001 resources"},
		"no kind":        {row(func(r *pushtest.Resource) { r.Kind = "" }), "kind is unknown"},
		"unknown kind":   {row(func(r *pushtest.Resource) { r.Kind = "song" }), "kind is unknown"},
		"no source":      {row(func(r *pushtest.Resource) { r.Source = "\x00" }), "source is empty"},
		"source":         {row(func(r *pushtest.Resource) { r.Source = long(1025) }), "source is 1025"},
		"key":            {row(func(r *pushtest.Resource) { r.Key = long(1025) }), "key is 1025"},
		"source path":    {row(func(r *pushtest.Resource) { r.SourcePath = long(1025) }), "source_path"},
		"name":           {row(func(r *pushtest.Resource) { r.Name = long(257) }), "name"},
		"description":    {row(func(r *pushtest.Resource) { r.Description = long(4097) }), "description"},
		"error":          {row(func(r *pushtest.Resource) { r.Error = long(4097) }), "error is 4097"},
		"content hash":   {row(func(r *pushtest.Resource) { r.ContentHash = make([]byte, 65) }), "content_hash"},
		"resolver":       {row(func(r *pushtest.Resource) { r.Resolver = long(1025) }), "resolver"},
		"size":           {row(func(r *pushtest.Resource) { r.SizeBytes = math.MaxInt64 + 1 }), "size"},
		"attributes":     {row(func(r *pushtest.Resource) { r.Attributes = map[string]*waymark.Attribute{"k": text(long(16 << 10))} }), "attributes"},
		"no attribute":   {row(func(r *pushtest.Resource) { r.Attributes = map[string]*waymark.Attribute{"k": {}} }), "attribute has no value"},
		"body":           {row(func(r *pushtest.Resource) { *r = *file("/bad", long(257<<10)) }), "payload is"},
		"status unset":   {row(func(r *pushtest.Resource) { r.Status = 0 }), "status"},
		"status unknown": {row(func(r *pushtest.Resource) { r.Status = 6 }), "status"},
		"same id":        {row(func(r *pushtest.Resource) { r.Source = "/new" }), "id appears twice"},
		"same id by NUL": {row(func(r *pushtest.Resource) { r.Source = "/n\x00ew" }), "id appears twice"},
		"same id by key": {func(r *pushtest.Push) {
			a, b := file("/x#y", ""), file("/x", "")
			b.Key = "y"
			r.Resources = []*pushtest.Resource{a, b}
		}, "id appears twice"},
		"mcp payload":      {row(func(r *pushtest.Resource) { r.Kind = "mcp_config" }), "mcp_config has no payload"},
		"oversize payload": {row(func(r *pushtest.Resource) { r.Status = waymark.Status_STATUS_OVERSIZE }), "no payload"},
		"plugins": {func(r *pushtest.Push) {
			for range 1001 {
				r.Plugins = append(r.Plugins, &waymark.Plugin{})
			}
		}, "1001 plugins"},
		"sources":          {sources(make([]*waymark.SourceOutcome, 1001)...), "1001 sources"},
		"source's id":      {sources(&waymark.SourceOutcome{Id: long(3000)}), "id"},
		"source's name":    {sources(&waymark.SourceOutcome{Id: "x", Name: long(257)}), "name"},
		"source's outcome": {sources(&waymark.SourceOutcome{Id: "x", Outcome: long(65)}), "outcome"},
		"source's error":   {sources(&waymark.SourceOutcome{Id: "x", Error: long(4097)}), "error"},
		"tools": {row(func(r *pushtest.Resource) {
			server(r)
			r.Payload = []byte(`{"tools":[{"name":"t","description":"` + long(300<<10) + `"}]}`)
		}), "payload is"},
		"plugin text":      {plugin(&waymark.Plugin{Error: long(4097)}), "plugin 0"},
		"plugin resolvers": {plugin(&waymark.Plugin{Resolvers: make([]string, 1001)}), "1001 resolvers"},
	} {
		t.Run(name, func(t *testing.T) {
			request := next()
			tc.change(request)
			refused(t, f, "a", tc.text,
				func() (bool, error) { return p.push(request) },
				func() (bool, error) { return p.push(next(file("/kept", "text"))) })
		})
	}
	if log := f.log.String(); strings.Contains(log, "/bad") || strings.Contains(log, "song") {
		t.Error("the log quotes a push")
	}
}

// TestWaymarkMended: NULs go, whatever field they are in; everything else
// stays as it is.
func TestWaymarkMended(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	list := func(s ...string) *waymark.Attribute {
		return &waymark.Attribute{Value: &waymark.Attribute_List{List: &waymark.TextList{Items: s}}}
	}
	r := file("/s\x00", "a\x00b")
	r.Kind, r.Key, r.SourcePath, r.Name, r.Description = "ho\x00ok", "\x00k", "/\x00", "n\x00", "d\x00"
	r.Error, r.Resolver, r.Stale = "\x00e", "r\x00", true
	r.Attributes = map[string]*waymark.Attribute{"g\x00": list("\x00**"), "g": list("first"), "e": list()}
	p.mustPush(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{r}, Plugins: []*waymark.Plugin{
		{Name: "\x00p", State: "ready\x00", Resolvers: []string{"x\x00"}},
	}}, true)
	got := f.snapshot("a").Snapshot
	want := `hook:/s#k|/|n|d|e|r|true|a` + "\x00" + `b|map[e:{ []} g:{ [first]}]|[{p     ready  [x]}]`
	s := got.Resources[0]
	is := fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v|%s|%v|%v", s.ID(), s.SourcePath, s.Name, s.Description, s.Error, s.Resolver, s.Stale, s.Payload, s.Attributes, got.Plugins)
	if normal(is) != normal(want) {
		t.Errorf("stored\n%q, want\n%q", is, want)
	}
}

func normal(s string) string { return strings.Join(strings.Fields(s), " ") }
