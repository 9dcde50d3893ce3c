package authors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waymark/test/authors"
)

func TestParse(t *testing.T) {
	page := strings.NewReplacer("'", "`").Replace(`# Page
'''console
$ not run
'''
<!-- file: a/b.go -->
'''go
package b
'''
'''sh
echo one
echo two
'''

'''text
one
…
'''
<!-- background -->

'''sh
sleep
'''
<!-- eventually -->
'''sh
look
'''
'''json
{}
'''
`)
	steps, err := authors.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []authors.Step{
		{Line: 6, File: "a/b.go", Text: "package b\n"},
		{Line: 9, Text: "echo one\necho two\n", Want: []string{"one", "…"}},
		{Line: 20, Text: "sleep\n", Background: true},
		{Line: 24, Text: "look\n", Eventually: true},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"<!-- file: x -->\ntext\n", "```sh\nnever closed\n", "<!-- background -->\n```json\n```\n"} {
		if _, err := authors.Parse(bad); err == nil {
			t.Errorf("%q is fine", bad)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		want, output string
		matches      bool
	}{
		{"a", "a\n", true},
		{"a b", "\n  a     b  \n\n", true},
		{"a b", "ab", false},
		{"a", "a\nb", false},
		{"a\n…", "a\nb\nc", true},
		{"…\nb\n…", "a\nb\nc", true},
		{"…\nb\n…", "b", true},
		{"…\nd\n…", "a\nb\nc", false},
		{"a…c (1)", "a b c (1)", true},
		{"a.c", "abc", false},
		{"", "x", false},
		{"a\nb", "a\ncompiling x y.wasm for the first time, this takes a few seconds …\nb", true},
		{"a\nb", "a\n12:34:56  compiling x.wasm for the first time, this takes a few seconds …\nb", true},
		{"a", "loading the built-in resolvers, which can take a few seconds the first time …\na", true},
		{"a", "compiling x.wasm fails\na", false},
	} {
		if got := authors.Matches(strings.Split(tt.want, "\n"), tt.output); got != tt.matches {
			t.Errorf("%q, %q: got %v", tt.want, tt.output, got)
		}
	}
}
