package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// Shell runs a process's command as sh -c does, in memory: an interpreter with its
// builtins, over the fake's files. Of programs it has cat, sleep, seq, head -c N,
// tr -d, ls and env, as far as tests need them; others aren't found, and nothing
// of this machine is ever run, read or written.
func Shell(ctx context.Context, p *Process) int {
	text := p.Command
	if len(p.Argv) != 3 || p.Argv[0] != "sh" || p.Argv[1] != "-c" {
		text = quote(p.Argv)
	}
	script, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		_, _ = fmt.Fprintf(p.Output, "sh: %v\n", err)
		return 2
	}
	sh := &shell{p}
	runner, err := interp.New(
		interp.Env(expand.FuncEnviron(func(name string) string { return p.Env[name] })),
		interp.StdIO(nil, p.Output, p.Output),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.OpenHandler(sh.open),
		interp.ReadDirHandler2(func(_ context.Context, name string) ([]fs.DirEntry, error) { return p.Files().list(name) }),
		interp.StatHandler(func(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
			return p.Files().info(name, follow)
		}),
		interp.AccessHandler(func(_ context.Context, name string, _ interp.AccessMode) error {
			_, err := p.Files().info(name, true)
			return err
		}),
	)
	if err != nil {
		_, _ = fmt.Fprintf(p.Output, "sh: %v\n", err)
		return 2
	}
	runner.Dir = p.WorkDir // the option would look for it on the disk
	err = runner.Run(ctx, script)
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	_, _ = fmt.Fprintf(p.Output, "sh: %v\n", err)
	return 1
}

func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// shell is what one Shell runs in.
type shell struct {
	p *Process
}

// program is what a command's name stands for; nil where it isn't found.
func program(name string) func(ctx context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	switch name {
	case "cat":
		return cat
	case "sleep":
		return sleep
	case "seq":
		return seq
	case "head":
		return head
	case "tr":
		return tr
	case "ls":
		return ls
	case "env":
		return env
	case "sh":
		return sh
	}
	return nil
}

// exec runs a program.
func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	run := program(path.Base(args[0]))
	if run == nil {
		_, _ = fmt.Fprintf(hc.Stderr, "sh: %s: not found\n", args[0])
		return interp.ExitStatus(127)
	}
	err := run(ctx, s, &hc, args[1:])
	var status interp.ExitStatus
	if err == nil || errors.As(err, &status) || ctx.Err() != nil {
		return err
	}
	_, _ = fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
	return interp.ExitStatus(1)
}

// stdin is what a program reads: the pipe before it, or the process's own.
func (s *shell) stdin(hc *interp.HandlerContext) io.Reader {
	if f, ok := hc.Stdin.(*os.File); hc.Stdin == nil || ok && f == nil {
		return s.p.Stdin
	}
	return hc.Stdin
}

func absolute(hc *interp.HandlerContext, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(hc.Dir, name)
}

func cat(_ context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		if name == "-" {
			if _, err := io.Copy(hc.Stdout, s.stdin(hc)); err != nil {
				return err
			}
			continue
		}
		content, err := s.p.Files().Read(absolute(hc, name))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(hc.Stdout, content); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, _ *shell, _ *interp.HandlerContext, args []string) error {
	var total time.Duration
	for _, arg := range args {
		seconds, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return fmt.Errorf("invalid time interval %q", arg)
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	timer := time.NewTimer(total)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func seq(ctx context.Context, _ *shell, hc *interp.HandlerContext, args []string) error {
	from, to, err := 1, 0, errors.New("wants FIRST LAST, or LAST")
	switch len(args) {
	case 1:
		to, err = strconv.Atoi(args[0])
	case 2:
		if from, err = strconv.Atoi(args[0]); err == nil {
			to, err = strconv.Atoi(args[1])
		}
	}
	if err != nil {
		return err
	}
	var b []byte
	for i := from; i <= to && ctx.Err() == nil; i++ {
		b = append(strconv.AppendInt(b, int64(i), 10), '\n')
		if len(b) > 4096 || i == to {
			if _, err := hc.Stdout.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return ctx.Err()
}

func head(_ context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	if len(args) < 2 || args[0] != "-c" {
		return errors.New("only -c N is known")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("invalid number of bytes %q", args[1])
	}
	from := s.stdin(hc)
	if len(args) > 2 {
		if path.Clean(args[2]) == "/dev/zero" {
			from = zeros{}
		} else {
			content, err := s.p.Files().Read(absolute(hc, args[2]))
			if err != nil {
				return err
			}
			from = strings.NewReader(content)
		}
	}
	_, err = io.Copy(hc.Stdout, io.LimitReader(from, n))
	return err
}

// zeros is /dev/zero.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// tr replaces one byte by another, which may be written as \NNN.
func tr(_ context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	if len(args) != 2 {
		return errors.New("only FROM TO is known, a byte each")
	}
	var bytes [2]byte
	for i, arg := range args {
		text, err := strconv.Unquote(`"` + strings.Replace(arg, `\0`, `\000`, 1) + `"`)
		if err != nil || len(text) != 1 {
			return fmt.Errorf("%q is not one byte", arg)
		}
		bytes[i] = text[0]
	}
	data, err := io.ReadAll(s.stdin(hc))
	if err != nil {
		return err
	}
	for i, b := range data {
		if b == bytes[0] {
			data[i] = bytes[1]
		}
	}
	_, err = hc.Stdout.Write(data)
	return err
}

func ls(_ context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, name := range args {
		entries, err := s.p.Files().list(absolute(hc, name))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if _, err := fmt.Fprintln(hc.Stdout, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func env(_ context.Context, s *shell, hc *interp.HandlerContext, _ []string) error {
	var lines []string
	for name, value := range s.p.Env {
		lines = append(lines, name+"="+value+"\n")
	}
	slices.Sort(lines)
	_, err := io.WriteString(hc.Stdout, strings.Join(lines, ""))
	return err
}

// sh runs another script.
func sh(ctx context.Context, s *shell, hc *interp.HandlerContext, args []string) error {
	if len(args) != 2 || args[0] != "-c" {
		return errors.New("only -c SCRIPT is known")
	}
	child := *s.p
	child.Command, child.Argv, child.WorkDir = args[1], []string{"sh", "-c", args[1]}, hc.Dir
	child.Stdin, child.Output = s.stdin(hc), hc.Stdout
	if code := Shell(ctx, &child); code != 0 {
		return interp.ExitStatus(code) //nolint:gosec // a shell's, from 0 to 255
	}
	return nil
}

// open opens a file for a redirection.
func (s *shell) open(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	name = absolute(&hc, name)
	if name == "/dev/null" {
		return &file{null: true}, nil
	}
	content, err := s.p.Files().Read(name)
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return &file{reader: strings.NewReader(content)}, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if info, err := s.p.Files().info(path.Dir(name), true); err != nil || !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if flag&os.O_TRUNC != 0 {
		content = ""
	}
	return &file{files: s.p.Files(), name: name, content: content}, s.p.Files().Write(name, content)
}

// file is an open one.
type file struct {
	null    bool
	reader  io.Reader // of what is read
	files   *Files
	name    string
	content string
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	if f.reader == nil {
		return 0, io.EOF
	}
	return f.reader.Read(p)
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	if f.null {
		return len(p), nil
	}
	f.content += string(p)
	return len(p), f.files.Write(f.name, f.content)
}

// Close implements io.Closer.
func (f *file) Close() error { return nil }
