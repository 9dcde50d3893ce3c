package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// engines are the functions that make something that compiles WebAssembly.
var engines = []string{
	"wazero.NewRuntime", "wazero.NewRuntimeWithConfig", "extism.NewPlugin", "extism.NewCompiledPlugin",
	"codecache.Open", "codecache.Role", "codecache.Ahead",
}

// TestEngines: wazero 1.12.0 compiles remainders wrongly on arm64, so nothing may be
// compiled there that wasn't rewritten. These are the places where something is. Whoever
// adds one says why it is right on arm64.
func TestEngines(t *testing.T) {
	seeSources(t)
	want := map[string]string{
		"host/sandbox/host.go New: codecache.Open":                             "rewrites in this process",
		"host/sandbox/rewrite.go CompileRole: codecache.Role":                  "rewrites in a child",
		"host/sandbox/ahead.go Ahead: codecache.Ahead":                         "rewrites for what is embedded",
		"host/sandbox/codecache/compile.go compileSafely: wazero.NewRuntime…":  "compiles what one of the above has rewritten",
		"host/sandbox/program.go newProgram: wazero.NewRuntime…":               "loads what that has compiled",
		"host/sandbox/guesttest/guesttest.go Load: wazero.NewRuntime…":         "is for tests, of what was rewritten or has no remainders",
		"cmd/harness/internal/extism/module.go Load: extism.NewCompiledPlugin": "interprets on arm64",
	}
	got := map[string]string{}
	for _, use := range usesOf(t, "../..", engines) {
		use.name = strings.Replace(use.name, "NewRuntimeWithConfig", "NewRuntime…", 1)
		got[use.name] = want[use.name]
		if got[use.name] == "" {
			got[use.name] = "why is it right on arm64?"
		}
		if strings.Contains(use.name, "codecache.") && !slices.Contains(use.mentions, "rewrite") {
			t.Errorf("%s: nothing rewrites what is compiled there", use.name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("where WebAssembly is compiled (-want +got):\n%s", diff)
	}
}

// use is a call of a function.
type use struct {
	name     string   // file, calling function, and the one that is called
	mentions []string // the names in its arguments
}

// usesOf finds calls in all files but tests, and packages' own.
func usesOf(t *testing.T, root string, functions []string) (list []use) {
	t.Helper()
	eachSource(t, root, func(file string, parsed *ast.File) {
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				list = append(list, callsIn(f, file, packagesOf(parsed), functions)...)
			}
		}
	})
	return list
}

// eachSource calls a function with all files but tests, by their names in the tree.
func eachSource(t *testing.T, root string, look func(file string, parsed *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		look(rel, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneJSON: no file uses both packages for JSON. They differ in what they take, and in
// what they write: a reader would have to know each time which one it is.
func TestOneJSON(t *testing.T) {
	seeSources(t)
	eachSource(t, "../..", func(file string, parsed *ast.File) {
		var standard, successor bool
		for _, i := range parsed.Imports {
			standard = standard || i.Path.Value == `"encoding/json"`
			successor = successor || strings.HasPrefix(i.Path.Value, `"github.com/go-json-experiment/json`)
		}
		if standard && successor {
			t.Errorf("%s: it imports both encoding/json and its successor", file)
		}
	})
}

// packagesOf maps the names by which a file knows packages to their own.
func packagesOf(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		imported := strings.Trim(i.Path.Value, `"`)
		name := path.Base(imported)
		if imported == "github.com/extism/go-sdk" {
			name = "extism"
		}
		known := name
		if i.Name != nil {
			known = i.Name.Name
		}
		names[known] = name
	}
	return names
}

func callsIn(f *ast.FuncDecl, file string, packages map[string]string, functions []string) (list []use) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		called := packages[x.Name] + "." + selector.Sel.Name
		if !slices.Contains(functions, called) {
			return true
		}
		u := use{name: file + " " + f.Name.Name + ": " + called}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					u.mentions = append(u.mentions, id.Name)
				}
				return true
			})
		}
		list = append(list, u)
		return true
	})
	return list
}
