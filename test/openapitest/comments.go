package openapitest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// comments are those of types and their fields, read from the module's own packages when
// somebody asks.
type comments struct {
	root     string // of the module
	packages map[string]*packageComments
}

// packageComments are those of one package. Fields are "Type.Field"; words are the Go
// names of a type's fields with what they are called in JSON.
type packageComments struct {
	types, fields map[string]string
	same          map[string][2]string // types that are others of other packages: path and name
	words         map[string]map[string]string
	constants     map[string][]any
}

func newComments() *comments {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		dir = filepath.Dir(dir)
	}
	return &comments{root: dir, packages: map[string]*packageComments{}}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// of returns the comment of a type, as a description.
func (c *comments) of(t reflect.Type) string {
	p := c.load(t.PkgPath())
	words := maps.Clone(p.words[t.Name()])
	delete(words, t.Name()) // the comment begins with the type, whatever its fields are called
	return text(p.types[t.Name()], words)
}

// field returns the comment of a type's field.
func (c *comments) field(t reflect.Type, name string) string {
	p, in := c.load(t.PkgPath()), t.Name()
	if other, ok := p.same[in]; ok {
		p, in = c.load(other[0]), other[1]
	}
	return text(p.fields[in+"."+name], p.words[in])
}

// values returns the constants of a type of texts.
func (c *comments) values(t reflect.Type) []any {
	if t.Kind() != reflect.String || t.Name() == "string" {
		return nil
	}
	return c.load(t.PkgPath()).constants[t.Name()]
}

var (
	word = regexp.MustCompile(`\[?\b[A-Z][A-Za-z0-9]*(\.[A-Z][A-Za-z0-9]*)?\b\]?`)
	null = regexp.MustCompile(`\bnil\b`)
	link = regexp.MustCompile(`\[([A-Za-z]+\.)?([A-Z][A-Za-z0-9]*)\]`)
)

// text is a comment in the words of JSON: the Go names of fields are their keys. What is all
// capitals is a field only where the comment begins with it, or in brackets: a field TCP says
// whether something is served over TCP.
func text(comment string, names map[string]string) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(comment), "\n\n") {
		if !strings.HasPrefix(paragraph, "\t") && !strings.HasPrefix(paragraph, "  ") {
			paragraph = strings.Join(strings.Fields(paragraph), " ")
		}
		paragraphs = append(paragraphs, paragraph)
	}
	comment = strings.Join(paragraphs, "\n\n")
	begins := true
	comment = word.ReplaceAllStringFunc(comment, func(w string) string {
		begun := begins && strings.HasPrefix(comment, w)
		begins = false
		bare := strings.Trim(w, "[]")
		if name, ok := names[bare]; ok && (begun || w != bare || bare != strings.ToUpper(bare)) {
			return "`" + name + "`"
		}
		return w
	})
	return null.ReplaceAllString(link.ReplaceAllString(comment, "$2"), "null")
}

// load reads a package.
func (c *comments) load(path string) *packageComments {
	path, own := strings.CutPrefix(path, "waymark/")
	path = strings.TrimSuffix(path, "_test")
	if p := c.packages[path]; p != nil {
		return p
	}
	p := &packageComments{types: map[string]string{}, same: map[string][2]string{}, fields: map[string]string{}, words: map[string]map[string]string{}, constants: map[string][]any{}}
	c.packages[path] = p
	if !own {
		return p
	}
	files, _ := filepath.Glob(filepath.Join(c.root, path, "*.go"))
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, decl := range parsed.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				p.add(decl, parsed.Imports)
			}
		}
	}
	return p
}

// add takes what a declaration says.
func (p *packageComments) add(decl *ast.GenDecl, imports []*ast.ImportSpec) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = decl.Doc
			}
			p.types[spec.Name.Name] = doc.Text()
			switch s := spec.Type.(type) {
			case *ast.StructType:
				p.addFields(spec.Name.Name, s)
			case *ast.SelectorExpr:
				for _, i := range imports {
					if path := strings.Trim(i.Path.Value, `"`); strings.HasSuffix("/"+path, fmt.Sprint("/", s.X)) {
						p.same[spec.Name.Name] = [2]string{path, s.Sel.Name}
					}
				}
			}
		case *ast.ValueSpec:
			p.addConstants(decl, spec)
		}
	}
}

func (p *packageComments) addFields(name string, s *ast.StructType) {
	words := map[string]string{}
	p.words[name] = words
	for _, f := range s.Fields.List {
		comment := f.Doc.Text()
		if trailing := f.Comment.Text(); trailing != "" {
			comment += "\n" + trailing
		}
		for _, id := range f.Names {
			p.fields[name+"."+id.Name] = comment
			if f.Tag == nil {
				continue
			}
			tag, _ := strconv.Unquote(f.Tag.Value)
			for _, key := range []string{"json", "query", "header", "path"} {
				if as, _, _ := strings.Cut(reflect.StructTag(tag).Get(key), ","); as != "" && as != "-" {
					words[id.Name] = as
				}
			}
		}
	}
}

func (p *packageComments) addConstants(decl *ast.GenDecl, spec *ast.ValueSpec) {
	kind, ok := spec.Type.(*ast.Ident)
	if decl.Tok != token.CONST || !ok {
		return
	}
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				p.constants[kind.Name] = append(p.constants[kind.Name], s)
			}
		}
	}
}
