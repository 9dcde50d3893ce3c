package agentfiles_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// readAs is what a program makes of one file: its name and description, its mode, how many
// bytes are taken out before its text, and whether it is invalid.
func readAs(t *testing.T, heads conventions.Heads, path, body string) string {
	t.Helper()
	r := resolve(t, guest.Root{Name: "w"}, `{"heads": "`+string(heads)+`"}`, fstest.MapFS{path: {Data: []byte(body)}}).Resources[0]
	if r.Status == abi.StatusInvalid {
		return "invalid"
	}
	list := []string{r.Name + ": " + r.Description}
	for _, key := range []string{"mode", "head_bytes"} {
		if text := r.Attributes[key].Text; text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// TestHeadsOfRules holds how Continue and Cline read front matter, also of rules.
func TestHeadsOfRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, continued, cline string }{
		{"text", ": ", ": "},
		{"---\nname: a\n---\ntext", "a: , 16", "a: , 16"},
		{"---\r\nname: a\r\n---\r\ntext", "a: , 19", "a: , 19"},
		{"\ufeff---\nname: a\n---\ntext", ": ", "a: , 19"},
		{"Before.\n---\nname: a\n---\ntext", "a: , 24", ": "},
		{"---\nname: a\n---x\n---\ntext", ": ", "a: , 15"},
		{"---\n---\ntext", ": , 8", ": "},
		{"---\n- a\n---\ntext", ": , 12", ": , 12"},
		{"---\na: b: c\n---\ntext", ": ", "invalid"},
		{"---\nname: 12\n---\ntext", "12: , 17", "invalid"},
		{"---\nglobs: x\n---\ntext", ": , glob, 17", ": , 17"},
		{"---\nglobs: \"\"\nregex: []\n---\ntext", ": , glob, 28", ": , 28"},
		{"---\nglobs: x\nalwaysApply: true\n---\ntext", ": , 35", ": , 35"},
		{"---\nalwaysApply: \"true\"\n---\ntext", ": , manual, 28", ": , 28"},
		{"---\nalwaysApply:\n---\ntext", ": , manual, 21", ": , 21"},
		{"---\ninvokable: 1\n---\ntext", ": , manual, 21", ": , 21"},
		{"---\ninvokable: 0.0\n---\ntext", ": , 23", ": , 23"},
		{"---\ndisabled: true\n---\ntext", ": , 23", ": , manual, 23"},
		{"---\nenabled: false\n---\ntext", ": , 23", ": , manual, 23"},
		{"---\nenabled: false\ndisabled: false\n---\ntext", ": , 39", ": , 39"},
		{"---\ndisabled: \"true\"\n---\ntext", ": , 25", "invalid"},
		{"---\ndisabled: true\n---\n", ": , 23", ": , 23"},
	} {
		if got := readAs(t, conventions.HeadsContinue, ".claude/rules/x.md", c.text); got != c.continued {
			t.Errorf("Continue reads %q as %q, not %q", c.text, got, c.continued)
		}
		if got := readAs(t, conventions.HeadsCline, ".claude/rules/x.md", c.text); got != c.cline {
			t.Errorf("Cline reads %q as %q, not %q", c.text, got, c.cline)
		}
	}
}

// TestClineAgents holds what Cline takes for a subagent.
func TestClineAgents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"---\nname: a\ndescription: D\n---\nDo.\n":                             "a: D",
		"\ufeff---  \nname: a\ndescription: D\n--- \nDo.\n":                    "a: D",
		"---\nname: a\ndescription: |\n  D\n---\nmaxIterations: 3\n---\nDo.\n": "a: D\n",
		"---\nname: a\ndescription: D\n---\n":                                  "invalid",
		"---\nname: a\n---\nDo.\n":                                             "invalid",
		"---\nname: 12\ndescription: D\n---\nDo.\n":                            "invalid",
		"---\nname: a\ndescription: D\ntools: {a: b}\n---\nDo.\n":              "invalid",
		"---\nname: a\ndescription: D\nmaxIterations: 0\n---\nDo.\n":           "invalid",
		"---\nname: a\ndescription: D\nmodelId:\n---\nDo.\n":                   "invalid",
		"name: a\ndescription: D\n":                                            "invalid",
	} {
		if got := readAs(t, conventions.HeadsCline, ".claude/agents/a.md", text); got != want {
			t.Errorf("%q is read as %q, not %q", text, got, want)
		}
	}
}
