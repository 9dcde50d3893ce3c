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
		`{ }`:                                `{"type":"object"}`,
		` {"a" : 1 }`:                        `{"a":1,"type":"object"}`,
		`{"type": "\u006fbject", "z": 1.50}`: `{"type": "\u006fbject", "z": 1.50}`,
		`{"type":["object","null"],"properties":{"a":true,"b":[],"c":{"required":true,"type":"string"}},"required":["a",1]}`: `{"properties":{"a":{},"b":{},"c":{"required":true,"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":[],"required":null,"$schema":7}`:                                                      `{"type":"object"}`,
		`{"anyOf":[{"required":["a"]}],"x":12345678901234567890123}`:                                                         `{"anyOf":[{"required":["a"]}],"type":"object","x":12345678901234567890123}`,
		`7`:                                ``,
		`null`:                             ``,
		`{"type":"string"}`:                ``,
		`{"type":["array"]}`:               ``,
		`{"type":"object","a":1,"type":7}`: ``,
		`{"type":"object","properties":7}`: ``,
		`{"type":"object","properties":{"a":"string"}}`: ``,
		`{"type":"object","properties":{"a":false}}`:    ``,
	} {
		if got, wrong := toolschema.Mend(json.RawMessage(in)); string(got) != want || (len(wrong) == 0) != (in == want) {
			t.Errorf("%s: %s %q, want %s", in, got, wrong, want)
		}
	}
	for in, want := range map[string]bool{
		`{"title":"x","destructiveHint":true,"x":[]}`: true,
		`{"title":1}`: false, `{"READONLYHINT":"x"}`: false, `{"openWorldHint":null}`: false, `[]`: false,
	} {
		if got := toolschema.Annotations(json.RawMessage(in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// FuzzMend: what is mended is a schema of an object, and nothing of it is wrong.
func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"properties":[],"required":{}},"a":null},"required":[1],"$schema":{}}`))
	f.Add([]byte(`{"properties":{"":{}},"\ud800":1e400}`))
	f.Add([]byte("{\"type\":\"object\",\"\xff\":1,\"properties\":{\"\xff\":true}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, wrong := toolschema.Mend(raw)
		if got == nil && len(wrong) > 0 {
			return // held back
		}
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
