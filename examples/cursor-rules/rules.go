package main

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

const (
	rulesDir = ".cursor/rules"
	ruleExt  = ".mdc"

	defaultDepth = 2
	maxDepth     = 8
	// maxDirs bounds how much of a large repository is looked at, and so how
	// many directories the host watches for this resolver.
	maxDirs = 500
	// maxLevels bounds links that lead in circles below .cursor/rules.
	maxLevels = 8
	// maxRows keeps an answer below the 1 MiB that a host takes.
	maxRows = 900 << 10
)

func module() guest.Module {
	return guest.Module{
		Name:    "cursor-rules",
		Version: "1.0.0",
		Resolvers: []guest.Resolver{{
			Name:    "cursor-rules",
			Kinds:   []guest.Kind{guest.InstructionFile},
			Summary: ".cursor/rules/**/*.mdc, and those of directories below",
			Reads:   []string{"**/" + rulesDir + "/**/*" + ruleExt},
			Resolve: resolve,
		}},
	}
}

func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	if req.Root.Role != abi.RoleNone || req.Root.File != "" {
		return nil, nil // somebody else's file
	}
	depth, err := req.Config.Int("depth", defaultDepth)
	if err != nil {
		return nil, err
	}
	if depth < 0 || depth > maxDepth {
		return nil, errors.New("depth is " + strconv.FormatInt(depth, 10) + "; it must be 0 to " + strconv.Itoa(maxDepth))
	}
	f := &finder{req: req, root: root}
	f.project(".", int(depth))
	return f.response(), nil
}

// finder gathers the rules of one root.
type finder struct {
	req  *guest.Request
	root fs.FS
	resp guest.Response
	dirs int // directories looked at
	size int // of all rows
	left int // rules that found no room
}

func (f *finder) warn(text string) {
	f.resp.Warnings = append(f.resp.Warnings, guest.Truncate(text, abi.MaxError))
}

func (f *finder) response() *guest.Response {
	if f.dirs > maxDirs {
		f.warn("more than " + strconv.Itoa(maxDirs) + " directories: some were not looked at; set depth to 0 or 1")
	}
	if f.left > 0 {
		f.warn("too many rules: " + strconv.Itoa(f.left) + " were left out")
	}
	return &f.resp
}

// enter counts a directory, and reports whether it may be looked at.
func (f *finder) enter() bool {
	f.dirs++
	return f.dirs <= maxDirs
}

// project reports the rules of a directory of the workspace, and of those
// below it.
func (f *finder) project(dir string, depth int) {
	if !f.enter() {
		return
	}
	f.rules(path.Join(dir, rulesDir), dir, 0)
	if depth == 0 {
		return
	}
	entries, err := fs.ReadDir(f.root, dir)
	if err != nil && !absent(err) {
		f.warn(dir + ": " + err.Error())
	}
	for _, e := range entries {
		if e.IsDir() && !skipped(e.Name()) { // a link leads to files that are found without it, or to files of others
			f.project(path.Join(dir, e.Name()), depth-1)
		}
	}
}

func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "vendor"}, name)
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// rules reports what is in one directory of rules. Here links are followed:
// many share their rules that way.
func (f *finder) rules(dir, project string, level int) {
	entries, err := fs.ReadDir(f.root, dir)
	if err != nil {
		if info, statErr := fs.Stat(f.root, dir); !absent(err) && (statErr != nil || info.IsDir()) {
			f.warn(dir + ": " + err.Error())
		}
		return
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		switch {
		case !e.IsDir() && strings.HasSuffix(e.Name(), ruleExt) && f.full():
			f.left++
		case !e.IsDir() && strings.HasSuffix(e.Name(), ruleExt):
			f.take(f.req.Part(p, func() guest.Part { return f.readRule(p, project) }))
		case level < maxLevels && f.isDir(e, p) && f.enter():
			f.rules(p, project, level+1)
		}
	}
}

func (f *finder) isDir(e fs.DirEntry, p string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(f.root, p)
	return err == nil && info.IsDir()
}

// full reports whether there is no room for another rule, so that it need not
// be looked at.
func (f *finder) full() bool {
	most := f.req.Limits.MaxResources
	return f.size > maxRows || most > 0 && len(f.resp.Rows) >= most
}

func (f *finder) take(part guest.Part) {
	for _, w := range part.Warnings {
		f.warn(w)
	}
	if part.Rows.Len() == 0 {
		return
	}
	if f.size += part.Rows.Len() + len(","); f.size > maxRows {
		f.left++
		return
	}
	f.resp.Rows = append(f.resp.Rows, part.Rows)
}
