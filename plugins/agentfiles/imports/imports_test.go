package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/plugins/agentfiles/imports"
)

// TestImportsAsClaude: what Claude Code 2.1.332 has imported of these lines, each of which was
// a paragraph of a CLAUDE.md, with all files there that could be meant. What it didn't import
// has the name no.
func TestImportsAsClaude(t *testing.T) {
	for line, want := range map[string]string{
		"@a.md": "a.md", "text @a.md more": "a.md", "**@a.md**": "a.md", "*@a.md*": "a.md", "***@a.md***": "a.md",
		"**see @a.md now**": "a.md", "**@a.md** @b.md": "a.md b.md", "**bold**@a.md": "a.md", "a **b\n@a.md** c": "a.md",
		"(@no.md)": "", "@no.md.": "", "@no.md,": "", "@no.md:": "", "@no.md)": "", "@no.md!": "", "@no.md?x=1": "", "'@no.md'": "", `"@no.md"`: "", "[@no.md]": "",
		"~~@no.md~~": "", "x@no.md": "", "see:@no.md": "", "@@no.md": "", `\@no.md`: "", "@ no.md": "", "@<no.md>": "", "<@no.md>": "", "&nbsp;@no.md": "", `@"no.md"`: "",
		"@\u00fc.md": "", "http://x.y/@no.md": "", "$@no.md$": "", "[x](@no.md)": "", "[@a.md](y)": "a.md", `[t @a.md](u "@no.md")`: "a.md",
		"![@no.md](z)": "",
		"- @a.md":      "a.md", "1. @a.md": "a.md", "> @a.md": "a.md", "# @a.md": "a.md", "- [ ] @a.md": "a.md", "- x\n    @a.md": "a.md", "- a\n  - @a.md": "a.md", "-\t@a.md": "a.md",
		"Title @a.md\n======": "a.md", "| @a.md | x |\n|--|--|\n| @a.md | y |": "a.md", "x\n    @a.md": "a.md", "- a\n\n    @a.md": "a.md",
		"    @no.md": "", "\t@no.md": "", "`@no.md`": "", "``@no.md``": "", "@`no.md`": "", "`open @a.md": "a.md", "` `` @a.md": "a.md",
		"~~~\n@no.md\n~~~": "", "```\n@no.md\n```": "", "   ```\n   @no.md\n   ```": "", "<!-- @no.md -->": "", "<!--\n@no.md\n-->": "", "x <!-- @no.md --> @a.md": "a.md",
		"<!-- x --> @a.md": "a.md", "x <!-- a\n@no.md --> @a.md": "a.md", "<div>@no.md</div>": "", "<div>\n@no.md\n</div>": "", "<details>\n\n@a.md\n\n</details>": "a.md",
		"<span @no.md>": "",
		"@a.md#part":    "a.md", "@./a.md": "./a.md", "@sub/a.md": "sub/a.md", "@../a.md": "../a.md", "@/a.md": "/a.md", "@~/a.md": "~/a.md", "@~no.md": "", "@a\\ b.md": "a b.md", "@a b.md": "a",
		"@README": "README", "@_a.md": "_a.md", "@-a.md": "-a.md", "@.a.md": ".a.md", "@.env": ".env", "@A.MD": "A.MD", "@a.md\r": "a.md", "@a.md\u00a0x": "a.md", "w\u00a0@a.md": "a.md",
		"@a%20x.md": "a%20x.md", "@j6_x_y.md": "j6_x_y.md", "@a.md  \nnext": "a.md", "@a.md\\\nnext": "a.md", "\ufeff@a.md": "a.md", "@[id].md": "", "@x/[id].md": "x/[id].md",
		"@a.mdc": "", "@a.jsonc": "", "@a.png": "", "@a.": "", "@a.b/c": "a.b/c", "@a.TXT": "a.TXT", "@a.makefile @b.mk": "a.makefile", "@Makefile": "Makefile",
	} {
		if got := strings.Join(imports.Of(line), ";"); got != strings.ReplaceAll(want, " ", ";") && got != want {
			t.Errorf("%q: %q, not %q", line, got, want)
		}
	}
}

// TestMany: a text of nothing but imports takes no time that grows with its square.
func TestMany(t *testing.T) {
	var b strings.Builder
	for i := range 1 << 18 {
		fmt.Fprintf(&b, "@%d ", i)
	}
	if list := imports.Of(b.String()); len(list) != 500 || list[499] != "499" {
		t.Errorf("%d", len(list))
	}
}

// TestIsBlank: what has nothing to say in the place of an AGENTS.md.
func TestIsBlank(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \n\t\r\n": true, "<!-- x -->\n\n<!--\ny\n-->\n": true, "---\na: b\n---\n": true, "---\na: b\n---\n<!-- c -->": true, "\ufeff\n": true,
		"x": false, "<!-- x --> y": false, "<!-- x -->\n@a.md": false, "---\na: b\n---\nx": false, "---": false,
	} {
		if got := imports.IsBlank(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
