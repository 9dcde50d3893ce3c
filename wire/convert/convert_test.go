package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/wire/coder"
	"waymark/wire/convert"
	"waymark/wire/waymark"
)

// TestWaymarkRoundTrip sends random snapshots through the encoding and back:
// nothing may be lost.
func TestWaymarkRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		want := randomSnapshot(rand.New(rand.NewPCG(seed, 1)))
		var received waymark.PushRequest
		transmit(t, pushOf(want), &received)
		got, bodies, err := convert.FromWaymark(&received)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range want.Resources {
			r := &got.Resources[i]
			if body, has := bodies[i]; has {
				r.Payload = want.Resources[i].Payload
				got.PayloadBytes += body.Size
				if *convert.BodyOf(r) != body {
					t.Errorf("seed %d: the payload of %s has another name", seed, r.ID())
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: sent (-), received (+):\n%s", seed, diff)
		}
	}
}

// pushOf is a push of everything.
func pushOf(s *snapshot.Snapshot) *waymark.PushRequest {
	request := &waymark.PushRequest{Version: s.Version, Head: convert.HeadToWaymark(s)}
	for i := range s.Resources {
		request.Resources = append(request.Resources, convert.ResourceToWaymark(&s.Resources[i], convert.BodyOf(&s.Resources[i])))
	}
	return request
}

// TestCoderRoundTrip does the same for what Coder's wire carries.
func TestCoderRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		want := onlyWhatCoderCarries(randomSnapshot(rand.New(rand.NewPCG(seed, 2))))
		request, err := convert.ToCoder(want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var received coder.PushContextStateRequest
		transmit(t, request, &received)
		got, err := convert.FromCoder(&received)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: sent (-), received (+):\n%s", seed, diff)
		}
	}
}

func transmit(t *testing.T, from, to proto.Message) {
	t.Helper()
	data, err := proto.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

func TestTools(t *testing.T) {
	payload := `{"tools":[{"name":"search","description":"a < b","input_schema":` +
		`{"properties":{"q":{"type":"string"}},"required":["q"],"type":"object"}},{"name":"ping","input_schema":{}}]}`
	server := snapshot.Resource{
		Kind: abi.KindMCPServer, Source: "docs", Name: "docs", Status: snapshot.StatusOK, Payload: []byte(payload),
	}
	m, err := convert.ResourceToCoder(&server)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.GetMcpServer().GetTools()[0].GetInputSchema().AsMap()["type"]; got != "object" {
		t.Errorf("schema's type = %v", got)
	}
	s, err := convert.FromCoder(&coder.PushContextStateRequest{Resources: []*coder.ContextResource{m}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Resources[0].Payload); got != payload {
		t.Errorf("tools came back as\n%s, want\n%s", got, payload)
	}
}

func TestToolsAreCleaned(t *testing.T) {
	payload := `{"tools":[{"name":"a\u0000b","input_schema":{"k\u0000":"v\u0000","k":"first","list":["\u0000x"]}}]}`
	m, err := convert.ResourceToCoder(&snapshot.Resource{
		Kind: abi.KindMCPServer, Status: snapshot.StatusOK, Payload: []byte(payload),
	})
	if err != nil {
		t.Fatal(err)
	}
	tool := m.GetMcpServer().GetTools()[0]
	want := map[string]any{"k": "first", "list": []any{"x"}}
	if diff := cmp.Diff(want, tool.GetInputSchema().AsMap()); diff != "" || tool.Name != "ab" {
		t.Errorf("name %q, schema (-want +got):\n%s", tool.Name, diff)
	}
}

func TestBadTools(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300)
	for name, payload := range map[string]string{
		"not JSON":     "hunter2",
		"not a list":   `{"tools":"hunter2"}`,
		"deep schema":  `{"tools":[{"name":"hunter2","input_schema":` + deep + `}]}`,
		"big exponent": `{"tools":[{"name":"x","input_schema":{"hunter2":1e999}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := convert.ResourceToCoder(&snapshot.Resource{Kind: abi.KindMCPServer, Payload: []byte(payload)})
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error quotes the payload: %v", err)
			}
		})
	}
}

// TestMCPConfigHasNoPayload: whatever a snapshot holds, Coder's wire has no
// room for the bytes of such a file.
func TestMCPConfigHasNoPayload(t *testing.T) {
	m, err := convert.ResourceToCoder(&snapshot.Resource{
		Kind: abi.KindMCPConfig, Source: "/w/.mcp.json", Status: snapshot.StatusOK, Payload: []byte("token"),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("token")) {
		t.Error("the file's bytes are in the message")
	}
}

func TestUnknownKind(t *testing.T) {
	s := &snapshot.Snapshot{Resources: []snapshot.Resource{{Kind: abi.KindHook, Source: "/h", Status: snapshot.StatusOK}}}
	if _, err := convert.ToCoder(s); !errors.Is(err, convert.ErrKind) {
		t.Errorf("ToCoder of a hook: %v, want ErrKind", err)
	}
	if convert.KnownToCoder(abi.KindHook) || !convert.KnownToCoder(abi.KindSkill) {
		t.Error("KnownToCoder is wrong about hook or skill")
	}
}

// TestDiscoveryOfOthers: nobody waits for an agent that doesn't have it, or that
// says what isn't known yet.
func TestDiscoveryOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		sent    *waymark.Discovery
		pending bool
	}{
		"an older agent": {nil, false},
		"pending":        {&waymark.Discovery{Phase: "pending"}, true},
		"a newer agent":  {&waymark.Discovery{Phase: "later", Sources: []*waymark.SourceOutcome{nil, {Id: "a", Outcome: "asleep"}}}, false},
	} {
		s, _, err := convert.FromWaymark(&waymark.PushRequest{Head: &waymark.Head{Discovery: c.sent}})
		if err != nil || s.Discovery.Pending() != c.pending || s.Discovery.Phase == "" {
			t.Errorf("%s: %v, %+v", name, err, s.Discovery)
		}
	}
	s, err := convert.FromCoder(&coder.PushContextStateRequest{})
	if err != nil || s.Discovery.Phase != snapshot.PhaseComplete {
		t.Errorf("Coder's agent: %v, %+v", err, s.Discovery)
	}
}

// TestToolsKeepWhatCoderLeavesOut: a payload that has titles and annotations stays what it
// is; Coder's form takes what it knows.
func TestToolsKeepWhatCoderLeavesOut(t *testing.T) {
	payload := `{"tools":[{"name":"rm","title":"Remove","description":"d","input_schema":{"type":"object"},"annotations":{"destructiveHint":true}}]}`
	s := &snapshot.Snapshot{Resources: snapshot.Resources{{
		Kind: abi.KindMCPServer, Source: "/w/.mcp.json", Key: "a", Name: "a", Status: snapshot.StatusOK, Payload: []byte(payload),
	}}}
	m, err := convert.ResourceToCoder(&s.Resources[0])
	if err != nil || len(m.GetMcpServer().GetTools()) != 1 || m.GetMcpServer().GetTools()[0].GetDescription() != "d" {
		t.Errorf("%v, %v", err, m)
	}
}

func TestFromWaymarkRefuses(t *testing.T) {
	ok := waymark.Status_STATUS_OK
	for name, r := range map[string]*waymark.Resource{
		"missing resource":        nil,
		"status unset":            {},
		"status unknown":          {Status: 99},
		"size out of range":       {Status: ok, SizeBytes: 1 << 63},
		"attribute without value": {Status: ok, Attributes: map[string]*waymark.Attribute{"mode": {}}},
		"short body":              {Status: ok, Body: &waymark.Body{Sha256: []byte{1}}},
		"body without a hash":     {Status: ok, Body: &waymark.Body{}},
		"body out of range":       {Status: ok, ContentHash: make([]byte, 32), Body: &waymark.Body{SizeBytes: 1 << 63}},
		"attribute missing":       {Status: ok, Attributes: map[string]*waymark.Attribute{"mode": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			request := &waymark.PushRequest{Resources: []*waymark.Resource{{Status: ok}, r}}
			if _, _, err := convert.FromWaymark(request); err == nil || !strings.Contains(err.Error(), "resource 1: ") {
				t.Errorf("error %v, want one that names resource 1", err)
			}
		})
	}
}

func TestFromCoderRefuses(t *testing.T) {
	config := &coder.ContextResource_McpConfig{McpConfig: &coder.MCPConfigBody{}}
	for name, r := range map[string]*coder.ContextResource{
		"missing resource":  nil,
		"status unset":      {Body: config},
		"status unknown":    {Body: config, Status: 99},
		"body unset":        {Status: coder.ContextResource_OK},
		"size out of range": {Status: coder.ContextResource_OK, Body: config, SizeBytes: 1 << 63},
	} {
		t.Run(name, func(t *testing.T) {
			request := &coder.PushContextStateRequest{Resources: []*coder.ContextResource{r}}
			if _, err := convert.FromCoder(request); err == nil {
				t.Error("no error")
			}
		})
	}
}

// FuzzFromWaymark: whatever bytes an agent sends, the hub's side of the
// translation doesn't panic, and what it accepts survives a round trip.
func FuzzFromWaymark(f *testing.F) {
	for seed := range uint64(5) {
		data, err := proto.Marshal(pushOf(randomSnapshot(rand.New(rand.NewPCG(seed, 3)))))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var request waymark.PushRequest
		if proto.Unmarshal(data, &request) != nil {
			return
		}
		s, bodies, err := convert.FromWaymark(&request)
		if err != nil {
			return
		}
		next := &waymark.PushRequest{Version: s.Version, Head: convert.HeadToWaymark(s)}
		for i := range s.Resources {
			var named *convert.Body
			if body, has := bodies[i]; has {
				named = &body
			}
			next.Resources = append(next.Resources, convert.ResourceToWaymark(&s.Resources[i], named))
		}
		again, bodiesAgain, err := convert.FromWaymark(next)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again) + cmp.Diff(bodies, bodiesAgain); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzFromCoder does the same for Coder's wire, where only the first
// translation may lose something.
func FuzzFromCoder(f *testing.F) {
	schema, err := structpb.NewStruct(map[string]any{"type": "object", "required": []any{"q"}})
	if err != nil {
		f.Fatal(err)
	}
	data, err := proto.Marshal(&coder.PushContextStateRequest{Version: 1, Resources: []*coder.ContextResource{{
		Source: "docs", Status: coder.ContextResource_OK,
		Body: &coder.ContextResource_McpServer{McpServer: &coder.MCPServerBody{
			ServerName: "docs", Tools: []*coder.MCPTool{{Name: "search", InputSchema: schema}},
		}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var request coder.PushContextStateRequest
		if proto.Unmarshal(data, &request) != nil {
			return
		}
		s, err := convert.FromCoder(&request)
		if err != nil {
			return
		}
		if _, err := convert.ToCoder(s); err != nil && !strings.Contains(err.Error(), "nested") {
			t.Errorf("what was accepted can't be sent on: %v", err)
		}
	})
}

func randomSnapshot(rnd *rand.Rand) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Version: rnd.Uint64(), AggregateHash: randomHash(rnd), SnapshotError: randomText(rnd),
		Resources: []snapshot.Resource{}, Plugins: []snapshot.Plugin{},
		Discovery: snapshot.Discovery{Phase: []snapshot.Phase{"", snapshot.PhasePending, snapshot.PhaseComplete}[rnd.IntN(3)]},
	}
	for range rnd.IntN(3) {
		s.Discovery.Sources = append(s.Discovery.Sources, snapshot.SourceOutcome{
			ID: randomText(rnd), Name: randomText(rnd), Outcome: snapshot.OutcomeNeedsApproval, Error: randomText(rnd),
		})
	}
	for i := range rnd.IntN(6) {
		r := randomResource(rnd, i)
		s.PayloadBytes += int64(len(r.Payload))
		s.Resources = append(s.Resources, r)
	}
	for range rnd.IntN(3) {
		s.Plugins = append(s.Plugins, snapshot.Plugin{
			Name: randomText(rnd), Version: randomText(rnd), Digest: randomText(rnd), Path: randomText(rnd),
			State: snapshot.PluginReady, Error: randomText(rnd), Resolvers: randomList(rnd),
		})
	}
	return s
}

func randomResource(rnd *rand.Rand, i int) snapshot.Resource {
	kinds := []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindMCPConfig, abi.KindHook, abi.KindPlugin}
	statuses := []snapshot.Status{
		snapshot.StatusOK, snapshot.StatusOversize, snapshot.StatusUnreadable, snapshot.StatusInvalid, snapshot.StatusExcluded,
	}
	r := snapshot.Resource{
		Kind: kinds[rnd.IntN(len(kinds))], Source: fmt.Sprintf("/w/%d", i), Key: randomText(rnd),
		SourcePath: randomText(rnd), Name: randomText(rnd), Description: randomText(rnd),
		Status: statuses[rnd.IntN(len(statuses))], Error: randomText(rnd), Stale: rnd.IntN(2) == 0,
		ContentHash: randomHash(rnd), SizeBytes: rnd.Int64N(1 << 40), Resolver: randomText(rnd),
	}
	if rnd.IntN(2) == 0 {
		r.Attributes = snapshot.Attributes{
			"globs": {List: randomList(rnd)}, "mode": {Text: randomText(rnd)},
		}
	}
	if rnd.IntN(2) == 0 {
		r.Convention, r.Scope, r.Readers = randomText(rnd), snapshot.Scope(randomText(rnd)), []string{"", randomText(rnd)}
		r.Findings = []snapshot.Finding{{Code: randomText(rnd), Severity: abi.Severity(randomText(rnd)), Message: randomText(rnd)}, {}}
	}
	if r.Kind != abi.KindMCPConfig && rnd.IntN(4) > 0 {
		r.Payload = []byte(randomText(rnd) + "\x00\xff"[:rnd.IntN(3)])
	}
	return r
}

// onlyWhatCoderCarries drops what that wire has no room for.
func onlyWhatCoderCarries(s *snapshot.Snapshot) *snapshot.Snapshot {
	kept := []snapshot.Resource{}
	s.PayloadBytes, s.Plugins, s.Discovery = 0, []snapshot.Plugin{}, snapshot.Discovery{}
	for _, r := range s.Resources {
		if !convert.KnownToCoder(r.Kind) {
			continue
		}
		r.Key, r.Resolver, r.Stale, r.Attributes = "", "", false, nil
		r.ClearFacts()
		if r.Kind != abi.KindSkill {
			r.Name, r.Description = "", ""
		}
		switch { // no payload and an empty one are the same on this wire
		case r.Kind == abi.KindMCPConfig:
		case r.Status == snapshot.StatusOK && len(r.Payload) == 0:
			r.Payload = []byte{}
		case len(r.Payload) == 0:
			r.Payload = nil
		}
		s.PayloadBytes += int64(len(r.Payload))
		kept = append(kept, r)
	}
	s.Resources = kept
	return s
}

func randomHash(rnd *rand.Rand) snapshot.Hash {
	if rnd.IntN(3) == 0 {
		return nil
	}
	hash := make(snapshot.Hash, 32)
	for i := range hash {
		hash[i] = byte(rnd.Uint32())
	}
	return hash
}

func randomText(rnd *rand.Rand) string {
	texts := []string{"", "a", "ä\n\t", "line one\nline two", "\x00", strings.Repeat("x", 100), "日本語"}
	return texts[rnd.IntN(len(texts))]
}

func randomList(rnd *rand.Rand) []string {
	list := []string{}
	for range rnd.IntN(3) {
		list = append(list, randomText(rnd))
	}
	return list
}
