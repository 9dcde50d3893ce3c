package frontmatter_test

import (
	"testing"

	"go.yaml.in/yaml/v4"

	"waymark/sdk-guest/frontmatter"
)

const (
	other = frontmatter.Other
	str   = frontmatter.String
	null  = frontmatter.Null
)

func TestScanSure(t *testing.T) {
	tests := []struct {
		line, value string
		typ         frontmatter.Type
	}{
		{"k: foo", "foo", str},
		{"k:  foo bar  ", "foo bar", str},
		{"k: http://x/#y", "http://x/#y", str},
		{"k: a:b, c#d [e] {f} \"g\" 'h' & * ! | > % @", "a:b, c#d [e] {f} \"g\" 'h' & * ! | > % @", str},
		{"k: trueish", "trueish", str},
		{"k: été 😀", "été 😀", str},
		{`k: "a: b # c"`, "a: b # c", str},
		{`k: 'a "b" \n'`, `a "b" \n`, str},
		{`k: " x "  `, " x ", str},
		{`k: ""`, "", str},
		{`k: "true"`, "true", str},
		{"k:", "", null},
		{"k:   ", "", null},
		{"k: ~", "~", null},
		{"k: null", "null", null},
		{"k: true", "true", other},
		{"k: Off", "Off", other},
		{"k: 1.0.0", "1.0.0", other},
		{"k: 0x1f", "0x1f", other},
		{"k: +1", "+1", other},
		{"k: .inf", ".inf", other},
		{"k: 2001-01-01", "2001-01-01", other},
		{"k: <<", "<<", other},
	}
	for _, tt := range tests {
		fields, sure := frontmatter.Scan([]byte(tt.line + "\r\n"))
		if !sure || len(fields) != 1 {
			t.Errorf("%q: unsure", tt.line)
			continue
		}
		if f := fields[0]; f.Key != "k" || f.Value != tt.value || f.Type != tt.typ {
			t.Errorf("%q: got %+v, want %q of type %d", tt.line, f, tt.value, tt.typ)
		}
	}
}

var unsureBlocks = []string{
	"k: a: b", "k: a # b", "k: a:", "k: # b", "# comment", "k: \"a\\n\"", "k: 'it''s'", "k: \"a\" b", "k: \"a", "k: 'a",
	"k: [a]", "k: {a: b}", "k: - a", "k: |", "k: >-", "k: &a b", "k: *a", "k: !!str 1", "k: ? a", "k: %a", "k: @a", "k: `a", "k: , a",
	"k: -1", "- a", "k:\n- a", "k:\n  - a", "k:\n  a: b", "k: a\n  b", " k: a", "\tk: a", "k:\ta", "k: a\tb", "k:v", "k v", "k",
	"k: a\nk: b", "? k\n: v", "\"k\": a", "1: a", "a b: c", "true: a", "No: a", "<<: a", "k: \xff", "k: a\x00", "k: a\rb", "k: \u0085", "k: a\u2028b",
	"k: \ufeff", "...", "--- a", "%YAML 1.2",
}

func TestScanUnsure(t *testing.T) {
	for _, block := range unsureBlocks {
		if fields, sure := frontmatter.Scan([]byte(block)); sure {
			t.Errorf("%q: sure of %+v", block, fields)
		}
	}
}

func TestScanBlock(t *testing.T) {
	fields, sure := frontmatter.Scan([]byte("name: foo\n\nversion: 1.2\n   \nuser-invocable: true\ndescription: A thing.\n"))
	if !sure || len(fields) != 4 {
		t.Fatalf("got %+v, %v", fields, sure)
	}
	if f := frontmatter.Lookup(fields, "description"); f == nil || f.Value != "A thing." || f.Type != str {
		t.Errorf("description: %+v", f)
	}
	if f := frontmatter.Lookup(fields, "missing"); f != nil {
		t.Errorf("missing: %+v", f)
	}
	if fields, sure := frontmatter.Scan(nil); !sure || len(fields) != 0 {
		t.Errorf("an empty block: %+v, %v", fields, sure)
	}
}

// FuzzScan holds the guarantee: whenever Scan is sure, a YAML library agrees.
func FuzzScan(f *testing.F) {
	for _, block := range unsureBlocks {
		f.Add([]byte(block))
	}
	f.Add([]byte("name: foo\ndescription: A thing.\n\nversion: 1.2\n"))
	f.Add([]byte("a: \"x\"\nb: 'y'\r\nc:\nd: ~\ne: .5\nf: a:b#c\n"))
	f.Fuzz(func(t *testing.T, block []byte) {
		if _, _, err := frontmatter.Find(append([]byte("---\n"), block...), true); err == nil {
			return // the block holds a delimiter, so it can't be one
		}
		fields, sure := frontmatter.Scan(block)
		if !sure {
			return
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(block, &doc); err != nil {
			t.Fatalf("%q: sure of %+v, but %v", block, fields, err)
		}
		if len(fields) == 0 {
			if len(doc.Content) != 0 && doc.Content[0].ShortTag() != "!!null" {
				t.Fatalf("%q: sure of nothing, but it is %+v", block, doc.Content[0])
			}
			return
		}
		if m := doc.Content[0]; m.Kind != yaml.MappingNode || len(m.Content) != 2*len(fields) {
			t.Fatalf("%q: sure of %+v, but it is %+v", block, fields, m)
		}
		for i, got := range fields {
			compare(t, block, got, doc.Content[0].Content[2*i], doc.Content[0].Content[2*i+1])
		}
	})
}

func compare(t *testing.T, block []byte, f frontmatter.Field, key, value *yaml.Node) {
	t.Helper()
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Value != f.Key {
		t.Fatalf("%q: key %q is %+v", block, f.Key, key)
	}
	if value.Kind != yaml.ScalarNode || value.Value != f.Value {
		t.Fatalf("%q: %+v is %+v", block, f, value)
	}
	switch tag := value.ShortTag(); f.Type {
	case frontmatter.String:
		if tag != "!!str" {
			t.Fatalf("%q: %+v is a %s", block, f, tag)
		}
	case frontmatter.Null:
		if tag != "!!null" {
			t.Fatalf("%q: %+v is a %s", block, f, tag)
		}
	}
}
