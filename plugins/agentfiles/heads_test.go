package agentfiles_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// TestHeadsYAML holds how a program with YAML 1.2 reads front matter, without a second try.
func TestHeadsYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"---\nname: a\ndescription: Words.\n---\nbody\n":                               "a: Words.",
		"---\r\nname: a\r\ndescription: Words.\r\n---x\r\nbody\r\n":                    "a: Words.",
		"--- # comment\nname: a\ndescription: Words.\n---\n":                           "a: Words.",
		"\ufeff---\nname: a\ndescription: Words.\n---\n":                               "",
		"---\nname: a\ndescription: Words.\n":                                          "",
		"---\nname: a\ndescription: Use: it\n---\n":                                    "",
		"---\nname: a\nname: b\ndescription: Words.\n---\n":                            "",
		"---\nname: 3\ndescription: Words.\n---\n":                                     "",
		"---\nname: true\ndescription: Words.\n---\n":                                  "",
		"---\nname: .nan\ndescription: Words.\n---\n":                                  "x: Words. (nameless)",
		"---\nname: 0\ndescription: Words.\n---\n":                                     "x: Words. (nameless)",
		"---\nname: ~\ndescription: Words.\n---\n":                                     "x: Words. (nameless)",
		"---\nname: 2026-01-02\ndescription: Words.\n---\n":                            "2026-01-02: Words.",
		"---\nname: yes\ndescription: 1:30\n---\n":                                     "yes: 1:30",
		"---\nname: 1_000\ndescription: 0b11\n---\n":                                   "1_000: 0b11",
		"---\nname: a\ndescription: 1e3\n---\n":                                        "",
		"---\nname: a\ndescription: \u0085x\u0007y\n---\n":                             "a: x\u0007y",
		"---\nname: a\ndescription: Words.\ndisable-model-invocation: True\n---\n":     "a: Words. (manual)",
		"---\nname: a\ndescription: Words.\ndisable-model-invocation: \"true\"\n---\n": "a: Words.",
	} {
		resp := resolve(t, guest.Root{Name: "w"}, `{"heads": "yaml"}`, fstest.MapFS{".claude/agents/x.md": {Data: []byte(text)}})
		got := ""
		if r := resp.Resources[0]; r.Status != abi.StatusInvalid && r.Description != "" {
			got = r.Name + ": " + r.Description
			if strings.Contains(codes(r), abi.FindingNameMissing) {
				got += " (nameless)"
			}
			if r.Attributes["mode"].Text == "manual" {
				got += " (manual)"
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, not %q (%s)", text, got, want, resp.Resources[0].Error)
		}
	}
}

// TestHeadsOfOne holds how Gemini CLI (lines) and Qwen Code (qwen) read front matter.
// test/clients compares it with these programs.
func TestHeadsOfOne(t *testing.T) {
	t.Parallel()
	const prompt = "You are a good agent.\n"
	for _, c := range []struct{ heads, text, want string }{
		{"lines", "---\nname: a\ndescription: Words.\n---x\n", "a: Words."}, {"lines", "---\r\nname: a\r\ndescription: Words.\r\n---", "a: Words."},
		{"lines", "\ufeff---\nname: a\ndescription: Words.\n---\n", ""}, {"lines", "--- \nname: a\ndescription: Words.\n---\n", ""},
		{"lines", "---\nname: A\ndescription: Words.\n---\n", ""}, {"lines", "---\nname: a\ndescription: x: y\n---\n", ""}, {"lines", "---\nname: a\ndescription: Words.\ncolor: red\n---\n", ""},
		{"lines", "---\nname: a\ndescription: Words.\ntools: [read_file, \"*\", mcp_a_b]\nmax_turns: 3\ntemperature: 0.5\nkind: local\n---\n", "a: Words."},
		{"lines", "---\nname: a\ndescription: Words.\ntools: [nothing]\n---\n", ""}, {"lines", "---\nname: a\ndescription: Words.\nmax_turns: 0\n---\n", ""},
		{"qwen", "\ufeff---\r\nname: ab\r\ndescription: Words.\r\n---\r\n" + prompt, "ab: Words."}, {"qwen", "---\nname: ab\ndescription: x: y\n---\n" + prompt, "ab: x: y"},
		{"qwen", "---\nname: 33\ndescription: [a, b]\n---\n" + prompt, "33: a,b"}, {"qwen", "---\nname: ab\ndescription: Words.\n--- \n" + prompt, ""},
		{"qwen", "---\nname: a\ndescription: Words.\n---\n" + prompt, ""}, {"qwen", "---\nname: ab\ndescription: Words.\n---\nshort\n", ""}, {"qwen", "---\nname: system\ndescription: Words.\n---\n" + prompt, ""},
		{"qwen", "---\nname: ab\ndescription: Words.\napprovalMode: no\n---\n" + prompt, ""}, {"qwen", "---\nname: ab\ndescription: Words.\nbad: [\n---\n" + prompt, "ab: Words."},
	} {
		resp := resolve(t, guest.Root{Name: "w"}, `{"heads": "`+c.heads+`"}`, fstest.MapFS{".claude/agents/x.md": {Data: []byte(c.text)}})
		got := ""
		if r := resp.Resources[0]; r.Status != abi.StatusInvalid {
			got = r.Name + ": " + r.Description
		}
		if got != c.want {
			t.Errorf("%s: %q is read as %q, not %q (%s)", c.heads, c.text, got, c.want, resp.Resources[0].Error)
		}
	}
}

// TestHeads holds how front matter is read as programs do that are no reader of the
// table. test/clients compares it with these programs.
func TestHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		serde, matter string // name and description; "?" isn't looked at
	}{
		{" ---\nname: open03\ndescription: Words.\n---\nbody\n", "?", ""},
		{"---\nname: %x\ndescription: Of name19.\n---\nbody\n", "", ""},
		{"---\nname: 1.5\ndescription: Of name16.\n---\nbody\n", "1.5: Of name16.", "?"},
		{"---\nname: 2026-01-02\ndescription: Of name17.\n---\nbody\n", "2026-01-02: Of name17.", "?"},
		{"---\nname: 3\ndescription: Of name00.\n---\nbody\n", "3: Of name00.", "?"},
		{"---\nname: @x\ndescription: Of name18.\n---\nbody\n", "?", ""},
		{"---\nname: [list]\ndescription: Of name04.\n---\nbody\n", "", "?"},
		{"---\nname: badfront\ndescription: Wo\xffrds.\n---\nbody\n", "?", "badfront: Wo�rds."},
		{"---\nname: description06\ndescription: 3\n---\nbody\n", "description06: 3", "?"},
		{"---\nname: description07\ndescription: true\n---\nbody\n", "description07: true", "?"},
		{"---\nname: description11\ndescription: {a: b}\n---\nbody\n", "description11: {a: b}", "?"},
		{"---\nname: description15\ndescription: `code`\n---\nbody\n", "?", ""},
		{"---\nname: description16\ndescription: @at\n---\nbody\n", "?", ""},
		{"---\nname: description17\ndescription: %percent\n---\nbody\n", "", ""},
		{"---\nname: description22\ndescription: trailing: \n---\nbody\n", "", "?"},
		{"---\nname: description24\ndescription: uni\u200bcode \u2028 line\n---\nbody\n", "?", "description24: uni\u200bcode \u2028 line"},
		{"---\nname: description26\ndescription: 2026-01-02\n---\nbody\n", "description26: 2026-01-02", "?"},
		{"---\nname: description27\ndescription: 0x10\n---\nbody\n", "description27: 0x10", "?"},
		{"---\nname: description28\ndescription: 1e3\n---\nbody\n", "description28: 1e3", "?"},
		{"---\nname: description31\ndescription: 'a' b\n---\nbody\n", "", ""},
		{"---\nname: description34\ndescription: 1.5\n---\nbody\n", "description34: 1.5", "?"},
		{"---\nname: description37\ndescription: !tag x\n---\nbody\n", "?", ""},
		{"---\nname: description38\ndescription: : x\n---\nbody\n", "description38: : x", "description38: : x"},
		{"---\nname: description40\ndescription: [a\n---\nbody\n", "description40: [a", "?"},
		{"---\nname: description41\ndescription: {a\n---\nbody\n", "description41: {a", "?"},
		{"---\nname: description45\ndescription: \"a\" b\n---\nbody\n", "", ""},
		{"---\nname: description51\ndescription: \u0085nel\n---\nbody\n", "?", "description51: nel"},
		{"---\nname: end02\ndescription: Words.\n...\n", "?", "end02: Words."},
		{"---\nname: end03\ndescription: Words.\n----\n", "?", "end03: Words."},
		{"---\nname: end04\ndescription: Words.\n", "?", "end04: Words."},
		{"---\nname: end05\ndescription: Words.\n ---\n", "?", "end05: Words. ---"},
		{"---\nname: end07\ndescription: Words.\n---x\n---\n", "?", "end07: Words."},
		{"---\nname: more01\ndescription: Words.\nmetadata: none\n---\nbody\n", "", "?"},
		{"---\nname: more08\ndescription: Words.\nbroken: [\n---\nbody\n", "more08: Words.", "?"},
		{"---\nname: more09\ndescription: Words.\n\tTab: x\n---\nbody\n", "?", "more09: Words."},
		{"---\nname: more12\ndescription: Words.\nmetadata: [a]\n---\nbody\n", "", "?"},
		{"---\nname: true\ndescription: Of name01.\n---\nbody\n", "true: Of name01.", "?"},
		{"---yaml\nname: open05\ndescription: Words.\n---\nbody\n", "?", "open05: Words."},
		{"\ufeff---\nname: open01\ndescription: Words.\n---\nbody\n", "", "?"},
	} {
		for heads, want := range map[conventions.Heads]string{conventions.HeadsSerde: c.serde, conventions.HeadsMatter: c.matter} {
			if want == "?" {
				continue
			}
			tree := fstest.MapFS{".claude/agents/x.md": text(c.text)}
			resp := resolve(t, guest.Root{Name: "w"}, `{"heads": "`+string(heads)+`"}`, tree)
			got := ""
			if r := resp.Resources[0]; r.Status != abi.StatusInvalid && r.Description != "" && !strings.Contains(codes(r), abi.FindingNameMissing) {
				got = r.Name + ": " + strings.Join(strings.FieldsFunc(r.Description, func(c rune) bool { return c == ' ' || c == '\n' }), " ")
			}
			if got != want {
				t.Errorf("%s reads %q as %q, not %q (%s)", heads, c.text, got, want, resp.Resources[0].Error)
			}
		}
	}
}
