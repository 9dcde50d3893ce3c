package mcpserving_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"waymark/internal/mcpserving"
	"waymark/test/testenv"
)

func TestMend(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                   `{"type":"object"}`,
		`{ }`:                                `{"type":"object"}`,
		` {"a" : 1 }`:                        `{"a":1,"type":"object"}`,
		`{"type": "\u006fbject", "z": 1.50}`: `{"type": "\u006fbject", "z": 1.50}`,
		`{"type":["object","null"],"properties":{"a":true,"b":[],"c":{"required":true,"type":"string"}},"required":["a",1]}`: `{"properties":{"a":{},"b":{},"c":{"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":[],"required":null,"$schema":7}`:                                                      `{"type":"object"}`,
		`{"anyOf":[{"required":["a"]}],"x":12345678901234567890123}`:                                                         `{"required":["a"],"type":"object","x":12345678901234567890123}`,
		`7`:                                ``,
		`null`:                             ``,
		`{"type":"string"}`:                ``,
		`{"type":["array"]}`:               ``,
		`{"type":"object","a":1,"type":7}`: ``,
		`{"type":"object","properties":7}`: ``,
		`{"type":"object","properties":{"a":"no type"}}`:              ``,
		`{"type":"object","properties":{"a":{"properties":{"b":7}}}}`: ``,
		`{"anyOf":[{"type":"string"},{"type":"array"}]}`:              ``,
		// What the APIs of models refuse.
		`{"type":"object","properties":{"a":"string","b":false}}`:                                                                                                                             `{"properties":{"a":{"type":"string"},"b":{"not":{}}},"type":"object"}`,
		`{"type":"OBJECT","properties":{"a":{"type":"int"},"b":{"type":["str","any",null]},"c":{"type":"any"},"d":{"type":"Dict","properties":[]}}}`:                                          `{"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{},"d":{"type":"object"}},"type":"object"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`: `{"properties":{"a":{"exclusiveMinimum":0,"maximum":9,"type":"number"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"int"},true],"additionalItems":false}}}`:                                                                         `{"properties":{"a":{"items":{"not":{}},"prefixItems":[{"type":"integer"},{}],"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"enum":[],"description":null,"minLength":"3","maxLength":-1,"pattern":7,"format":"date","default":null}},"required":["a","a"]}`:                  `{"properties":{"a":{"default":null,"format":"date"}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"},"b":{"$ref":"#/$defs/b"},"c":{"$ref":"https://example.com/c"}},"$defs":{"b":{"type":"bool"}}}`:                            `{"$defs":{"b":{"type":"boolean"}},"properties":{"a":{},"b":{"$ref":"#/$defs/b"},"c":{}},"type":"object"}`,
		`{"type":"object","oneOf":[{"properties":{"a":{"type":"string"},"k":{"const":1}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"const":2}},"required":["b","k"]}]}`: `{"properties":{"a":{"type":"string"},"b":{"type":"string"},"k":{"anyOf":[{"const":1},{"const":2}]}},"required":["k"],"type":"object"}`,
		`{"allOf":[{"$ref":"#/definitions/a"},{"properties":{"b":{}},"required":["b"]}],"definitions":{"a":{"type":"object","properties":{"a":{}},"required":["a"]}}}`:                        `{"definitions":{"a":{"properties":{"a":{}},"required":["a"],"type":"object"}},"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`,
		`{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"next":{"$ref":"#/$defs/In"}}}}}`:                                                                                  `{"$defs":{"In":{"properties":{"next":{"$ref":"#/$defs/In"}},"type":"object"}},"properties":{"next":{"$ref":"#/$defs/In"}},"type":"object"}`,
		`{"type":"object","not":{"required":["a"]},"enum":[{}],"properties":{"x<&>":{"type":"string","description":"<b> & \u2028"}}}`:                                                         "{\"properties\":{\"x<&>\":{\"description\":\"<b> & \\u2028\",\"type\":\"string\"}},\"type\":\"object\"}",
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"properties":{"a":{}}}]}`:                                                                                             `{"properties":{"a":{}},"type":"object"}`,
		// What all take.
		`{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["string","null"],"nullable":true}},"$schema":"http://json-schema.org/draft-07/schema#"}`: `{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["string","null"],"nullable":true}},"$schema":"http://json-schema.org/draft-07/schema#"}`,
	} {
		if got, wrong := mcpserving.Mend(json.RawMessage(in)); string(got) != want || (len(wrong) == 0) != (in == want) {
			t.Errorf("%s: %s %q, want %s", in, got, wrong, want)
		} else if got != nil {
			compiles(t, []byte(in), got)
		}
	}
	for in, want := range map[string]bool{
		`{"title":"x","destructiveHint":true,"x":[]}`: true,
		`{"title":1}`: false, `{"READONLYHINT":"x"}`: false, `{"openWorldHint":null}`: false, `[]`: false,
	} {
		if got := mcpserving.Annotations(json.RawMessage(in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

var meta = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("https://json-schema.org/draft/2020-12/schema")
})

// TestRandom mends schemas of whatever keywords and values.
func TestRandom(t *testing.T) {
	t.Parallel()
	r := testenv.Rand(t)
	keys := []string{
		"type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions", "enum", "const", "not", "if", "minimum", "exclusiveMinimum", "multipleOf",
		"minLength", "pattern", "description", "additionalProperties", "additionalItems", "prefixItems", "patternProperties", "dependentRequired", "dependencies", "dependentSchemas", "$schema", "$id",
		"$anchor", "default", "examples", "uniqueItems", "propertyNames", "unevaluatedProperties", "contains", "x-own", "id", "title",
	}
	var value func(depth int) any
	schema := func(depth int) map[string]any {
		s := map[string]any{}
		for range r.IntN(5) {
			s[keys[r.IntN(len(keys))]] = value(depth - 1)
		}
		if r.IntN(3) > 0 {
			s["type"] = []string{"object", "string", "int", "any", "array"}[r.IntN(5)]
		}
		return s
	}
	value = func(depth int) any {
		switch n := r.IntN(14); {
		case depth <= 0 || n < 6:
			return []any{nil, true, false, 0, -1, 1.5, "string", "#/$defs/a", "#", "object", []any{}, []any{"a", "a"}, "http://json-schema.org/draft-04/schema#"}[r.IntN(13)]
		case n < 9:
			return schema(depth)
		case n < 11:
			return []any{schema(depth), value(depth - 1)}
		}
		return map[string]any{"a": schema(depth), "b": value(depth - 1)}
	}
	mended := 0
	for range 3000 {
		top := schema(5)
		top["type"] = "object"
		raw, err := json.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		got, wrong := mcpserving.Mend(raw)
		if got == nil {
			continue
		}
		mended++
		compiles(t, raw, got)
		if again, more := mcpserving.Mend(got); string(again) != string(got) || len(more) > 0 {
			t.Errorf("%s becomes %s %q, and that %s %q", raw, got, wrong, again, more)
		}
	}
	if mended < 300 {
		t.Errorf("only %d schemas are mended", mended)
	}
}

// compiles holds what is mended to the newest draft's own schema, as models' APIs do.
func compiles(t *testing.T, raw, got []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	object := v.(map[string]any)
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} {
		if _, there := object[key]; there {
			t.Errorf("%q becomes %q, with %s at its top", raw, got, key)
		}
	}
	delete(object, "$schema") // one of a draft that every reader takes
	if err := meta().Validate(object); err != nil {
		t.Errorf("%q becomes %q, which isn't a schema: %v", raw, got, err)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for in, want := range map[string]string{
		"github__get-issue_2":                 "github__get-issue_2",
		"a__files.read":                       "a__files_read_",
		"a__files/read":                       "a__files_read_",
		"a__größe":                            "a__gr__e_",
		"a__" + strings.Repeat("x", 47):       "a__" + strings.Repeat("x", 47),
		"a__" + strings.Repeat("x", 48):       "a__" + strings.Repeat("x", 38) + "_",
		"a__" + strings.Repeat("x", 48) + ".": "a__" + strings.Repeat("x", 38) + "_",
		"":                                    "_",
	} {
		got := mcpserving.Name(in)
		if !strings.HasPrefix(got, want) || (got == in) != (in == want) || len(got) > 50 || seen[got] || mcpserving.Name(got) != got {
			t.Errorf("%s is offered as %s, want %s", in, got, want)
		}
		seen[got] = true
	}
}

// FuzzMend: what is mended is a schema of an object, and nothing of it is wrong.
func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"properties":[],"required":{}},"a":null},"required":[1],"$schema":{}}`))
	f.Add([]byte(`{"properties":{"":{}},"\ud800":1e400}`))
	f.Add([]byte(`{"oneOf":[{"$ref":"#/$defs/a"},{"properties":{"b":{"type":"int","items":[true]}},"required":["b"]}],"$defs":{"a":{"allOf":[{"$ref":"#"}],"enum":[]}}}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/properties/b/items"},"b":{"items":[],"minimum":1,"exclusiveMinimum":true,"if":false,"multipleOf":0,"dependentRequired":[]}}}`))
	f.Add([]byte("{\"type\":\"object\",\"\xff\":1,\"properties\":{\"\xff\":true}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, wrong := mcpserving.Mend(raw)
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
		compiles(t, raw, got)
		if again, wrong := mcpserving.Mend(got); len(wrong) > 0 || string(again) != string(got) {
			t.Errorf("%q becomes %q, and that %q: %q", raw, got, again, wrong)
		}
	})
}
