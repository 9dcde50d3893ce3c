package agentfiles_test

import (
	"testing"
	"testing/fstest"

	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

// TestPolicy holds what takes a skill from the list of Codex. test/clients compares more
// texts with the program.
func TestPolicy(t *testing.T) {
	t.Parallel()
	row := `{"heads": "serde", "conventions": [{"id": "policy", "readers": ["codex"], "kind": "instruction_file", "format": "` + string(conventions.OpenAIYAML) +
		`", "places": ["agents/openai.yaml"]}]}`
	const off = "policy: {allow_implicit_invocation: false}\n"
	for text, want := range map[string]string{
		off: "allow_implicit_invocation is false", "policy:\n  allow_implicit_invocation: FALSE # c\n": "allow_implicit_invocation is false",
		"policy: {products: [CHATGPT, atlas]}\n": "its products are chatgpt, atlas", "policy: {products: [chatgpt, codex]}\n": "", "policy: {products: []}\n": "",
		"allow_implicit_invocation: false\n": "", "policy: {allow_implicit_invocation: \"false\"}\n": "", "policy: {allow_implicit_invocation: no}\n": "",
		"policy: {products: [other], allow_implicit_invocation: false}\n": "", "policy: [\n": "", "": "", "text\n": "", "- a\n": "", "policy: ~\n": "",
		"interface: {display_name: [x]}\n" + off: "", "interface: {display_name: 3}\n" + off: "allow_implicit_invocation is false",
		"dependencies: {tools: ~}\n" + off: "", "dependencies: {tools: [{type: x}]}\n" + off: "allow_implicit_invocation is false", off + off: "",
		"a: &x {allow_implicit_invocation: false}\npolicy: *x\n": "allow_implicit_invocation is false", off + "---\nx: y\n": "",
	} {
		resp := resolve(t, guest.Root{Name: "w"}, row, fstest.MapFS{"agents/openai.yaml": &fstest.MapFile{Data: []byte(text)}})
		if len(resp.Resources) != 1 {
			t.Fatalf("%q: %+v", text, resp.Resources)
		}
		r := resp.Resources[0]
		mode, _ := r.Attributes["mode"]
		if r.Description != want || (mode.Text == "manual") != (want != "") {
			t.Errorf("%q: %q, %v, not %q", text, r.Description, mode, want)
		}
	}
}
