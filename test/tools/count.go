// Files are read as text: those for other systems count, generated ones don't.
// What only tests use is told from the product by who imports it and not by
// where it lies, so that trees with another layout can be compared.

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Package is one directory with Go files.
type Package struct {
	// Path is the directory below the root of the tree, with slashes.
	Path string `json:"path"`
	// Product says that a command, a guest or a library for authors imports
	// it, or is it. Other packages are for tests and tools, and count as tests.
	Product bool `json:"product"`
	// Code and Comments are lines of files that are no tests; a line with both
	// is code. Tests are the lines of code in the others.
	Code, Comments, Tests int
	// Files are those that are no tests; Small are those of them with less
	// than SmallFile lines.
	Files, Small int
	// Exported counts exported functions, types, constants, variables and
	// methods.
	Exported int
	// Upward are imports of the product that go against the direction.
	Upward []string `json:",omitempty"`
	// Repeated counts the places with RepeatedLines lines or more that stand in
	// another place, too.
	Repeated int

	imports []string
	main    bool
	lines   []codeLine
}

const (
	// SmallFile is how many lines a file has that may belong to its neighbor.
	SmallFile = 40
	// RepeatedLines is how many equal lines of code make a repetition. Blank
	// lines, comments, imports and lone punctuation don't count.
	RepeatedLines = 6
)

// codeLine is a line that counts for repetitions.
type codeLine struct {
	text string
	file int // lines of different files are never one run
}

// Other are the lines of what is no Go that people write, with comments and blanks.
type Other struct {
	Generated int `json:"generated"` // Go that says so
	Documents int `json:"documents"` // of the APIs, made from routes and types
	OpenAPI   int `json:"openapi"`   // documents that nothing makes
	Kits      int `json:"kits"`      // C and AssemblyScript that resolvers are made with
}

// CountOther counts them below a directory.
func CountOther(root string) (o Other, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != root && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		kit := strings.HasPrefix(filepath.ToSlash(rel), "sdk-guest/") && (strings.HasSuffix(base, ".h") || strings.HasSuffix(base, ".ts"))
		if !kit && base != "openapi.json" && filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := bytes.Count(text, []byte("\n"))
		switch {
		case kit:
			o.Kits += lines
		case base == "openapi.json" && makesDocument(filepath.Dir(name)):
			o.Documents += lines
		case base == "openapi.json":
			o.OpenAPI += lines
		case bytes.HasPrefix(text, []byte("// Code generated ")), bytes.Contains(text[:min(len(text), 8<<10)], []byte("\n// Code generated ")):
			o.Generated += lines
		}
		return nil
	})
	return o, err
}

// makesDocument reports whether a package has its openapi.json generated.
func makesDocument(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("\n//go:generate go test ")) && bytes.Contains(text, []byte("-update-openapi"))
	})
}

// Count reads the tree below root, which is a module named module.
func Count(root, module string) ([]Package, error) {
	byPath := map[string]*Package{}
	files := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); name != root && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(name) != ".go":
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if byPath[dir] == nil {
			byPath[dir] = &Package{Path: dir}
		}
		files++
		return byPath[dir].add(name, module, files)
	})
	if err != nil {
		return nil, err
	}
	markProduct(byPath)
	list := make([]Package, 0, len(byPath))
	for _, p := range byPath {
		if p.Product {
			p.Upward = upward(p)
		} else {
			p.Tests, p.Code, p.Comments, p.Files, p.Small, p.Exported = p.Tests+p.Code, 0, 0, 0, 0, 0
		}
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	countRepeated(list)
	return list, nil
}

func (p *Package) add(name, module string, file int) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	code, comments := lines(src)
	if strings.HasSuffix(name, "_test.go") {
		p.Tests += len(code)
		return nil
	}
	p.main = p.main || parsed.Name.Name == "main"
	p.Code += len(code)
	p.Comments += comments
	p.Files++
	if strings.Count(string(src), "\n") < SmallFile {
		p.Small++
	}
	if parsed.Name.Name != "main" {
		p.Exported += exported(parsed)
	}
	imports := map[int]bool{}
	for _, spec := range parsed.Imports {
		imports[fset.Position(spec.Pos()).Line] = true
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			if below, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(p.imports, below) {
				p.imports = append(p.imports, below)
			}
		}
	}
	all := strings.Split(string(src), "\n")
	for _, n := range code {
		text := strings.TrimSpace(all[n-1])
		if !imports[n] && strings.Trim(text, "{}()[],;") != "" {
			p.lines = append(p.lines, codeLine{text, file})
		}
	}
	return nil
}

// lines returns the numbers of the lines with code, and how many have nothing
// but a comment.
func lines(src []byte) (code []int, comments int) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	isCode, isComment := map[int]bool{}, map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(pos)
		for n := first; n <= first+strings.Count(text, "\n"); n++ {
			if tok == token.COMMENT {
				isComment[n] = true
			} else {
				isCode[n] = true
			}
		}
	}
	for n := range isCode {
		code = append(code, n)
	}
	slices.Sort(code)
	for n := range isComment {
		if !isCode[n] {
			comments++
		}
	}
	return code, comments
}

func exported(file *ast.File) int {
	n := 0
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						count(name)
					}
				}
			}
		}
	}
	return n
}

func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// markProduct follows the imports of commands, guests and what authors import.
func markProduct(byPath map[string]*Package) {
	var mark func(at string)
	mark = func(at string) {
		p := byPath[at]
		if p == nil || p.Product {
			return
		}
		p.Product = true
		for _, imported := range p.imports {
			mark(imported)
		}
	}
	for at, p := range byPath {
		room, _, _ := strings.Cut(at, "/")
		switch {
		case room == "cmd" && p.main, room == "plugins", room == "examples", room == "abi", room == "sdk-guest", at == ".":
			if p.Files > 0 {
				mark(at)
			}
		}
	}
}

// height is how high the rooms of the house lie; those of one height may not
// import each other, but for a room's own packages.
var height = map[string]int{
	".": 0, "abi": 0, "snapshot": 1, "internal": 1, "sdk-guest": 1, "plugins": 2, "examples": 2, "wire": 2,
	"host": 3, "hub": 3, "agentapi": 4, "workspace": 5, "agent": 6, "cmd": 7,
}

func upward(p *Package) []string {
	own, _, _ := strings.Cut(p.Path, "/")
	var list []string
	for _, imported := range p.imports {
		room, _, _ := strings.Cut(imported, "/")
		shared := own == "snapshot" && room == "internal" // notify
		if room != own && height[room] >= height[own] && !shared {
			list = append(list, path.Clean(imported))
		}
	}
	slices.Sort(list)
	return list
}

// countRepeated compares every run of lines of the product with every other.
func countRepeated(list []Package) {
	window := func(lines []codeLine, i int) (string, bool) {
		if i+RepeatedLines > len(lines) || lines[i].file != lines[i+RepeatedLines-1].file {
			return "", false
		}
		var b strings.Builder
		for _, l := range lines[i : i+RepeatedLines] {
			b.WriteString(l.text)
			b.WriteByte('\n')
		}
		return b.String(), true
	}
	seen := map[string]int{}
	for _, p := range list {
		for i := range p.lines {
			if w, ok := window(p.lines, i); ok && p.Product {
				seen[w]++
			}
		}
	}
	for k := range list {
		p, inRun := &list[k], 0 // the file of the run that goes on
		for i := range p.lines {
			w, ok := window(p.lines, i)
			repeated := ok && seen[w] > 1
			if repeated && inRun != p.lines[i].file {
				p.Repeated++
			}
			inRun = 0
			if repeated {
				inRun = p.lines[i].file
			}
		}
	}
}

// Total adds up the packages that are of the product, and the tests of all.
func Total(list []Package) (sum Package, packages int) {
	sum.Path = "all"
	for _, p := range list {
		sum.Tests += p.Tests
		sum.Repeated += p.Repeated
		if !p.Product {
			continue
		}
		packages++
		sum.Code += p.Code
		sum.Comments += p.Comments
		sum.Files += p.Files
		sum.Small += p.Small
		sum.Exported += p.Exported
		for _, imported := range p.Upward {
			sum.Upward = append(sum.Upward, p.Path+" → "+imported)
		}
	}
	return sum, packages
}
