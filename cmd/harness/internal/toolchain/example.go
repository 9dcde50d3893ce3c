package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"waymark"
)

// ErrNoExample says that no example has a name.
var ErrNoExample = errors.New("there is no such example")

// examplesDir is where the examples are in waymark.Examples.
const examplesDir = "examples"

// Example is one of the examples that this program carries.
type Example struct {
	Name string
	// Lang is empty for one that isn't a resolver.
	Lang Lang

	files map[string][]byte
}

// Examples lists the examples by name.
func Examples() ([]Example, error) {
	entries, err := waymark.Examples.ReadDir(examplesDir)
	if err != nil {
		return nil, err
	}
	list := make([]Example, 0, len(entries))
	for _, entry := range entries {
		e := Example{Name: entry.Name(), files: map[string][]byte{}}
		top := path.Join(examplesDir, e.Name)
		err := fs.WalkDir(waymark.Examples, top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			e.files[strings.TrimPrefix(p, top+"/")], err = waymark.Examples.ReadFile(p)
			return err
		})
		if err != nil {
			return nil, err
		}
		if _, described := e.files["README.md"]; described && len(e.files) == 1 {
			continue // a program to read, which isn't copied
		}
		e.Lang = e.language()
		list = append(list, e)
	}
	return list, nil
}

// language is told by the names of the files at the top.
func (e *Example) language() Lang {
	var names []string
	for name := range e.files {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	lang, _ := Of(names)
	return lang
}

// FindExample returns the example of a name.
//
// # Errors
//
// ErrNoExample, with the names that there are.
func FindExample(name string) (*Example, error) {
	list, err := Examples()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	if i := slices.Index(names, name); i >= 0 {
		return &list[i], nil
	}
	return nil, fmt.Errorf("%q: %w: there are %s", name, ErrNoExample, strings.Join(names, ", "))
}

// Write writes a copy of the example that needs nothing of this repository: its
// files, with the kit of its language. dir is as for the function Write.
//
// # Errors
//
// ErrNotEmpty, and those of the file system.
func (e *Example) Write(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for name, text := range e.files {
		files[name] = text
	}
	if e.Lang != "" {
		if err := addKit(files, e.Lang); err != nil {
			return err
		}
	}
	if e.Lang == Go { // in this repository it is a package of another module
		const file = "go.mod"
		all, err := render(e.Lang, data{Name: e.Name})
		if err != nil {
			return err
		}
		files[file] = all[file]
	}
	return install(dir, files)
}
