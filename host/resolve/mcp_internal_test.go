package resolve

import (
	"encoding/json"
	"strings"
	"testing"
)

// marker stands where a configuration has values.
const marker = "s3cr3t"

func TestExplainMCP(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "invalid JSON in line 1: unexpected end",
		" \n ":                      "invalid JSON in line 2: unexpected end",
		`{"mcpServers": {"a": {}}}`: "not a valid MCP configuration", // nothing is wrong that this package knows of
		`{"mcpServers": 1}`:         "mcpServers is a number, not an object",
		`{"mcpServers": 1, "x": [}`: "invalid JSON in line 1: a value is expected",
	} {
		if got := explainMCP(".mcp.json", []byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzExplainMCP: no value of a configuration is repeated, however broken it
// is. The marker stands in values alone: the name of a server may be shown.
func FuzzExplainMCP(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers": {"github": {"env": {"T": "V"}}}}`, `{"mcpServers": {"github": "V"}}`, `{"mcpServers": ["V"]}`, `"V"`, `V`,
		`{"mcpServers": {"a": "V", "b": {"c": "V"`, "{\n'T': 'V'}", `{"a": "V\x"}`, "\ufeff{}", `{} V`, `{"mcpServers": null} "V"`,
		`{"mcpServers": {"a": {"b": "V",}}}`, "{\"a\": \"V\n\"}", "{\"a\": \"V\xff\"}", `[[[[V`, `{"a": V}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		text := strings.ReplaceAll(string(data), "V", marker)
		got := explainMCP(".mcp.json", []byte(text))
		if strings.Contains(got, marker) && !serverNames(text) {
			t.Errorf("%q is explained as %q", text, got)
		}
		if got == "" || len(got) > 400 || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("%q is explained as %q", text, got)
		}
	})
}

// serverNames reports whether the marker stands in a place where servers have
// their names. Only valid JSON has such places.
func serverNames(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	depth, key, named := 0, true, false
	for {
		tok, err := dec.Token()
		if err != nil {
			return named
		}
		switch tok {
		case json.Delim('{'):
			depth, key = depth+1, true
			continue
		case json.Delim('}'):
			depth, key = depth-1, true
			continue
		case json.Delim('['), json.Delim(']'):
			key = true
			continue
		}
		if s, ok := tok.(string); ok && depth == 2 && key && strings.Contains(s, marker) {
			named = true
		}
		key = !key || depth == 0
	}
}
