package vfstest

import (
	"slices"
	"strings"

	"waymark/host/vfs"
)

// Cases returns the table.
func Cases() []Case {
	return slices.Concat(plainCases(), linkCases(), escapeCases(), strangeCases(), visibilityCases(), protectedCases())
}

func plainCases() []Case {
	deep := strings.Repeat("d/", 200) + "file"
	return []Case{{
		Name: "plain",
		Tree: []string{"AGENTS.md = hello", "a/b/c.md = deep", "empty = 0*x"},
		Steps: []Step{
			{Op: "read", Path: "AGENTS.md", Want: "hello"},
			{Op: "read", Path: "AGENTS.md", Off: 1, N: 3, Want: "ell"},
			{Op: "read", Path: "AGENTS.md", Off: 5, Want: ""},
			{Op: "read", Path: "AGENTS.md", Off: 500, Want: ""},
			{Op: "read", Path: "a/b/c.md", Want: "deep"},
			{Op: "read", Path: "./a/./b//c.md", Want: "deep"},
			{Op: "read", Path: "a/../AGENTS.md", Want: "hello"},
			{Op: "read", Path: "nothing/../AGENTS.md", Want: "hello"},
			{Op: "stat", Path: "AGENTS.md", Want: "file 5"},
			{Op: "lstat", Path: "AGENTS.md", Want: "file 5"},
			{Op: "stat", Path: "a", Want: "dir"},
			{Op: "stat", Path: "a/", Want: "dir"},
			{Op: "stat", Path: ".", Want: "dir"},
			{Op: "list", Path: ".", Want: "AGENTS.md:file a:dir empty:file"},
			{Op: "list", Path: "a", Want: "b:dir"},
			{Op: "list", Path: "a/b/", Want: "c.md:file"},
			{Op: "readlink", Path: "AGENTS.md", Errno: "EINVAL"},
		},
	}, {
		Name: "missing",
		Tree: []string{"file = x", "dir/"},
		Steps: []Step{
			{Op: "read", Path: "nothing", Errno: "ENOENT"},
			{Op: "read", Path: "nothing/below", Errno: "ENOENT"},
			{Op: "stat", Path: "dir/nothing", Errno: "ENOENT"},
			{Op: "list", Path: "nothing", Errno: "ENOENT"},
			{Op: "lstat", Path: "nothing", Errno: "ENOENT"},
			{Op: "readlink", Path: "nothing", Errno: "ENOENT"},
			{Op: "list", Path: "dir", Want: ""},
		},
	}, {
		Name: "wrong kind",
		Tree: []string{"file = x", "AGENTS.md/"},
		Steps: []Step{
			{Op: "read", Path: "file/below", Errno: "ENOTDIR"},
			{Op: "stat", Path: "file/below/more", Errno: "ENOTDIR"},
			{Op: "lstat", Path: "file/below", Errno: "ENOTDIR"},
			{Op: "readlink", Path: "file/below/more", Errno: "ENOTDIR"},
			{Op: "stat", Path: "file/", Errno: "ENOTDIR"},
			{Op: "list", Path: "file", Errno: "ENOTDIR"},
			{Op: "stat", Path: "AGENTS.md", Want: "dir"},
			{Op: "read", Path: "AGENTS.md", Errno: "EISDIR"},
		},
	}, {
		Name: "bad paths",
		Tree: []string{"AGENTS.md = x", "a\\b = backslash"},
		Steps: []Step{
			{Op: "read", Path: "", Errno: "EINVAL"},
			{Op: "read", Path: "..", Errno: "EPERM"},
			{Op: "stat", Path: "..", Errno: "EPERM"},
			{Op: "list", Path: "..", Errno: "EPERM"},
			{Op: "read", Path: "../out/secret.txt", Errno: "EPERM"},
			{Op: "read", Path: "a/../../out/secret.txt", Errno: "EPERM"},
			{Op: "read", Path: "/AGENTS.md", Errno: "EPERM"},
			{Op: "read", Path: "bad\xffname", Errno: "EPERM"},
			{Op: "read", Path: "AGENTS.md\x00.txt", Errno: "EINVAL"},
			{Op: "stat", Path: "a\x00", Errno: "EINVAL"},
			{Op: "read", Path: strings.Repeat("x", 300), Errno: "ENAMETOOLONG"},
			{Op: "stat", Path: strings.Repeat("x/", 2100), Errno: "ENAMETOOLONG"},
			{Op: "read", Path: "a\\b", Want: "backslash"},
		},
	}, {
		Name:  "deep",
		Tree:  []string{deep + " = bottom"},
		Steps: []Step{{Op: "read", Path: deep, Want: "bottom"}, {Op: "stat", Path: deep, Want: "file 6"}},
	}, {
		Name: "sizes",
		Tree: []string{"kept = 65536*k", "past = 65537*p", "tail = 200000*t"},
		Steps: []Step{
			{Op: "read", Path: "kept", Off: 65530, Want: "kkkkkk"},
			{Op: "read", Path: "past", Off: 65530, Want: "ppppppp"},
			{Op: "read", Path: "past", Off: 65536, Want: "p"},
			{Op: "read", Path: "tail", Off: 199_990, Want: "tttttttttt"},
			{Op: "read", Path: "tail", Off: 65_000, N: 2000, Want: strings.Repeat("t", 2000)},
			{Op: "stat", Path: "tail", Want: "file 200000"},
		},
	}}
}

func linkCases() []Case {
	var chain []string
	for i := range 39 {
		chain = append(chain, "c"+letters(i)+" -> c"+letters(i+1))
	}
	return []Case{{
		Name: "links in the root",
		Tree: []string{
			"AGENTS.md = hello", "CLAUDE.md -> AGENTS.md", "abs -> $ROOT/AGENTS.md", "dir/sub/file = deep",
			"dir/up -> ../AGENTS.md", "linked -> dir", "linked2 -> linked/sub", "round -> ../root/AGENTS.md",
			"absround -> $ROOT/../root/dir/../AGENTS.md", "dot -> .", "slash -> dir/", "badslash -> AGENTS.md/",
			"through -> AGENTS.md/../AGENTS.md", "self -> $ROOT", "two -> CLAUDE.md",
		},
		Steps: []Step{
			{Op: "read", Path: "CLAUDE.md", Want: "hello"},
			{Op: "read", Path: "two", Want: "hello"},
			{Op: "read", Path: "abs", Want: "hello"},
			{Op: "read", Path: "dir/up", Want: "hello"},
			{Op: "read", Path: "linked/sub/file", Want: "deep"},
			{Op: "read", Path: "linked/up", Want: "hello"},
			{Op: "read", Path: "linked2/file", Want: "deep"},
			{Op: "read", Path: "round", Want: "hello"},
			{Op: "read", Path: "absround", Want: "hello"},
			{Op: "read", Path: "dot/dot/AGENTS.md", Want: "hello"},
			{Op: "read", Path: "self/AGENTS.md", Want: "hello"},
			{Op: "list", Path: "linked", Want: "sub:dir up:link"},
			{Op: "list", Path: "slash", Want: "sub:dir up:link"},
			{Op: "list", Path: "linked2", Want: "file:file"},
			{Op: "stat", Path: "linked", Want: "dir"},
			{Op: "lstat", Path: "linked", Want: "link 3"},
			{Op: "lstat", Path: "linked/", Want: "dir"},
			{Op: "lstat", Path: "linked/up", Want: "link 12"},
			{Op: "stat", Path: "CLAUDE.md", Want: "file 5"},
			{Op: "readlink", Path: "CLAUDE.md", Want: "AGENTS.md"},
			{Op: "readlink", Path: "abs", Want: "$ROOT/AGENTS.md"},
			{Op: "readlink", Path: "linked/up", Want: "../AGENTS.md"},
			{Op: "read", Path: "badslash", Errno: "ENOTDIR"},
			{Op: "read", Path: "through", Errno: "ENOTDIR"},
			{Op: "stat", Path: "CLAUDE.md/", Errno: "ENOTDIR"},
			{Op: "read", Path: "linked", Errno: "EISDIR"},
			{Op: "list", Path: "CLAUDE.md", Errno: "ENOTDIR"},
			{Op: "read", Path: "linked/nothing", Errno: "ENOENT"},
		},
	}, {
		Name: "links that lead nowhere",
		Tree: []string{"dangling -> nothing", "loop -> loop", "a -> b", "b -> a", "in -> dangling/x", "dir/l -> ../dir/l"},
		Steps: []Step{
			{Op: "read", Path: "dangling", Errno: "ENOENT"},
			{Op: "stat", Path: "dangling", Errno: "ENOENT"},
			{Op: "lstat", Path: "dangling", Want: "link 7"},
			{Op: "read", Path: "in", Errno: "ENOENT"},
			{Op: "read", Path: "loop", Errno: "ELOOP"},
			{Op: "stat", Path: "a", Errno: "ELOOP"},
			{Op: "lstat", Path: "a", Want: "link 1"},
			{Op: "read", Path: "a/x", Errno: "ELOOP"},
			{Op: "list", Path: "dir/l", Errno: "ELOOP"},
		},
	}, {
		Name: "chains of links",
		Tree: append(chain, "c"+letters(39)+" -> end", "before -> c"+letters(0), "end = end"),
		Steps: []Step{
			{Op: "read", Path: "c" + letters(0), Want: "end"}, // 40 links
			{Op: "read", Path: "before", Errno: "ELOOP"},      // 41
		},
	}}
}

// letters names the i-th link of a chain.
func letters(i int) string { return string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func escapeCases() []Case {
	return []Case{{
		Name: "escapes",
		Tree: []string{
			"AGENTS.md -> ../out/secret.txt", "abs -> $OUT/secret.txt", "missing -> ../out/nothing", "etc -> /etc/passwd",
			"parent -> ..", "dir -> ../out/dir", "top -> /", "a/up -> ../../out/secret.txt", "chain -> AGENTS.md",
			"sibling -> ../rootbeside/x", "prefix -> $ROOTbeside/x", "back -> ../out/../root/file", "file = in",
			"proc -> /proc/self/root", "procfd -> /proc/self/fd/0",
		},
		Steps: []Step{
			{Op: "read", Path: "AGENTS.md", Errno: "EACCES"},
			{Op: "stat", Path: "AGENTS.md", Errno: "EACCES"},
			{Op: "lstat", Path: "AGENTS.md", Want: "link 17"},
			{Op: "readlink", Path: "AGENTS.md", Want: "../out/secret.txt"},
			{Op: "read", Path: "abs", Errno: "EACCES"},
			{Op: "read", Path: "missing", Errno: "EACCES"},
			{Op: "read", Path: "etc", Errno: "EACCES"},
			{Op: "stat", Path: "parent", Errno: "EACCES"},
			{Op: "list", Path: "parent", Errno: "EACCES"},
			{Op: "read", Path: "parent/root/file", Want: "in"}, // comes back
			{Op: "read", Path: "parent/out/secret.txt", Errno: "EACCES"},
			{Op: "list", Path: "dir", Errno: "EACCES"},
			{Op: "read", Path: "dir/file", Errno: "EACCES"},
			{Op: "lstat", Path: "dir/file", Errno: "EACCES"},
			{Op: "list", Path: "top", Errno: "EACCES"},
			{Op: "read", Path: "top/etc/passwd", Errno: "EACCES"},
			{Op: "read", Path: "a/up", Errno: "EACCES"},
			{Op: "read", Path: "chain", Errno: "EACCES"},
			{Op: "read", Path: "sibling", Errno: "EACCES"},
			{Op: "read", Path: "prefix", Errno: "EACCES"},
			{Op: "read", Path: "back", Errno: "EACCES"}, // only along the root's own path
			{Op: "list", Path: "proc", Errno: "EACCES"},
			{Op: "read", Path: "procfd", Errno: "EACCES"},
		},
	}}
}

func strangeCases() []Case {
	return []Case{{
		Name: "not regular",
		Tree: []string{"AGENTS.md |", "socket ^", "link -> AGENTS.md", "f = x"},
		Steps: []Step{
			{Op: "read", Path: "AGENTS.md", Errno: "EIO"},
			{Op: "read", Path: "socket", Errno: "EIO"},
			{Op: "read", Path: "link", Errno: "EIO"},
			{Op: "stat", Path: "AGENTS.md", Want: "other"},
			{Op: "stat", Path: "socket", Want: "other"},
			{Op: "read", Path: "AGENTS.md/x", Errno: "ENOTDIR"},
			{Op: "list", Path: "AGENTS.md", Errno: "EIO"},
			{Op: "list", Path: ".", Want: "AGENTS.md:other f:file link:link socket:other"},
		},
	}, {
		Name: "sparse terabyte",
		Tree: []string{"big # 1099511627776"},
		Steps: []Step{
			{Op: "stat", Path: "big", Want: "file 1099511627776"},
			{Op: "read", Path: "big", N: 4, Want: "\x00\x00\x00\x00"},
			{Op: "read", Path: "big", Off: 1 << 39, N: 2, Want: "\x00\x00"},
			{Op: "read", Path: "big", Off: 1<<40 - 1, Want: "\x00"},
			{Op: "read", Path: "big", Off: 1 << 40, Want: ""},
		},
	}, {
		Name: "no permission",
		Tree: []string{
			"file = x", "file ! 0000", "dir/file = x", "dir ! 0000", "walk/file = x", "walk ! 0311", "ok = y",
			"pipe |", "pipe ! 0000", "socket ^", "socket ! 0000", "to-dir -> dir", "to-pipe -> pipe", "to-file -> file",
		},
		Ordinary: true,
		Steps: []Step{
			// What isn't a regular file is what it is, whoever looks.
			{Op: "read", Path: "dir", Errno: "EISDIR"},
			{Op: "read", Path: "to-dir", Errno: "EISDIR"},
			{Op: "read", Path: "pipe", Errno: "EIO"},
			{Op: "read", Path: "to-pipe", Errno: "EIO"},
			{Op: "read", Path: "socket", Errno: "EIO"},
			{Op: "read", Path: "to-file", Errno: "EACCES"},
			{Op: "list", Path: "to-dir", Errno: "EACCES"},
			{Op: "list", Path: "walk", Errno: "EACCES"},
			{Op: "read", Path: "walk/file", Want: "x"},
			{Op: "read", Path: "file", Errno: "EACCES"},
			{Op: "stat", Path: "file", Want: "file 1"},
			{Op: "read", Path: "dir/file", Errno: "EACCES"},
			{Op: "stat", Path: "dir/file", Errno: "EACCES"},
			{Op: "list", Path: "dir", Errno: "EACCES"},
			{Op: "read", Path: "ok", Want: "y"},
		},
	}, {
		Name: "names that aren't UTF-8",
		Tree: []string{"bad\xff = x", "dir\xfe/file = y", "good = z", "ü = umlaut", "link -> dir\xfe/file"},
		Steps: []Step{
			{Op: "list", Path: ".", Want: "good:file link:link ü:file"},
			{Op: "read", Path: "ü", Want: "umlaut"},
			{Op: "read", Path: "link", Errno: "ENOENT"},
		},
	}, {
		Name:  "byte order",
		Tree:  []string{"b = 1", "B = 1", "a = 1", "_ = 1", "a.b = 1", "a-b = 1", "é = 1", "z/"},
		Steps: []Step{{Op: "list", Path: ".", Want: "B:file _:file a:file a-b:file a.b:file b:file z:dir é:file"}},
	}}
}

func visibilityCases() []Case {
	return []Case{{
		Name:  "reads",
		Tree:  []string{"AGENTS.md = a", "README.md = r", ".agents/skills/foo/SKILL.md = s", ".agents/skills/foo/x.py = p", ".agents/skills/file = f", ".agents/other/x = o", "src/x.go = g", "skills = not a directory"},
		Reads: []string{"AGENTS.md", "{.agents/,}skills/*/SKILL.md"},
		Steps: []Step{
			{Op: "list", Path: ".", Want: ".agents:dir AGENTS.md:file"},
			{Op: "list", Path: ".agents", Want: "skills:dir"},
			{Op: "list", Path: ".agents/skills", Want: "foo:dir"},
			{Op: "list", Path: ".agents/skills/foo", Want: "SKILL.md:file"},
			{Op: "read", Path: ".agents/skills/foo/SKILL.md", Want: "s"},
			{Op: "read", Path: ".agents/skills/foo/x.py", Errno: "ENOENT"},
			{Op: "read", Path: "README.md", Errno: "ENOENT"},
			{Op: "stat", Path: "src", Errno: "ENOENT"},
			{Op: "list", Path: ".agents/other", Errno: "ENOENT"},
			{Op: "stat", Path: ".agents/skills/file", Errno: "ENOENT"},
			{Op: "lstat", Path: ".agents/skills/file", Errno: "ENOENT"},
			{Op: "stat", Path: "skills", Errno: "ENOENT"},
			{Op: "read", Path: "skills", Errno: "ENOENT"},
			{Op: "read", Path: "skills/foo/SKILL.md", Errno: "ENOTDIR"},
		},
	}, {
		Name:  "reads count on the path asked for",
		Tree:  []string{"docs/real.md = r", "AGENTS.md -> docs/real.md", ".agents/skills -> ../store", "store/foo/SKILL.md = s", "store/foo/x = x"},
		Reads: []string{"AGENTS.md", ".agents/skills/*/SKILL.md"},
		Steps: []Step{
			{Op: "read", Path: "AGENTS.md", Want: "r"},
			{Op: "read", Path: "docs/real.md", Errno: "ENOENT"},
			{Op: "list", Path: ".", Want: ".agents:dir AGENTS.md:link"},
			{Op: "list", Path: ".agents", Want: "skills:link"},
			{Op: "list", Path: ".agents/skills", Want: "foo:dir"},
			{Op: "list", Path: ".agents/skills/foo", Want: "SKILL.md:file"},
			{Op: "read", Path: ".agents/skills/foo/SKILL.md", Want: "s"},
			{Op: "read", Path: "store/foo/SKILL.md", Errno: "ENOENT"},
		},
	}, {
		Name:  "narrowed",
		Tree:  []string{"a/x.md = 1", "a/y.md = 2", "b/x.md = 3"},
		Reads: []string{"**/*.md"},
		View:  vfs.View{Narrow: []string{"a/**"}},
		Steps: []Step{
			{Op: "list", Path: ".", Want: "a:dir"},
			{Op: "read", Path: "a/x.md", Want: "1"},
			{Op: "read", Path: "b/x.md", Errno: "ENOENT"},
			{Op: "stat", Path: "b", Errno: "ENOENT"},
		},
	}, {
		Name:    "excluded",
		Tree:    []string{"AGENTS.md = a", "vendor/AGENTS.md = v", "vendor/deep/x = x", "x/private.md = p", "link -> vendor/AGENTS.md", "dir -> vendor"},
		Options: vfs.RootOptions{Exclude: []string{"vendor", "**/private.*"}},
		Steps: []Step{
			{Op: "list", Path: ".", Want: "AGENTS.md:file dir:link link:link x:dir"},
			{Op: "list", Path: "x", Want: ""},
			{Op: "read", Path: "vendor/AGENTS.md", Errno: "ENOENT"},
			{Op: "stat", Path: "vendor", Errno: "ENOENT"},
			{Op: "stat", Path: "vendor/deep/x", Errno: "ENOENT"},
			{Op: "read", Path: "link", Errno: "ENOENT"},
			{Op: "list", Path: "dir", Errno: "ENOENT"},
			{Op: "read", Path: "x/private.md", Errno: "ENOENT"},
		},
	}, {
		Name: "root is one file",
		Tree: []string{"AGENTS.md = a", "CLAUDE.md = c", "docs/x.md = x"},
		File: "AGENTS.md",
		Steps: []Step{
			{Op: "list", Path: ".", Want: "AGENTS.md:file"},
			{Op: "read", Path: "AGENTS.md", Want: "a"},
			{Op: "read", Path: "CLAUDE.md", Errno: "ENOENT"},
			{Op: "stat", Path: "docs", Errno: "ENOENT"},
		},
	}, {
		Name: "root is one file, a link",
		Tree: []string{"AGENTS.md -> docs/x.md", "docs/x.md = x"},
		File: "AGENTS.md",
		Steps: []Step{
			{Op: "list", Path: ".", Want: "AGENTS.md:link"},
			{Op: "read", Path: "AGENTS.md", Want: "x"},
			{Op: "read", Path: "docs/x.md", Errno: "ENOENT"},
		},
	}}
}

func protectedCases() []Case {
	secrets := []string{
		".env = TOKEN", ".env.local = TOKEN", "pkg/.ENV = TOKEN", ".git/config = TOKEN", "sub/.git = gitdir: x", ".ssh/id = TOKEN",
		"keys/server.pem = TOKEN", "keys/Server.KEY = TOKEN", "id_rsa = TOKEN", ".docker/config.json = TOKEN", ".docker/x = fine",
		".npmrc = TOKEN", "AGENTS.md -> .env", "CLAUDE.md -> pkg/.ENV", "hooks -> .git", "chain -> AGENTS.md", "gone -> .git/nothing/x", "notdir -> .env/x",
		"hard.md => .env", "fine.md = fine", ".env.link -> fine.md", "over.md -> .env.link",
	}
	mcp := []string{
		".mcp.json = TOKEN", ".vscode/mcp.json = TOKEN", ".vscode/x = fine", ".codex/config.toml = TOKEN", ".gemini/settings.json = TOKEN",
		"sub/opencode.json = TOKEN", "AGENTS.md -> .mcp.json", "CLAUDE.md -> .codex/config.toml", "hard.md => .mcp.json", "hard2.md => .vscode/mcp.json",
		"custom.json = TOKEN", "custom.md -> custom.json", ".env = TOKEN", "env.json -> .env",
	}
	return []Case{{
		Name: "secrets",
		Tree: secrets,
		Steps: []Step{
			{Op: "list", Path: ".", Want: ".docker:dir AGENTS.md:link CLAUDE.md:link chain:link fine.md:file gone:link hard.md:file hooks:link keys:dir notdir:link over.md:link pkg:dir sub:dir"},
			{Op: "list", Path: "pkg", Want: ""},
			{Op: "list", Path: "sub", Want: ""},
			{Op: "list", Path: "keys", Want: ""},
			{Op: "list", Path: ".docker", Want: "x:file"},
			{Op: "read", Path: ".env", Errno: "ENOENT"},
			{Op: "stat", Path: ".env.local", Errno: "ENOENT"},
			{Op: "lstat", Path: ".env", Errno: "ENOENT"},
			{Op: "read", Path: ".git/config", Errno: "ENOENT"},
			{Op: "list", Path: ".git", Errno: "ENOENT"},
			{Op: "list", Path: "hooks", Errno: "ENOENT"},
			{Op: "read", Path: "hooks/config", Errno: "ENOENT"},
			{Op: "read", Path: "AGENTS.md", Errno: "ENOENT"},
			{Op: "stat", Path: "CLAUDE.md", Errno: "ENOENT"},
			{Op: "read", Path: "chain", Errno: "ENOENT"},
			{Op: "read", Path: "gone", Errno: "ENOENT"},
			{Op: "read", Path: "notdir", Errno: "ENOENT"},
			{Op: "read", Path: "hard.md", Errno: "ENOENT"},
			{Op: "read", Path: "over.md", Errno: "ENOENT"},
			{Op: "read", Path: "fine.md", Want: "fine"},
			{Op: "read", Path: "keys/Server.KEY", Errno: "ENOENT"},
		},
	}, {
		Name: "secrets granted by entry",
		Tree: secrets,
		View: vfs.View{GrantSecrets: []string{".env*"}},
		Steps: []Step{
			{Op: "read", Path: ".env", Want: "TOKEN"},
			{Op: "read", Path: "AGENTS.md", Want: "TOKEN"},
			{Op: "read", Path: "hard.md", Want: "TOKEN"},
			{Op: "read", Path: ".git/config", Errno: "ENOENT"},
			{Op: "read", Path: "id_rsa", Errno: "ENOENT"},
		},
	}, {
		Name:    "MCP configuration, for the others",
		Tree:    mcp,
		Options: vfs.RootOptions{MCPFiles: []string{"custom.json"}},
		Steps: []Step{
			{Op: "list", Path: ".", Want: ".codex:dir .gemini:dir .vscode:dir AGENTS.md:link CLAUDE.md:link custom.md:link env.json:link hard.md:file hard2.md:file sub:dir"},
			{Op: "list", Path: ".vscode", Want: "x:file"},
			{Op: "read", Path: ".mcp.json", Errno: "ENOENT"},
			{Op: "stat", Path: ".vscode/mcp.json", Errno: "ENOENT"},
			{Op: "read", Path: "sub/opencode.json", Errno: "ENOENT"},
			{Op: "read", Path: "AGENTS.md", Errno: "ENOENT"},
			{Op: "stat", Path: "CLAUDE.md", Errno: "ENOENT"},
			{Op: "read", Path: "hard.md", Errno: "ENOENT"},
			{Op: "read", Path: "hard2.md", Errno: "ENOENT"},
			{Op: "read", Path: "custom.json", Errno: "ENOENT"},
			{Op: "read", Path: "custom.md", Errno: "ENOENT"},
		},
	}, {
		Name:    "MCP configuration, for its resolver",
		Tree:    mcp,
		Options: vfs.RootOptions{MCPFiles: []string{"custom.json"}},
		View:    vfs.View{MCPOnly: true},
		Steps: []Step{
			{Op: "read", Path: ".mcp.json", Want: "TOKEN"},
			{Op: "read", Path: ".codex/config.toml", Want: "TOKEN"},
			{Op: "read", Path: "AGENTS.md", Want: "TOKEN"},
			{Op: "read", Path: "custom.json", Want: "TOKEN"},
			{Op: "read", Path: ".env", Errno: "ENOENT"},
			{Op: "read", Path: "env.json", Errno: "ENOENT"},
		},
	}}
}
