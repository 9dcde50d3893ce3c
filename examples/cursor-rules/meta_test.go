package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGlobs(t *testing.T) {
	ts := []string{"**/*.ts", "**/*.tsx"}
	tests := []struct {
		name, block string
		want        []string
	}{
		{"unquoted, as Cursor writes it", "globs: **/*.ts,**/*.tsx", ts},
		{"with blanks", "globs: **/*.ts , **/*.tsx ,", ts},
		{"no blank after the colon", "globs:**/*.ts,**/*.tsx", ts},
		{"quoted", `globs: "**/*.ts,**/*.tsx"`, ts},
		{"each quoted", `globs: "**/*.ts", '**/*.tsx'`, ts},
		{"flow list", `globs: ["**/*.ts", '**/*.tsx']`, ts},
		{"flow list without quotes", "globs: [**/*.ts, **/*.tsx]", ts},
		{"flow list over lines", "globs: [\n  \"**/*.ts\",\n  \"**/*.tsx\",\n]", ts},
		{"block list", "globs:\n  - \"**/*.ts\"\n  - **/*.tsx", ts},
		{"block list that isn't indented", "globs:\n- **/*.ts\n- '**/*.tsx'\nalwaysApply: false", ts},
		{"CRLF", "globs: **/*.ts,**/*.tsx\r\nalwaysApply: false\r\n", ts},
		{"comments", "# scope\nglobs: **/*.ts,**/*.tsx # both", ts},
		{"braces", "globs: **/*.{ts,tsx},*.js", []string{"**/*.{ts,tsx}", "*.js"}},
		{"a class", "globs: [ab]*.ts", []string{"[ab]*.ts"}},
		{"excluded", "globs: src/**, !src/gen/**", []string{"src/**", "!src/gen/**"}},
		{"comma within quotes", `globs: ["a,b.ts", c.ts]`, []string{"a,b.ts", "c.ts"}},
		{"nothing", "globs:", []string{}},
		{"null", "globs: null", []string{}},
		{"empty text", `globs: ""`, []string{}},
		{"empty list", "globs: []", []string{}},
		{"only commas", "globs: , ,", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := readMeta([]byte(tt.block))
			if !slices.Equal(m.globs, tt.want) || len(m.warnings) > 0 {
				t.Errorf("got %q, want %q; warnings %q", m.globs, tt.want, m.warnings)
			}
		})
	}
}

func TestDescriptions(t *testing.T) {
	for block, want := range map[string]string{
		"description: Use anvils":               "Use anvils",
		"description: C#: use anvils # always":  "C#: use anvils # always",
		`description: "say \"a\\b\": now"`:      `say "a\b": now`,
		"description: 'it''s'":                  "it's",
		"description:":                          "",
		"description: null":                     "",
		"description: >-\n  one\n  two\nx: y":   "one two",
		"description: |\n  one\n\n  two":        "one two",
		"description: one\n  two":               "one two",
		"description: a\x00b\xffc":              "a b c",
		"Description: other key":                "",
		"description: first\ndescription: next": "first",
	} {
		if got := readMeta([]byte(block)).description; got != want {
			t.Errorf("%q: got %q, want %q", block, got, want)
		}
	}
}

func TestAlwaysApply(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "true # yes": true, "false": false, "": false, "null": false,
	} {
		if m := readMeta([]byte("alwaysApply: " + value)); m.always != want || len(m.warnings) > 0 {
			t.Errorf("%q: %+v", value, m)
		}
	}
	for _, value := range []string{`"true"`, "yes", "1", "[true]"} {
		if m := readMeta([]byte("alwaysApply: " + value)); m.always || len(m.warnings) != 1 {
			t.Errorf("%q: %+v, want a warning", value, m)
		}
	}
}

func TestManyGlobs(t *testing.T) {
	m := readMeta([]byte("globs: " + strings.Repeat("src/**/*.ts,", 5000)))
	if len(m.globs) != maxGlobs/len("src/**/*.ts") || len(m.warnings) != 1 {
		t.Errorf("%d globs, warnings %q", len(m.globs), m.warnings)
	}
}

func FuzzMeta(f *testing.F) {
	f.Add("description: a\nglobs: **/*.{ts,tsx}, \"x\"\nalwaysApply: true\n")
	f.Add("globs: [\"a\",\n 'b',\n]\n")
	f.Add("globs:\n- \xff\n-\n- '\n-\"\nglobs: {,}\n")
	f.Add("description: >-\n  a\n\tb\nalwaysApply: 'true'")
	f.Fuzz(func(t *testing.T, block string) {
		m := readMeta([]byte(block))
		size := 0
		for _, g := range m.globs {
			size += len(g)
			if !oneLine(g) || g == "" {
				t.Errorf("glob %q", g)
			}
		}
		if size > maxGlobs {
			t.Errorf("%d bytes of globs", size)
		}
		if !oneLine(m.description) || len(m.warnings) > 4 {
			t.Errorf("description %q, warnings %q", m.description, m.warnings)
		}
		// Whatever is read can be written so that it is read again.
		if len(m.globs) > 0 && !strings.ContainsAny(strings.Join(m.globs, ""), `"\,`) {
			again := readMeta([]byte(`globs: ["` + strings.Join(m.globs, `", "`) + `"]`))
			if !slices.Equal(again.globs, m.globs) {
				t.Errorf("first %q, again %q", m.globs, again.globs)
			}
		}
	})
}

func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsAny(s, "\n\r\x00") && strings.TrimSpace(s) == s
}
