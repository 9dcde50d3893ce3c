package resolve

import (
	"slices"
	"strings"
	"testing"

	"waymark/host/vfs"
)

func TestConfigPaths(t *testing.T) {
	keys := []string{"file_names", "extra"}
	for config, want := range map[string][]string{
		``:                                       nil,
		`null`:                                   nil,
		`[1]`:                                    nil,
		`{"file_names": ["A.md", "d/B.md"]}`:     {"A.md", "d/B.md"},
		`{"file_names": "A.md", "extra": ["x"]}`: {"A.md", "x"},
		`{"file_names": ["../x", "/x", "", "a/../b", "..", "a\\b", "a\u0000", "./a", "a/"]}`: nil,
		`{"file_names": ["ok", 7]}`:  nil, // the resolver reports the wrong type
		`{"other": ["A.md"]}`:        nil,
		`{"file_names": {"a": "b"}}`: nil,
	} {
		if got := configPaths([]byte(config), keys); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

// FuzzLiteralPattern: a path from a configuration matches itself and nothing
// else.
func FuzzLiteralPattern(f *testing.F) {
	for _, s := range []string{"A.md", "[a]*?{b,c}", "**", "a/b", "{", "]", "*"} {
		f.Add(s, "A.md")
	}
	f.Fuzz(func(t *testing.T, p, other string) {
		if !cleanPath(p) || p == "." || len(p) > 200 {
			return
		}
		if _, err := (vfs.View{Reads: []string{vfs.LiteralPattern(p)}}).Compile(); err != nil && strings.ToValidUTF8(p, "") == p {
			t.Errorf("%q: %v", p, err)
		}
	})
}
