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

// workspaces are what the built-in resolvers have to look at, where it takes
// code to make them. Others are text.
func workspaces() []Case {
	return []Case{
		{Name: "device", Workspace: device, Want: rows("instruction_file:AGENTS.md unreadable not a regular file")},
		{Name: "deeper-than-a-path", Workspace: deep, Want: rows("instruction_file:AGENTS.md ok")},
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
	return []Case{
		{Name: "guest-asks-fs", Workspace: workspace, Module: module{Imports: kernel + files, Fields: data.String(), Resolve: fs.String()}.build, Want: rows()},
		{Name: "guest-asks-wasi", Workspace: workspace, Module: module{
			Imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), Fields: data.String(), Resolve: open.String(),
		}.build, Want: rows()},
	}
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
