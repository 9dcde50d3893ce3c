package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"waymark/test/wasmtest"
)

// nameCases are names of protected files that don't look like them: hard links,
// wherever the other name is, and spellings that some file systems fold.
func nameCases() []Case {
	var list []Case
	add := func(name string, c Case) {
		c.Name, c.Class, c.Builtin = "files/"+name, ClassFiles, true
		c.Within, c.Memory = 2*time.Second, 192
		list = append(list, c)
	}
	paths := []string{
		".git/config", ".git/modules/lib/config", ".ssh/keys/work/id", ".env.local", "deploy/prod/.env.production", "a/b/c/server.pem",
		"infra/state/prod.tfstate", "pkg/x/.git/hooks/pre-push", "home/.aws/sso/cache/token", "node_modules/p/.npmrc", ".config/gh/hosts.yml",
		"docs/.claude.json", "tools/.devin/mcp_config.work.json", "sub/.vscode/mcp.json",
	}
	for i, path := range paths {
		add(fmt.Sprintf("hard-link-%d", i), Case{
			Workspace: tree(path+" = "+canary, "AGENTS.md => "+path, "docs/CLAUDE.md => "+path, "skills/one/SKILL.md => "+path),
			Want:      rows(),
		})
	}
	add("hard-link-harmless", Case{
		Workspace: tree("store/agents = x", "AGENTS.md => store/agents", ".git/config = y", ".git/other => .git/config"),
		Want:      rows("instruction_file:AGENTS.md ok"),
	})
	r := rand.New(rand.NewPCG(patternSeed, 100))
	var spelled []string
	for _, path := range paths {
		spelled = append(spelled, respelled(r, path))
	}
	for i, path := range spelled {
		add(fmt.Sprintf("respelled-%d", i), Case{
			Workspace: tree(strings.ReplaceAll(path, " ", "")+" = "+canary, "AGENTS.md -> "+strings.ReplaceAll(path, " ", ""), "CLAUDE.md => "+strings.ReplaceAll(path, " ", "")),
			Want:      rows(),
		})
	}
	var data, body strings.Builder
	at := 65536
	for _, p := range append(spelled, "GIT~1/config", "ENV~1", "SSH~1/keys", ".git::$INDEX_ALLOCATION/config", ".env ...", ".e\u00adnv") {
		fmt.Fprintf(&data, "(data (i32.const %d) %s)\n", at, wasmtest.Quote(p))
		fmt.Fprintf(&body, `(if (i64.ne (i64.const 0) (call $fs_read (call $text (i32.const %d) (i32.const %d)) (i64.const 0) (i64.const 100))) (then (unreachable)))`+"\n", at, len(p))
		at += len(p)
	}
	var there []string
	for _, p := range spelled {
		there = append(there, strings.ReplaceAll(p, " ", "")+" = "+canary)
	}
	add("guest-asks-respelled", Case{Workspace: tree(there...), Want: rows(),
		Module: module{Imports: kernel + files, Fields: data.String(), Resolve: body.String()}.build})
	return list
}

// respelled spells a path as a file system that folds names would find it: in
// another case, with letters that are ignored, or that are the same but wider.
func respelled(r *rand.Rand, path string) string {
	ignored := []rune{0xAD, 0x200B, 0x200C, 0x200D, 0x202E, 0x2060, 0x206F, 0xFEFF}
	var b strings.Builder
	for _, c := range path {
		switch {
		case c == '/':
		case r.IntN(4) == 0:
			b.WriteRune(ignored[r.IntN(len(ignored))])
		case r.IntN(4) == 0:
			c += 0xFEE0
		case c >= 'a' && c <= 'z' && r.IntN(2) == 0:
			c -= 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String() + []string{"", ".", "..", " ."}[r.IntN(4)]
}
