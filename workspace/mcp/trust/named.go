package trust

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
	"waymark/workspace/mcp/entry"
)

// maxLooks limits the paths that are checked for an entry.
const maxLooks = 4096

// names are the files of the workspace that an entry names.
type names struct {
	links []link
	files []file // ordered by path
	// args has the indexes of arguments that name covered regular files.
	args map[int]bool
	// looked are the absolute paths that were checked.
	looked []string
	// uncovered says that the entry names something that can't be covered.
	uncovered bool
}

// link is a link on the way to a file. Its path is relative to the workspace if it is
// there.
type link struct{ path, target string }

// file is a file of the workspace.
type file struct {
	path   string
	sum    string
	id     identity
	other  string // what it is instead of a readable regular file
	secret bool   // it is on the secret list
}

// finder finds the files that an entry names.
type finder struct {
	ctx   context.Context //nolint:containedctx // of one call
	store *Store
	root  string
	cwd   string
	looks int
	links map[string]string
	files map[string]file
	names names
}

// named finds files of the workspace that the command, arguments and variables of an entry
// name.
func (s *Store) named(ctx context.Context, e *entry.Entry, x *entry.Expanded, root string) (*names, error) {
	f := &finder{ctx: ctx, store: s, root: root, cwd: x.Cwd, links: map[string]string{}, files: map[string]file{}, names: names{args: map[int]bool{}}}
	if root == "" {
		return &f.names, nil
	}
	if err := f.all(e, x); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(f.links)) {
		f.names.links = append(f.names.links, link{path, f.links[path]})
	}
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		f.names.files = append(f.names.files, f.files[path])
	}
	return &f.names, nil
}

func (f *finder) all(e *entry.Entry, x *entry.Expanded) error {
	if _, err := f.look(x.Cwd); err != nil { // for the links on the way
		return err
	}
	if strings.Contains(x.Command, "/") {
		if _, err := f.look(x.Command); err != nil {
			return err
		}
	}
	for i, arg := range x.Args {
		covered, err := f.look(arg)
		if err != nil {
			return err
		}
		f.names.args[i] = covered
		if err := f.text(arg); err != nil {
			return err
		}
	}
	for _, value := range e.Env { // unexpanded: what it refers to may change
		if len(e.Syntax.References(value)) > 0 {
			continue
		}
		if err := f.text(value); err != nil {
			return err
		}
	}
	for _, path := range f.implied(x) {
		covered, err := f.look(path.path)
		if err != nil {
			return err
		}
		if covered && path.arg >= 0 {
			f.names.args[path.arg] = true
		}
	}
	return nil
}

// text checks all paths that a text may contain: the whole text, what follows a flag in it, and
// each of its words.
func (f *finder) text(value string) error {
	paths := []string{value}
	if _, after, ok := strings.Cut(value, "="); ok {
		paths = append(paths, after)
	}
	if len(value) > 2 && value[0] == '-' && value[1] != '-' {
		paths = append(paths, value[2:]) // -I./lib, for example
	}
	paths = append(paths, strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(separators, r) })...)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if _, err := f.look(path); err != nil {
			return err
		}
	}
	return nil
}

// look checks a path, and reports whether it is a regular file of the workspace.
func (f *finder) look(path string) (covered bool, err error) {
	path = strings.TrimPrefix(path, "file://")
	if path == "" || path[0] == '-' || len(path) > beneath.MaxPath || strings.IndexByte(path, 0) >= 0 {
		return false, nil
	}
	if f.looks++; f.looks > maxLooks {
		return false, fmt.Errorf("%w: it names more than %d paths", ErrFile, maxLooks)
	}
	if err := context.Cause(f.ctx); err != nil {
		return false, err
	}
	if !filepath.IsAbs(path) {
		name := path
		path = f.cwd + "/" + path // not filepath.Join, because ".." after a link depends on its target
		f.names.looked = append(f.names.looked, path)
		var st unix.Stat_t
		if !strings.Contains(name, "/") && errors.Is(unix.Lstat(path, &st), unix.ENOENT) {
			return false, nil // most words aren't files
		}
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return false, nil
		}
	}
	r, err := beneath.Resolve(path, beneath.Options{Within: []string{f.root}})
	if r == nil {
		return false, nil
	}
	defer r.Close()
	// Files elsewhere aren't part of the approval: a server may keep its data there.
	if f.mayLead(path, r) {
		f.names.looked = append(f.names.looked, path)
	}
	f.follow(r)
	if err != nil {
		_, leadsOut := errors.AsType[*beneath.LinkError](err)
		f.names.uncovered = f.names.uncovered || leadsOut
		return false, nil // the links on the way are covered
	}
	rel, in := below(f.root, beneath.Absolute(r.Path()))
	if !in {
		return false, nil
	}
	return f.file(r, rel)
}

// mayLead reports whether a path is in the workspace, leads there, or passes a link there.
func (f *finder) mayLead(path string, r *beneath.Resolution) bool {
	_, lies := below(f.root, filepath.Clean(path))
	_, leads := below(f.root, beneath.Absolute(r.Path()))
	return lies || leads || slices.ContainsFunc(r.Passed(), func(passed string) bool {
		_, in := below(f.root, passed)
		return in
	})
}

// follow records the links on a path.
func (f *finder) follow(r *beneath.Resolution) {
	for _, passed := range r.Passed() {
		target, err := os.Readlink(passed)
		if rel, in := below(f.root, passed); in && err == nil {
			f.links[rel] = target
		}
	}
}

// file records the file at the end of a path.
func (f *finder) file(r *beneath.Resolution, rel string) (covered bool, err error) {
	if known, ok := f.files[rel]; ok {
		return known.other == "", nil
	}
	var st unix.Stat_t
	if errno := r.Stat(r.Path(), &st); errno != 0 {
		return false, nil //nolint:nilerr // it is gone meanwhile
	}
	found := file{path: rel, other: special(beneath.Absolute(r.Path()), &st)}
	switch found.other {
	case "a directory": // data of the program, or a search path
		return false, nil
	case "":
		_, found.secret = f.store.secrets.Entry(beneath.NewBase(cmp.Or(strings.TrimPrefix(f.root, "/"), "."), f.root), rel)
		var got content
		got, err = f.store.contents.sum(f.ctx, r, false)
		found.sum, found.id = got.sum, got.id
		if errors.Is(err, syscall.EACCES) {
			found.other, err = "a file that can't be read", nil
		}
		if err != nil {
			return false, err
		}
	}
	f.names.uncovered = f.names.uncovered || found.other != ""
	f.files[rel] = found
	if len(f.files) > MaxFiles {
		return false, fmt.Errorf("%w: it names more than %d files", ErrFile, MaxFiles)
	}
	return found.other == "", nil
}

// path is a path that an argument implies, or none (-1).
type path struct {
	arg  int
	path string
}

// implied returns files that a program looks for because of its arguments: modules of Node
// and Python, and the scripts of package managers.
func (f *finder) implied(x *entry.Expanded) (list []path) {
	kind := programKind(x.Command)
	switch kind {
	case "npm", "pnpm", "yarn", "bun":
		list = append(list, path{-1, "package.json"})
	case "make":
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
			list = append(list, path{-1, name})
		}
	}
	i, module := script(kind, x.Args)
	if i < 0 {
		return list
	}
	arg := x.Args[i]
	switch {
	case kind == "npx" || kind == "bunx" || kind == "pnpx":
		list = append(list, path{-1, "node_modules/.bin/" + arg})
	case module:
		dir := strings.ReplaceAll(arg, ".", "/")
		for _, name := range []string{dir + ".py", dir + "/__main__.py", dir + "/__init__.py"} {
			list = append(list, path{i, name})
		}
	case interpreters[kind] && !f.names.args[i]: // a file with exactly this name takes precedence
		for _, suffix := range []string{".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.mjs", "/index.ts", "/package.json", "/__main__.py"} {
			list = append(list, path{i, arg + suffix})
		}
		if main := f.mainOf(arg); main != "" {
			list = append(list, path{i, arg + "/" + main}, path{i, arg + "/" + main + ".js"}, path{i, arg + "/" + main + "/index.js"})
		}
	}
	return list
}

// mainOf returns the main file that a directory's package.json names; empty if that isn't a
// file of the workspace.
func (f *finder) mainOf(dir string) string {
	const most = 1 << 20
	if !filepath.IsAbs(dir) {
		dir = f.cwd + "/" + dir
	}
	r, err := beneath.Resolve(dir+"/package.json", beneath.Options{Within: []string{f.root}})
	if r == nil {
		return ""
	}
	defer r.Close()
	var st unix.Stat_t
	place := beneath.Absolute(r.Path())
	if _, in := below(f.root, place); err != nil || !in || r.Stat(r.Path(), &st) != 0 || special(place, &st) != "" {
		return ""
	}
	fd, errno := r.Open(r.Path())
	if errno != 0 {
		return ""
	}
	file := os.NewFile(uintptr(fd), place)
	defer func() { _ = file.Close() }()
	data, _ := io.ReadAll(io.LimitReader(file, most))
	var manifest struct {
		Main string `json:"main"`
	}
	if json.Unmarshal(data, &manifest) != nil {
		return ""
	}
	return manifest.Main
}
