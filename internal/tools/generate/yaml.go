package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	library = "go.yaml.in/yaml/v4"
	cutFrom = library + "/internal/libyaml"
)

// roots are what plugins/internal/yaml uses.
var roots = []string{"NewParser", "Parser.Parse", "Parser.SetInputReader", "LoadError.Error", "EventType.String", "Event.ScalarStyle", "ComposerStage"}

// instead says what is called in the place of functions of fmt.
var instead = strings.NewReplacer("fmt.Sprintf(", "sprintf(", "fmt.Errorf(", "errorf(")

// yaml cuts the parser out.
func yaml(args []string) error {
	flags := flag.NewFlagSet("yaml", flag.ContinueOnError)
	output := flags.String("o", "", "the `directory` to write to")
	overlay := flags.String("overlay", "", "the `file` for go build -overlay")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 0 || *output == "" || *overlay == "" {
		return errors.New("usage: generate yaml -o directory -overlay file")
	}
	files, err := parser()
	if err != nil {
		return err
	}
	return writeOverlay(*output, *overlay, files)
}

// user is the package that the files are for.
const user = "waymark/plugins/internal/yaml"

// writeOverlay writes the files, and the overlay.
func writeOverlay(dir, overlay string, files map[string][]byte) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles}, user)
	if err != nil {
		return err
	}
	if len(loaded) != 1 || len(loaded[0].GoFiles) == 0 {
		return fmt.Errorf("%s can't be found", user)
	}
	at := filepath.Dir(loaded[0].GoFiles[0])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(at, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, text, 0o644)
}

// prefix begins the names of what is written.
const prefix = "libyaml_"

// parser returns the files by their names.
func parser() (map[string][]byte, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedModule | packages.NeedImports,
	}, cutFrom)
	if err != nil {
		return nil, err
	}
	if len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		return nil, fmt.Errorf("%s can't be loaded: %v", cutFrom, loaded[0].Errors)
	}
	c := newCutter(loaded[0])
	for _, name := range roots {
		if err := c.reachName(name); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{}
	for _, f := range loaded[0].Syntax {
		text, err := c.file(f)
		if err != nil {
			return nil, err
		}
		if text != nil {
			files[prefix+filepath.Base(c.Fset.Position(f.Pos()).Filename)] = text
		}
	}
	return files, nil
}

// cutter finds out which declarations are reached.
type cutter struct {
	*packages.Package
	declared map[types.Object]ast.Decl // where what is declared on the package's level is
	reached  map[ast.Decl]bool
}

func newCutter(p *packages.Package) *cutter {
	c := &cutter{Package: p, declared: map[types.Object]ast.Decl{}, reached: map[ast.Decl]bool{}}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			for _, name := range names(d) {
				if o := p.TypesInfo.Defs[name]; o != nil {
					c.declared[o] = d
				}
			}
		}
	}
	return c
}

// names is what a declaration declares.
func names(d ast.Decl) (list []*ast.Ident) {
	if f, ok := d.(*ast.FuncDecl); ok {
		return []*ast.Ident{f.Name}
	}
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			list = append(list, s.Name)
		case *ast.ValueSpec:
			list = append(list, s.Names...)
		}
	}
	return list
}

// reachName reaches a function, or a method by the name of its type.
func (c *cutter) reachName(name string) error {
	of, method, isMethod := strings.Cut(name, ".")
	o := c.Types.Scope().Lookup(of)
	if isMethod && o != nil {
		o, _, _ = types.LookupFieldOrMethod(o.Type(), true, c.Types, method)
	}
	if o == nil || c.declared[o] == nil {
		return fmt.Errorf("%s has no %s any more", cutFrom, name)
	}
	c.reach(c.declared[o])
	return nil
}

func (c *cutter) reach(d ast.Decl) {
	if d == nil || c.reached[d] {
		return
	}
	c.reached[d] = true
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			o := c.TypesInfo.Uses[id]
			if f, ok := o.(*types.Func); ok {
				o = f.Origin()
			}
			c.reach(c.declared[o])
		}
		return true
	})
}

// file is what is reached of a file; nil for nothing.
func (c *cutter) file(f *ast.File) ([]byte, error) {
	path := c.Fset.Position(f.Pos()).Filename
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	used := map[string]bool{}
	var unknown []string // what of fmt isn't replaced
	for _, d := range f.Decls {
		if !c.reached[d] {
			continue
		}
		body.WriteString("\n" + instead.Replace(string(source[c.offset(begin(d)):c.offset(d.End())])) + "\n")
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, _ := s.X.(*ast.Ident)
			switch p, ok := c.TypesInfo.Uses[id].(*types.PkgName); {
			case !ok:
			case p.Imported().Path() != "fmt":
				used[p.Imported().Path()] = true
			case s.Sel.Name != "Sprintf" && s.Sel.Name != "Errorf":
				unknown = append(unknown, s.Sel.Name)
			}
			return true
		})
	}
	if body.Len() == 0 {
		return nil, nil
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%s uses more of fmt than is replaced: %v", path, unknown)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "// Code generated by yamlgen from %s %s, internal/libyaml/%s. DO NOT EDIT.\n\n", library, c.Module.Version, filepath.Base(path))
	text.WriteString(notice(f) + "\npackage yaml\n")
	if len(used) > 0 {
		var imports []string
		for p := range used {
			imports = append(imports, fmt.Sprintf("%q\n", p))
		}
		slices.Sort(imports)
		text.WriteString("\nimport (\n" + strings.Join(imports, "") + ")\n")
	}
	text.Write(body.Bytes())
	return format.Source(text.Bytes())
}

// begin is where a declaration begins, with its comment.
func begin(d ast.Decl) token.Pos {
	var doc *ast.CommentGroup
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		return doc.Pos()
	}
	return d.Pos()
}

func (c *cutter) offset(p token.Pos) int { return c.Fset.Position(p).Offset }

// notice is what a file says of its authors and their license.
func notice(f *ast.File) string {
	var lines strings.Builder
	for _, comment := range f.Comments[0].List {
		lines.WriteString(comment.Text + "\n")
	}
	return lines.String()
}
