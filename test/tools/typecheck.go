package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// typecheck type-checks the packages of the module in the working directory for other systems,
// tests included, and reports errors. It generates no code, and checks no function bodies of
// dependencies, so it takes seconds where building takes minutes, mostly for an SQL engine in
// Go. It doesn't find what only a compiler or a linker finds; `make dist` does.
func typecheck(platforms []string) error {
	if len(platforms) == 0 {
		return errors.New("usage: typecheck GOOS/GOARCH …, as in: typecheck linux/arm64")
	}
	wrong := 0
	for _, platform := range platforms {
		problems, err := check(platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for _, p := range problems {
			fmt.Fprintf(os.Stderr, "%s: %s\n", platform, p)
		}
		wrong += len(problems)
	}
	if wrong > 0 {
		return fmt.Errorf("%d errors", wrong)
	}
	return nil
}

// check returns what is wrong on a platform, such as linux/arm64.
func check(platform string) (problems []string, err error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("write a platform as GOOS/GOARCH")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, // of dependencies, too: their compiled form is not there
		Env:  append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if f != nil && !inside(dir, name) {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						d.Body = nil
					}
				}
			}
			return f, err
		},
		Tests: true,
	}, "./...")
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("there are no packages in %s", dir)
	}
	seen := map[string]bool{}
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the program around the tests, which the go command writes
		}
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] { // a package is there with and without its tests
				seen[text] = true
				problems = append(problems, text)
			}
		}
	}
	return problems, nil
}

// inside reports whether a file is in a directory or below.
func inside(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
