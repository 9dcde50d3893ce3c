package imports_test

import (
	"strings"
	"testing"

	"waymark/plugins/agentfiles/imports"
)

// TestWords: what Gemini CLI 0.61.0 has imported of such texts, with all files there that could
// be meant.
func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@a.md": "a.md", "see @./a.md @d/b.md\t@c": "./a.md d/b.md c", "@a.md. @b.md) **@c.md**": "a.md. b.md)", "(@a.md) x@a.md @1.md @~/a.md @_a": "",
		"`@a.md` ``@b.md``": "", "```\n@a.md\n```\n@b.md": "b.md", "it`s @a.md\n\nthat`s @b.md": "b.md", "```` @a.md ``\n@b.md": "a.md b.md", "``` @a.md ``\n@b.md ```\n@c.md": "c.md",
		"<!-- @a.md -->\n    @b.md\n~~~\n@c.md\n~~~": "a.md b.md c.md", "@a.md @a.md": "a.md", "@http://x/a.md @file://a.md": "", "@../a.md @/a.md": "../a.md /a.md", "`@a.md": "",
		"one ` @a.md": "a.md",
	} {
		if got := strings.Join(imports.Words(text), " "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// TestWordsOutsideCode: what Qwen Code 0.24.4 has imported.
func TestWordsOutsideCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- `@a.md`": "", "- ` @a.md `": "a.md", "> ` @a.md `": "", "> x\n> ` @a.md `": "a.md", "| ` @a.md ` |\n|--|": "a.md", "<div>\n` @a.md `\n</div>": "a.md", "# ` @a.md `": "",
		"` @a.md\n@b.md `": "", "it`s @a.md\n\nthat`s @b.md": "a.md b.md", "    @a.md": "", "text\n    @a.md": "a.md", "~~~\n@a.md\n~~~\n@b.md": "b.md", "<!-- ` @a.md ` -->": "a.md",
		"`` @a.md ` `` @b.md": "b.md", "\\` @a.md \\`": "a.md", "1. ```\n   @a.md\n   ```\n\n` @b.md `": "a.md",
	} {
		if got := strings.Join(imports.WordsOutsideCode(text), " "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
