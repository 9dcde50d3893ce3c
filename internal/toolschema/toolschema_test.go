package toolschema_test

import (
	"encoding/json"
	"testing"

	"waymark/internal/toolschema"
)

func TestMend(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                   `{"type":"object"}`,
		`7`:                                  `{"type":"object"}`,
		`{}`:                                 `{"type":"object"}`,
		`{ }`:                                `{"type":"object"}`,
		` {"a" : 1 }`:                        `{"type":"object","a" : 1 }`,
		`{"type": "\u006fbject", "z": 1.50}`: `{"type": "\u006fbject", "z": 1.50}`,
		`{"type":["object"],"properties":{"a":true,"b":false,"c":{"required":true,"type":"string"}},"required":["a",1]}`: `{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"string"}},"required":["a"]}`,
		`{"type":"object","properties":{"x-mcp-header":{"type":"string","x-mcp-header":"A"}}}`:                           `{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`,
		`{"type":"object","a":1,"type":7}`: `{"type":"object","a":1}`,
	} {
		if got, _ := toolschema.Mend(json.RawMessage(in)); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	got, wrong := toolschema.Annotations(json.RawMessage(`{"title":1,"READONLYHINT":"x","destructiveHint":true,"x":[]}`))
	if string(got) != `{"destructiveHint":true,"x":[]}` || len(wrong) != 2 {
		t.Errorf("%s %q", got, wrong)
	}
}

// FuzzMend: what is mended is a schema of an object, and nothing of it is wrong.
func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"properties":[],"required":{}},"a":null},"required":[1],"$schema":{}}`))
	f.Add([]byte(`{"properties":{"":{"x-mcp-header":1}},"\ud800":1e400}`))
	f.Add([]byte("{\"type\":\"object\",\"\xff\":1,\"properties\":{\"\xff\":true}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _ := toolschema.Mend(raw)
		var m map[string]any
		if err := json.Unmarshal(got, &m); err != nil || m["type"] != "object" {
			t.Fatalf("%q becomes %q: %v", raw, got, err)
		}
		_, properties := m["properties"].(map[string]any)
		if _, there := m["properties"]; there != properties {
			t.Errorf("%q becomes %q", raw, got)
		}
		if again, wrong := toolschema.Mend(got); len(wrong) > 0 || string(again) != string(got) {
			t.Errorf("%q becomes %q, and that %q: %q", raw, got, again, wrong)
		}
	})
}
