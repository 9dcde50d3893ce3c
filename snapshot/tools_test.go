package snapshot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/snapshot"
)

// server is an mcp_server with tools of that many bytes each.
func server(name string, sizes ...int) snapshot.Candidate {
	var tools []json.RawMessage
	for i, size := range sizes {
		frame := fmt.Sprintf(`{"name":"t%d","description":""}`, i)
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":"t%d","description":"%s"}`, i, strings.Repeat("x", max(size-len(frame), 0)))))
	}
	return snapshot.Candidate{
		Resource: snapshot.Resource{
			Kind: abi.KindMCPServer, Source: "/w/.mcp.json", Key: name, Name: name, Status: snapshot.StatusOK,
			Payload: snapshot.ToolsPayload(tools), Attributes: snapshot.Attributes{"state": {Text: "running"}},
		},
		Rank: 100, Provided: true,
	}
}

func toolsOf(t *testing.T, r *snapshot.Resource) (names []string) {
	t.Helper()
	var list struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	if err := json.Unmarshal(r.Payload, &list); err != nil {
		t.Fatalf("%s: %v in %.200s", r.ID(), err, r.Payload)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsPayload(t *testing.T) {
	for n := range 4 {
		tools := make([]json.RawMessage, n)
		for i := range tools {
			tools[i] = json.RawMessage(strings.Repeat("7", i+1))
		}
		var list struct{ Tools []json.RawMessage }
		if payload := snapshot.ToolsPayload(tools); json.Unmarshal(payload, &list) != nil || len(list.Tools) != n {
			t.Errorf("%d tools: %s", n, payload)
		}
	}
}

func TestTrimTools(t *testing.T) {
	c := server("a", 100, 500, 100, 100)
	whole := c.Payload
	shared := c.Attributes
	if !c.TrimTools(int64(len(whole))) || len(c.Payload) != len(whole) || len(c.Attributes) != 1 {
		t.Fatal("what fits was trimmed")
	}
	for limit := range int64(len(whole)) {
		c.Payload, c.Attributes, c.ContentHash = whole, shared, nil
		if !c.TrimTools(limit) {
			if limit > 112 || len(c.Payload) != len(whole) {
				t.Fatalf("limit %d: not one tool is kept", limit)
			}
			continue
		}
		names := toolsOf(t, &c.Resource)
		if int64(len(c.Payload)) > limit || len(names) == 0 || len(c.ContentHash) == 0 {
			t.Fatalf("limit %d: %d bytes, %v", limit, len(c.Payload), names)
		}
		want := fmt.Sprintf("%d of 4 tools", 4-len(names))
		if got := c.Attributes[snapshot.AttributeTrimmed].Text; !strings.HasPrefix(got, want) || c.Attributes[snapshot.AttributeTools].Text != "4" {
			t.Fatalf("limit %d: it says %q of %v", limit, got, names)
		}
	}
	if len(shared) != 1 {
		t.Error("the caller's attributes were changed")
	}

	// What comes after a large one may still fit, and a second time counts all.
	c.Payload, c.Attributes = whole, shared
	c.TrimTools(400)
	if got := fmt.Sprint(toolsOf(t, &c.Resource)); got != "[t0 t2 t3]" {
		t.Errorf("kept %s", got)
	}
	first := c.ContentHash.String()
	c.TrimTools(150)
	if got := c.Attributes[snapshot.AttributeTrimmed].Text; !strings.HasPrefix(got, "3 of 4") || c.ContentHash.String() == first {
		t.Errorf("after the second time it says %q, hash %s", got, c.ContentHash)
	}
}

func TestTrimToolsOfSomethingElse(t *testing.T) {
	for name, r := range map[string]snapshot.Resource{
		"an instruction": {Kind: abi.KindInstructionFile, Payload: []byte(`{"tools":[{"name":"a"},{"name":"b"}]}`)},
		"no list":        {Kind: abi.KindMCPServer, Payload: []byte(strings.Repeat("x", 100))},
		"no payload":     {Kind: abi.KindMCPServer},
	} {
		before := string(r.Payload)
		if r.TrimTools(30) || string(r.Payload) != before || r.Attributes != nil {
			t.Errorf("%s was trimmed to %s", name, r.Payload)
		}
	}
}

// TestAServerTooLargeKeepsTools: the caps of one resource and of all take tools,
// not servers.
func TestAServerTooLargeKeepsTools(t *testing.T) {
	in := []snapshot.Candidate{server("a", 300, 300, 300, 300), server("b", 300, 300, 300), server("c", 60)}
	resources, notes := snapshot.Assemble(in, snapshot.Caps{MaxResourceBytes: 930, ProvidedBytes: 1600})
	var got []string
	for i := range resources {
		got = append(got, fmt.Sprint(resources[i].Status, len(toolsOf(t, &resources[i]))))
	}
	// a is trimmed by the cap of one, b by that of all, and c has still room.
	if fmt.Sprint(got) != "[ok3 ok2 ok1]" || len(notes) > 0 {
		t.Errorf("got %v, notes %+v", got, notes)
	}
}

// TestProvidedComesLast: however many servers there are, and however much they
// have to say, a workspace's own files are all there.
func TestProvidedComesLast(t *testing.T) {
	var in []snapshot.Candidate
	for i := range 300 {
		in = append(in, server(fmt.Sprintf("%03d", i), 20_000, 20_000, 20_000))
	}
	alone, _ := snapshot.Assemble(in, snapshot.Caps{})
	for i := range 40 {
		in = append(in, find(abi.KindInstructionFile, fmt.Sprintf("/w/%02d/AGENTS.md", i), payload(40_000)))
	}
	resources, notes := snapshot.Assemble(in, snapshot.Caps{})
	var provided, own int64
	servers := map[snapshot.Status]int{}
	for i := range resources {
		r := &resources[i]
		if r.Kind == abi.KindMCPServer {
			provided += int64(len(r.Payload))
			servers[r.Status]++
			continue
		}
		if own += int64(len(r.Payload)); r.Status != snapshot.StatusOK {
			t.Errorf("%s is %s: %s", r.ID(), r.Status, r.Error)
		}
	}
	if own != 40*40_000 || own+provided > snapshot.DefaultMaxBytes || provided == 0 {
		t.Errorf("own %d bytes, provided %d", own, provided)
	}
	if servers[snapshot.StatusExcluded] == 0 || len(notes) != servers[snapshot.StatusExcluded] {
		t.Errorf("servers: %v, %d notes", servers, len(notes))
	}

	provided = 0
	for i := range alone {
		provided += int64(len(alone[i].Payload))
	}
	if provided > snapshot.DefaultProvidedBytes || provided < snapshot.DefaultProvidedBytes*9/10 {
		t.Errorf("alone they have %d bytes of the %d that are theirs", provided, snapshot.DefaultProvidedBytes)
	}
}
