package agentfiles_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

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
