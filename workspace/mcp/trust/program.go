package trust

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
	"waymark/internal/text"
	"waymark/workspace/mcp/entry"
)

// program is the started program, or the interpreter of a script.
type program struct {
	path  string // as found: absolute, possibly with links
	links []link // the links on the way, with absolute paths
	end   string // path without links
	sum   string
	id    identity
	// static says that it runs without other files.
	static bool
	// interpreter runs it; nil if it isn't a script.
	interpreter *program
}

// maxScripts is how many times Linux accepts a script as the interpreter of another script.
const maxScripts = 4

// search is where to look for programs.
type search struct {
	root, cwd string
	env       []string
	looked    []string // absolute paths that were checked
}

// program finds a command's program and its interpreters.
func (s *Store) program(ctx context.Context, in *search, command string) (*program, error) {
	path, err := in.lookUp(command)
	if err != nil {
		return nil, err
	}
	return s.inspect(ctx, in, path, maxScripts)
}

func (s *Store) inspect(ctx context.Context, in *search, path string, scripts int) (*program, error) {
	r, err := beneath.Resolve(path, beneath.Options{})
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoProgram, path, err)
	}
	p := &program{path: path, end: beneath.Absolute(r.Path())}
	for _, passed := range r.Passed() {
		if target, err := os.Readlink(passed); err == nil {
			p.links = append(p.links, link{passed, target})
		}
	}
	_, inside := below(in.root, p.end)
	// Outside the workspace a file belongs to the system or the user. Its times are
	// trusted, because hashing a program of 100 MB would delay each start.
	got, err := s.contents.sum(ctx, r, !inside)
	if err != nil {
		return nil, err
	}
	p.sum, p.id = got.sum, got.id
	if p.interpreter, err = s.interpreter(ctx, in, got.head, scripts); err != nil {
		return nil, err
	}
	p.static = bytes.HasPrefix(got.head, []byte(elf.ELFMAG)) && static(r)
	return p, nil
}

// interpreter finds the program that a script names after "#!", also after env. If that
// doesn't exist, the start will fail.
func (s *Store) interpreter(ctx context.Context, in *search, head []byte, scripts int) (*program, error) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 || scripts == 0 {
		return nil, nil
	}
	runner, err := s.inspect(ctx, in, in.absolute(words[0]), scripts-1)
	if errors.Is(err, ErrNoProgram) || err == nil && filepath.Base(words[0]) != "env" {
		return runner, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(words[1:], func(word string) bool { return !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") })
	if i < 0 {
		return runner, nil
	}
	path, err := in.lookUp(words[1+i])
	if err != nil {
		return runner, nil //nolint:nilerr // what isn't there is an error of the start
	}
	last := runner
	for last.interpreter != nil {
		last = last.interpreter
	}
	if last.interpreter, err = s.inspect(ctx, in, path, scripts-1); err != nil && !errors.Is(err, ErrNoProgram) {
		return nil, err
	}
	return runner, nil
}

// lookUp finds a program like a shell: by its path if the name has a slash, otherwise in
// PATH. It ignores relative directories in PATH, because programs of the workspace must be
// named explicitly.
func (in *search) lookUp(command string) (string, error) {
	if strings.Contains(command, "/") {
		command = in.absolute(command)
		in.looked = append(in.looked, command)
		if err := executable(command); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrNoProgram, command, err)
		}
		return command, nil
	}
	var path string
	for _, variable := range in.env { // the last one wins
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := filepath.Join(dir, command)
		in.looked = append(in.looked, found)
		if executable(found) == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: there is no %q in PATH", ErrNoProgram, command)
}

// absolute makes a path absolute without cleaning it, because ".." after a link depends on
// its target.
func (in *search) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return in.cwd + "/" + path
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Unwrap(err)
	case !info.Mode().IsRegular():
		return errors.New("it isn't a regular file")
	}
	return unix.Access(path, unix.X_OK)
}

// static reports whether a Linux program needs neither a loader nor a library.
func static(r *beneath.Resolution) bool {
	fd, errno := r.Open(r.Path())
	if errno != 0 {
		return false
	}
	file := os.NewFile(uintptr(fd), r.Path())
	defer func() { _ = file.Close() }()
	image, err := elf.NewFile(file)
	if err != nil {
		return false
	}
	for _, p := range image.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	libraries, err := image.ImportedLibraries()
	return len(libraries) == 0 && (err == nil || errors.Is(err, elf.ErrNoSymbols))
}

// interpreters run the file that their first argument names.
var interpreters = set("node nodejs bun deno tsx ts-node python pypy ruby perl php java lua sh bash dash zsh ksh fish")

// fetchers run something from elsewhere: a registry, an image, a cache, or the text of
// another file.
var fetchers = set("npx npm pnpm pnpx yarn bunx uvx uv pipx pip docker podman nerdctl go cargo nix nix-shell nix-run mise asdf volta make just task gradle mvn " +
	"bundle composer poetry pdm hatch conda rye env sudo doas nohup nice timeout xargs exec busybox ssh kubectl cmd powershell pwsh corepack dotnet dlx")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(words) {
		m[word] = true
	}
	return m
}

// programKind returns the name of a program without a version.
func programKind(command string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	return cmp.Or(strings.TrimRight(name, "0123456789.-"), name)
}

// withValue are options of interpreters whose value is the next argument.
var withValue = set("-r --require --import --loader --experimental-loader -C --conditions -W -X -I --env-file --config --tsconfig -cp -classpath --class-path --seed")

// code matches an option, possibly combined with others, that is followed by a program's
// text instead of its file. module matches Python's option that is followed by a module.
var (
	code   = text.Lazy(`^-[A-Za-z]*[cep]$|^-[ce].`)
	module = text.Lazy(`^-[A-Za-z]*m$`)
)

// script returns the index of the argument that names what an interpreter or a fetcher
// runs, and whether it is the name of a Python module. The index is -1 if there is none, or
// if the program's text is an argument.
func script(kind string, args []string) (i int, isModule bool) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--" && i+1 < len(args):
			return i + 1, false
		case arg == "--eval" || arg == "--print" || arg == "--command" || arg == "-" || strings.HasPrefix(arg, "--eval=") || code().MatchString(arg):
			return -1, false
		case (kind == "python" || kind == "pypy") && module().MatchString(arg) && i+1 < len(args):
			return i + 1, true
		case arg == "-jar" && i+1 < len(args):
			return i + 1, false
		case withValue[arg]:
			i++
		case strings.HasPrefix(arg, "-"):
		case arg == "run" && (kind == "deno" || kind == "bun"):
		default:
			return i, false
		}
	}
	return -1, false
}

// pinned says what the digests of an entry cover.
func pinned(x *entry.Expanded, n *names, p *program) Pinned {
	for i := p; i != nil; i = i.interpreter {
		kind := programKind(i.path)
		if fetchers[kind] && (i == p || kind != "env") || fetchers[programKind(i.end)] && i == p {
			return PinnedEntry
		}
	}
	if kind := programKind(x.Command); interpreters[kind] || interpreters[programKind(p.end)] {
		if i, _ := script(kind, x.Args); i >= 0 && n.args[i] {
			return PinnedPartial
		}
		return PinnedEntry
	}
	if p.static && !n.uncovered {
		return PinnedFull
	}
	return PinnedPartial
}
