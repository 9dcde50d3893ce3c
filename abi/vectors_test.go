package abi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"waymark/abi"
)

// documents are the three kinds of text that cross the border.
var documents = []struct {
	name   string
	schema string
	value  func() any
}{
	{"description", schemaOf("description"), func() any { return new(abi.Description) }},
	{"request", schemaOf("request"), func() any { return new(abi.Request) }},
	{"response", schemaOf("response"), func() any { return new(abi.Response) }},
}

func schemaOf(what string) string {
	text, err := os.ReadFile("schema/" + what + ".schema.json")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func compile(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func vectors(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "v1", dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors in %s (%v)", dir, err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestValidVectors(t *testing.T) {
	for _, d := range documents {
		s := compile(t, d.schema)
		for name, text := range vectors(t, d.name) {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				if err := validate(s, text); err != nil {
					t.Fatal(err)
				}
				roundTrip(t, s, text, d.value, strings.HasPrefix(name, "unknown-"))
			})
		}
	}
}

// roundTrip says that the Go types hold everything that a document says,
// except unknown fields.
func roundTrip(t *testing.T, s *jsonschema.Schema, text []byte, value func() any, unknown bool) {
	t.Helper()
	first, second := value(), value()
	if err := json.Unmarshal(text, first); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(s, again); err != nil {
		t.Errorf("encoded again: %v", err)
	}
	if err := json.Unmarshal(again, second); err != nil || !equalJSON(t, mustMarshal(t, second), again) {
		t.Errorf("decoded again: %+v, %v", second, err)
	}
	if !unknown && !equalJSON(t, text, again) {
		t.Errorf("got %s\nof  %s", again, text)
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestInvalidVectors(t *testing.T) {
	outcomes := map[string][]string{
		"description": {"module_rejected"},
		"request":     {"refused"},
		"response":    {"run_fails", "row_dropped"},
	}
	for _, d := range documents {
		s := compile(t, d.schema)
		files := vectors(t, d.name+"/invalid")
		var index map[string]struct {
			CaughtBy string `json:"caught_by"`
			Outcome  string `json:"outcome"`
			Reason   string `json:"reason"`
		}
		if err := json.Unmarshal(files["index.json"], &index); err != nil {
			t.Fatal(err)
		}
		delete(files, "index.json")
		for name := range index {
			if files[name] == nil {
				t.Errorf("%s: the index names %s, which doesn't exist", d.name, name)
			}
		}
		for name, text := range files {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				entry := index[name]
				if entry.Reason == "" || !strings.Contains(strings.Join(outcomes[d.name], " "), entry.Outcome) {
					t.Errorf("the index says %+v", entry)
				}
				if got := caughtBy(s, text); got != entry.CaughtBy {
					t.Errorf("caught by %s, the index says %s", got, entry.CaughtBy)
				}
			})
		}
	}
}

func caughtBy(s *jsonschema.Schema, text []byte) string {
	if !jsontext.Value(text).IsValid() { // strict: duplicate keys, UTF-8, surrogates, depth
		return "json"
	}
	if validate(s, text) != nil {
		return "schema"
	}
	return "host"
}
