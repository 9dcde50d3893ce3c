package clients_test

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// importTrees are what Claude Code imports in, and what it doesn't.
var importTrees = []tree{
	{name: "everywhere", files: map[string]string{
		"CLAUDE.md": "Text.\n@AGENTS.md and more\n@1.md\n@4.md\n", "AGENTS.md": "Rules, see @docs/style @docs @none.md @c.md\n", "docs/style": "style\n", "c.md": "C",
		"1.md": "@2.md @CLAUDE.md @c.md", "2.md": "@3.md", "3.md": "@4.md", "4.md": "@5.md", "5.md": "far",
		".claude/CLAUDE.md": "D @d.md @../e.md", ".claude/d.md": "D2", "e.md": "E", ".claude/rules/p.md": "---\npaths: src/**\n---\nP @../../h.md", "h.md": "H",
		"CLAUDE.local.md": "L @g.md @../out.md", "g.md": "G", "../out.md": "O",
	}},
	{name: "AGENTS.md alone", files: map[string]string{
		"CLAUDE.md": "---\na: b\n---\n<!-- not yet -->\n", "AGENTS.md": "rules, see @docs/style\n", "docs/style": "style\n", ".claude/rules/r.md": "a rule\n",
	}},
	{name: "started below", start: "sub", files: map[string]string{
		"CLAUDE.md": "@AGENTS.md @sub/x.md\n", "AGENTS.md": "top\n", "sub/CLAUDE.md": "@../AGENTS.md @x.md @up/AGENTS.md @l.md\n", "sub/x.md": "x", "sub/up": "-> ..", "sub/l.md": "-> ../AGENTS.md",
	}},
	{name: "links, and the user's own", files: map[string]string{
		"CLAUDE.md": "C @l.md @out.md @real.md @ld/a.md @esc/a.md @~/v.md", "l.md": "-> real.md", "real.md": "R", "../o.md": "O", "out.md": "-> ../o.md", "ld": "-> dir",
		"dir/a.md": "DA @b.md", "dir/b.md": "DB", "b.md": "top", "../od/a.md": "ODA", "esc": "-> ../od",
	}, home: map[string]string{
		".claude/CLAUDE.md": "U @u.md @~/v.md @../w.md", ".claude/u.md": "UU", "v.md": "V", "w.md": "W", ".claude/rules/r.md": "R @../../a.md", "a.md": "A",
	}},
	{name: "a link to AGENTS.md", files: map[string]string{"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "A @a.md", "a.md": "AA", ".claude/CLAUDE.md": "-> ../AGENTS.md"}},
	{name: "syntax", files: map[string]string{
		"CLAUDE.md": "**@1.md** (@2.md) @3.md. `@4.md` @5.mdc @README @docs/[id].md @my\\ file.md @6.md#part\n\n```\n@7.md\n```\n\n<!-- @8.md -->\n\n    @9.md\n\n- @10.md\n\n<div>\n@11.md\n</div>\n\n[@12.md](x) @.hidden @empty.md @blank.md @docs\n",
		"1.md":      "1", "2.md": "2", "3.md": "3", "4.md": "4", "5.mdc": "5", "README": "r", "docs/[id].md": "id", "my file.md": "my", "6.md": "6", "7.md": "7", "8.md": "8", "9.md": "9",
		"10.md": "10", "11.md": "11", "12.md": "12", ".hidden": "h", "empty.md": "", "blank.md": " \n",
	}},
}

var contents = regexp.MustCompile(`(?m)^Contents of (/.*?)(?: \(.*\))?:$`)

// TestImports: what Claude Code imports is said to be imported, in its order.
func TestImports(t *testing.T) {
	t.Parallel()
	p := find(t)
	turns := make(chan struct{}, runtime.NumCPU())
	for i := range importTrees {
		tr := &importTrees[i]
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			start, home := tr.make(t), tr.makeHome(t)
			_, want := p.said(t, home, "claude", start)
			told := p.askClaude(t, home, start)
			var has, said []string
			for _, m := range contents.FindAllStringSubmatch(told, -1) {
				has = append(has, m[1])
			}
			for _, i := range want.instructions {
				said = append(said, i.path)
			}
			if !slices.Equal(has, said) || len(has) == 0 {
				t.Errorf("Claude Code has\n\t%s\nand not\n\t%s", strings.Join(has, "\n\t"), strings.Join(said, "\n\t"))
			}
		})
	}
}
