package conform

import (
	"path"
	"strings"
	"unicode/utf16"
)

// badContent is a content that a resolver should get over, by the file's path.
type badContent struct {
	name string
	text func(path string) string
}

// badContents are the contents that files have in the wild, or in an attack.
func badContents() []badContent {
	fixed := func(text string) func(string) string { return func(string) string { return text } }
	matter := func(lines string) func(string) string {
		return func(p string) string { return "---\nname: " + nameOf(p) + "\n" + lines + "\n---\n\nText.\n" }
	}
	return []badContent{
		{"content-empty", fixed("")},
		{"content-blank", fixed("\n \n\t\n\n")},
		{"content-nul", fixed(strings.Repeat("\x00", 4096))},
		{"content-binary", fixed(binary())},
		{"content-latin1", matter("description: caf\xe9 cr\xe8me\nglobs: \"\xff\xfe\"")},
		{"content-latin1-json", fixed("{\"name\": \"caf\xe9\", \"description\": \"\xff\xfe\"}\n")},
		{"content-latin1-heading", fixed("# Caf\xe9 \xff\xfe\n\nText.\n")},
		{"content-utf16", func(p string) string { return inUTF16(sampleText(p, "Sample")) }},
		{"content-bom-crlf", func(p string) string {
			return "\uFEFF" + strings.ReplaceAll(sampleText(p, "Sample"), "\n", "\r\n")
		}},
		{"content-control", matter("description: \"\\x00\\x1b[31m \u202e\u200b\U000e0041\"")},
		{"content-nul-in-text", func(p string) string { return strings.Replace(sampleText(p, "Sample"), "Sample", "Sam\x00ple", 2) }},
		{"matter-open", fixed("---\nname: open\ndescription: it never ends\n")},
		{"matter-only", fixed("---\n---")},
		{"matter-one-line", fixed("---")},
		{"matter-bad-yaml", matter("description: [unclosed\n\t- tab\n  : : :\nglobs: **/*.ts, *.go\n&x *y !!z")},
		{"matter-wrong-types", matter("description: [a, {b: c}]\nglobs: {x: 1}\napplyTo: 42\nalwaysApply: maybe\nversion: 1e999999")},
		{"matter-null", matter("description: null\nglobs:\napplyTo: ~\nalwaysApply:")},
		{"matter-list", fixed("---\n- a\n- b\n---\n")},
		{"matter-laughs", matter(laughs())},
		{"matter-deep", matter("description: " + strings.Repeat("[", 2000))},
		{"long-description", matter("description: " + strings.Repeat("long ", 4000))},
		{"long-name", func(p string) string {
			if ext := path.Ext(p); ext == ".json" || ext == ".jsonc" {
				return `{"name": "` + strings.Repeat("n", 5000) + `"}`
			}
			return "---\nname: " + strings.Repeat("n", 5000) + "\ndescription: x\n---\n"
		}},
		{"long-attributes", matter("globs: \"" + strings.Repeat("**/*.ts,", 4000) + "\"\napplyTo: \"" + strings.Repeat("**/*.ts,", 4000) + "\"")},
		{"long-line", fixed(strings.Repeat("word ", 12_000))},
		{"long-matter", matter("other: |" + strings.Repeat("\n  "+strings.Repeat("x", 98), 900))},
		{"json-deep", fixed(strings.Repeat("[", 20_000))},
		{"json-deep-object", fixed(strings.Repeat(`{"mcpServers":`, 5000))},
		{"json-twice", fixed(`{"name":"a","name":"b","mcpServers":{},"mcpServers":[]}`)},
		{"json-array", fixed("[]\n")},
		{"json-scalar", fixed("1e400\n")},
		{"json-wrong-types", fixed(`{"name":1,"description":[],"mcpServers":{"a":1,"b":null}}`)},
		{"json-cut", fixed(`{"name":"a","mcpServers":{"x":{"command":"\ud800`)},
	}
}

// binary holds every byte, in no order of a text's.
func binary() string {
	b := make([]byte, 8192)
	for i := range b {
		b[i] = byte(i * 167 >> 3)
	}
	return string(b)
}

func inUTF16(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u&0xff), byte(u>>8))
	}
	return string(b)
}

// laughs is YAML that multiplies a billionfold where aliases are expanded.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol]\n")
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + to + ": &a" + to + " [" + strings.TrimSuffix(strings.Repeat("*a"+from+", ", 9), ", ") + "]\n")
	}
	b.WriteString("description: *a9")
	return b.String()
}
