package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func fileCases() []Case {
	var list []Case
	for _, c := range workspaces() {
		c.Builtin = true
		list = append(list, c)
	}
	list = append(append(list, guests()...), races()...)
	for i := range list {
		c := &list[i]
		c.Class, c.Name = ClassFiles, "files/"+c.Name
		if c.Within == 0 {
			c.Within = 2 * time.Second
		}
		if c.Memory == 0 {
			c.Memory = 192 // the built-in module has a Go runtime for each instance
		}
	}
	return list
}

func skillFile(name string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: About %s.\n---\nbody\n", name, name)
}

// workspaces are what the built-in resolvers have to look at.
func workspaces() []Case {
	found := func(name string, want []string, lines ...string) Case {
		return Case{Name: name, Workspace: tree(lines...), Want: rows(want...)}
	}
	const escapes = "the link escapes the root"
	long := strings.Repeat("d", 200)
	return []Case{
		found("links", []string{"instruction_file:docs/rules.md ok"},
			"docs/rules.md = r", "b -> docs/rules.md", "AGENTS.md -> b", "CLAUDE.md -> $ROOT/AGENTS.md", ".cursorrules -> ../root/docs/../b"),
		found("links-that-loop", []string{"instruction_file:AGENTS.md unreadable", "instruction_file:CLAUDE.md unreadable"},
			"AGENTS.md -> AGENTS.md", "CLAUDE.md -> x", "x -> y", "y -> x", "skills -> skills"),
		found("links-that-dangle", []string{"instruction_file:AGENTS.md unreadable", "skill:skills/one unreadable"},
			"AGENTS.md -> nothing", "skills/one/SKILL.md -> nothing"),
		found("links-out", []string{
			"instruction_file:.cursorrules invalid " + escapes, "instruction_file:AGENTS.md invalid " + escapes,
			"instruction_file:CLAUDE.md invalid " + escapes, "mcp_config:.mcp.json invalid " + escapes,
			"skill:skills/one invalid " + escapes, "skill:skills/two invalid " + escapes,
		}, "AGENTS.md -> $OUT/secret", "CLAUDE.md -> ../outside/secret", ".cursorrules -> /etc/passwd", ".mcp.json -> $OUT/secret",
			"skills/one/SKILL.md -> $OUT/secret", "skills/two -> $OUT/dir"),
		found("links-through-a-linked-parent", []string{"instruction_file:AGENTS.md invalid " + escapes, "instruction_file:CLAUDE.md invalid " + escapes},
			"up -> ..", "out -> up/outside", "AGENTS.md -> out/secret", "CLAUDE.md -> up/outside/dir/../secret"),
		found("links-to-the-process", []string{
			"instruction_file:.cursorrules invalid " + escapes, "instruction_file:AGENTS.md invalid " + escapes, "instruction_file:CLAUDE.md invalid " + escapes,
		}, "AGENTS.md -> /proc/self/environ", "CLAUDE.md -> /proc/self/root/etc/passwd", ".cursorrules -> /dev/zero"),
		found("links-41-deep", []string{"instruction_file:AGENTS.md unreadable"}, chain(60)...),
		found("links-of-4000-bytes", []string{"instruction_file:AGENTS.md unreadable the link is broken"}, "AGENTS.md -> "+strings.Repeat("./", 1900)+"x"),
		found("fifo", []string{"instruction_file:AGENTS.md unreadable", "mcp_config:.mcp.json unreadable", "skill:skills/one unreadable"},
			"AGENTS.md |", ".mcp.json |", "skills/one/SKILL.md |", "skills/two |"),
		found("socket", []string{"instruction_file:AGENTS.md unreadable"}, "AGENTS.md ^", "skills ^"),
		{Name: "device", Workspace: device, Want: rows("instruction_file:AGENTS.md unreadable not a regular file")},
		found("sparse-terabyte", []string{"instruction_file:AGENTS.md oversize 1099511627776 bytes", "skill:skills/one oversize"},
			"AGENTS.md # 1099511627776", "skills/one/SKILL.md # 1099511627776"),
		found("directories-named-like-files", nil, "AGENTS.md/x = a", ".mcp.json/x = b", "skills/one/SKILL.md/x = c"),
		found("secrets", nil, ".env = "+canary, "AGENTS.md -> .env", "CLAUDE.md => .env", ".git/config = "+canary, ".cursorrules -> .git/config"),
		found("names-not-utf8", []string{"skill:skills/one ok"}, "skills/one/SKILL.md = "+skillFile("one"), "skills/\xff\xfe/SKILL.md = x", "\xff = x"),
		found("names-with-controls", []string{"skill:skills/\x1b[2J invalid", "skill:skills/a\nb invalid", "skill:skills/\u202e invalid"}, "skills/a\nb/SKILL.md = x", "skills/\x1b[2J/SKILL.md = x", "skills/\u202e/SKILL.md = x"),
		found("deep-path", []string{"instruction_file:AGENTS.md ok"}, "AGENTS.md = x", long+"/"+long+"/"+long+"/"+long+"/"+long+"/"+long+"/"+long+"/x = x"),
		{Name: "deeper-than-a-path", Workspace: deep, Want: rows("instruction_file:AGENTS.md ok")},
		found("front-matter-bomb", []string{"skill:skills/one invalid", "skill:skills/three invalid", "skill:skills/two invalid"}, "skills/one/SKILL.md = ---\n"+yamlBomb()+"\n---\nx", "skills/two/SKILL.md = ---\nname: "+strings.Repeat("[", 30_000)+"\n---\n",
			"skills/three/SKILL.md = ---\n"+strings.Repeat("a: {", 15_000)+"\n---\n"),
		found("mcp-deep", []string{"instruction_file:AGENTS.md ok", "mcp_config:.mcp.json invalid"}, ".mcp.json = "+strings.Repeat("[", 30_000), "AGENTS.md = "+strings.Repeat("#", 60_000)),
		{Name: "entries-100000", Workspace: entries("skills", 100_001), Within: 6 * time.Second, Want: ends(Ready, Limit)},
		{Name: "skills-450", Workspace: func(root string) error {
			for i := range 450 { // more would crowd out the victim
				if err := treeLine(root, fmt.Sprintf("skills/s%04d/SKILL.md = %s", i, skillFile(fmt.Sprintf("s%04d", i)))); err != nil {
					return err
				}
			}
			return nil
		}, Within: 6 * time.Second, Memory: 256, Want: ends(Ready, Limit)},
	}
}

// device makes a /dev/zero, or, where one may not, something else that isn't a
// regular file.
func device(root string) error {
	const zero = 1<<8 | 5
	err := syscall.Mknod(filepath.Join(root, "AGENTS.md"), syscall.S_IFCHR|0o644, zero)
	if err != nil {
		return treeLine(root, "AGENTS.md |")
	}
	return nil
}

// chain is n links, one after the other.
func chain(n int) []string {
	lines := []string{"AGENTS.md -> l1", fmt.Sprintf("l%d = x", n)}
	for i := 1; i < n; i++ {
		lines = append(lines, fmt.Sprintf("l%d -> l%d", i, i+1))
	}
	return lines
}

func yamlBomb() string {
	lines := []string{"a0: &a0 [x, x, x, x, x, x, x, x, x]"}
	for i := 1; i < 12; i++ {
		lines = append(lines, fmt.Sprintf("a%d: &a%d [%s]", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", ")))
	}
	return strings.Join(append(lines, "name: *a11"), "\n")
}

// entries makes n empty files. They are hard links, which are made much faster
// than files; a file system may bound the links to one file.
func entries(dir string, n int) func(string) error {
	const links = 30_000
	return func(root string) error {
		dir := filepath.Join(root, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i := range n {
			name := filepath.Join(dir, strconv.Itoa(i))
			var err error
			if i%links == 0 {
				err = os.WriteFile(name, nil, 0o644)
			} else {
				err = os.Link(filepath.Join(dir, strconv.Itoa(i-i%links)), name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// deep makes a path of more than 4096 bytes, step by step.
func deep(root string) error {
	if err := treeLine(root, "AGENTS.md = x"); err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	name := strings.Repeat("d", 200)
	for range 30 {
		if err := r.Mkdir(name, 0o755); err != nil {
			return errors.Join(err, r.Close())
		}
		next, err := r.OpenRoot(name)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		r = next
	}
	return r.Close()
}

// guests ask for what they may not have, and trap when they get it.
func guests() []Case {
	paths := []string{
		"../outside/secret", "/etc/passwd", "a/../../outside/secret", "VICTIM.md/../../outside/secret", "out/secret", "up/outside/secret",
		"link", "absolute", ".env", "sub/.env", ".git/config", ".mcp.json", "hard", "proc/self/environ", "loop", "fifo", "socket", "dir", "./../outside/secret",
		"//etc/passwd", "..", "up", "out/.", "env-link", strings.Repeat("a/", 3000),
	}
	workspace := tree("out -> $OUT", "up -> ..", "link -> $OUT/secret", "absolute -> /etc/passwd", ".env = x", "sub/.env = x", ".git/config = x",
		".mcp.json = {}", "hard => .env", "proc -> /proc", "loop -> loop", "fifo |", "socket ^", "dir/x = x", "env-link -> .env")
	var data, fs, open strings.Builder
	at := 65536
	for _, p := range paths {
		fmt.Fprintf(&data, "(data (i32.const %d) %q)\n", at, p)
		fmt.Fprintf(&fs, `(if (i64.ne (i64.const 0) (call $fs_read (call $text (i32.const %d) (i32.const %d)) (i64.const 0) (i64.const 100))) (then (unreachable)))`+"\n", at, len(p))
		if p != "dir" && p != "fifo" && p != "socket" { // a directory may be opened
			fmt.Fprintf(&open, `(if (i32.eqz (call $path_open (i32.const 3) (i32.const 1) (i32.const %d) (i32.const %d) (i32.const 0)
			  (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65000))) (then (unreachable)))`+"\n", at, len(p))
		}
		at += len(p)
	}
	writes := func(name, params, args string) Case {
		return Case{Name: "write-" + name, Module: module{
			Imports: wasi(name, params), Fields: `(data (i32.const 65536) "VICTIM.md") (data (i32.const 65545) "new")`,
			Resolve: `(if (i32.eqz (call $` + name + ` ` + args + `)) (then (unreachable)))`,
		}.build, Want: rows()}
	}
	const old, fresh = `(i32.const 65536) (i32.const 9)`, `(i32.const 65545) (i32.const 3)`
	return []Case{
		{Name: "guest-asks-fs", Workspace: workspace, Module: module{Imports: kernel + files, Fields: data.String(), Resolve: fs.String()}.build, Want: rows()},
		{Name: "guest-asks-wasi", Workspace: workspace, Module: module{
			Imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), Fields: data.String(), Resolve: open.String(),
		}.build, Want: rows()},
		{Name: "unreadable", Nobody: true, Workspace: tree("a.md = x", "a.md ! 000", "d/x = x", "d ! 000"), Module: module{Response: `{"resources":[
			{"kind":"instruction_file","path":"a.md","content":{"file":"a.md"}}]}`}.build, Want: rows("instruction_file:a.md unreadable no permission")},
		{Name: "content-links-out", Workspace: workspace, Module: module{Response: `{"resources":[
			{"kind":"instruction_file","path":"link","content":{"file":"link"}},
			{"kind":"instruction_file","path":"out/secret","content":{"file":"out/secret"}}]}`}.build,
			Want: rows("instruction_file:link invalid the link escapes", "instruction_file:out/secret invalid the link escapes")},
		writes("path_create_directory", "i32 i32 i32", `(i32.const 3) `+fresh),
		writes("path_unlink_file", "i32 i32 i32", `(i32.const 3) `+old),
		writes("path_rename", "i32 i32 i32 i32 i32 i32", `(i32.const 3) `+old+` (i32.const 3) `+fresh),
		writes("path_symlink", "i32 i32 i32 i32 i32", old+` (i32.const 3) `+fresh),
		writes("path_link", "i32 i32 i32 i32 i32 i32 i32", `(i32.const 3) (i32.const 0) `+old+` (i32.const 3) `+fresh),
		writes("path_filestat_set_times", "i32 i32 i32 i32 i64 i64 i32", `(i32.const 3) (i32.const 0) `+old+` (i64.const 1) (i64.const 1) (i32.const 5)`),
		writes("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32", `(i32.const 3) (i32.const 0) `+fresh+` (i32.const 1) (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 65600)`),
		{Name: "reads-again-and-again", Module: module{ // within its limits a guest may; beyond them it ends
			Imports: kernel + files, Fields: `(data (i32.const 65536) "big")`,
			Resolve: `(loop $l (local.set $n (call $text (i32.const 65536) (i32.const 3)))
			  (local.set $m (call $fs_read (local.get $n) (local.get $x) (i64.const 4000000)))
			  (call $free (local.get $m)) (call $free (local.get $n)) (br $l))`,
		}.with("(local.get $x)", "(i64.extend_i32_u (local.tee $i (i32.add (local.get $i) (i32.const 3000000))))"),
			Workspace: tree("big # 2000000000"), Limits: limits(5 * time.Second), Want: ends(Limit, Crashed)},
	}
}

// with replaces a word of resolve and builds the module.
func (m module) with(word, text string) func() []byte {
	m.Resolve = strings.ReplaceAll(m.Resolve, word, text)
	return m.build
}

// races change the workspace while it is looked at.
func races() []Case {
	again := func(steps ...string) func(context.Context, Dirs) error {
		return func(ctx context.Context, dirs Dirs) error {
			for i := 0; ctx.Err() == nil; i++ {
				step := steps[i%len(steps)]
				name, _, _ := strings.Cut(step, " ")
				name, _, _ = strings.Cut(name, "/") // never through a link of our own
				_ = os.RemoveAll(filepath.Join(dirs.Root, name))
				if err := treeLine(dirs.Root, step); err != nil {
					return err
				}
			}
			return nil
		}
	}
	race := func(name string, steps ...string) Case {
		return Case{Name: "race-" + name, Builtin: true, Rounds: 8, During: again(steps...), Want: ends(Ready, Limit), Within: 10 * time.Second}
	}
	return []Case{
		race("link-out", "AGENTS.md = inside", "AGENTS.md -> $OUT/secret"),
		race("link-to-secret", "AGENTS.md = inside", "AGENTS.md -> .env", ".env = "+canary),
		race("link-to-mcp", "AGENTS.md = inside", "AGENTS.md -> .mcp.json", ".mcp.json = "+canary),
		race("parent-out", "skills/dir/SKILL.md = "+skillFile("dir"), "skills -> $OUT"),
		race("file-to-fifo", "AGENTS.md = inside", "AGENTS.md |"),
		race("file-to-directory", "AGENTS.md = inside", "AGENTS.md/x = x"),
		race("vanishing", "skills/one/SKILL.md = "+skillFile("one"), "skills/one/SKILL.md = x", "skills/"),
		{Name: "race-growing", Builtin: true, Rounds: 8, Want: ends(Ready), Within: 10 * time.Second, Workspace: tree("AGENTS.md = x"),
			During: func(ctx context.Context, dirs Dirs) error {
				f, err := os.OpenFile(filepath.Join(dirs.Root, "AGENTS.md"), os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				for i := 0; ctx.Err() == nil; i++ {
					if i%10_000 == 0 {
						err = errors.Join(err, f.Truncate(0))
					}
					_, e := f.WriteString("more and more\n")
					err = errors.Join(err, e)
				}
				return errors.Join(err, f.Close())
			}},
	}
}
