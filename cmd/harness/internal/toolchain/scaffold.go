package toolchain

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// templates holds a directory for each language. Names end in .tmpl, so that no
// tool takes them for what they are to become.
//
//go:embed all:templates
var templates embed.FS

var (
	// ErrName says that a name can't be one of a module.
	ErrName = errors.New("not a name for a resolver")
	// ErrNotEmpty says that there is something where a scaffold should go.
	ErrNotEmpty = errors.New("is not an empty directory")
)

// name is what the ABI takes for names of modules and resolvers.
var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// maxName is the ABI's bound, in bytes.
const maxName = 64

// CheckName reports whether a resolver can be called so.
//
// # Errors
//
// ErrName, with the rule that is broken.
func CheckName(s string) error {
	switch {
	case len(s) > maxName:
		return fmt.Errorf("%q: %w: it has more than %d bytes", s, ErrName, maxName)
	case !name.MatchString(s):
		return fmt.Errorf("%q: %w: use lower-case words and digits joined by single hyphens, as in acme-rules", s, ErrName)
	}
	return nil
}

// data is what templates know.
type data struct {
	Name string // of the module and of its resolver
	File string // of the module that a build makes
}

// Write writes a scaffold. dir must not exist, or be an empty directory; the
// directory that it lies in must exist.
//
// # Errors
//
// ErrName, ErrNotEmpty, and those of the file system.
func Write(dir, name string, lang Lang) error {
	if err := CheckName(name); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	files, err := render(lang, data{Name: name, File: filepath.Base(dir) + ".wasm"})
	if err != nil {
		return err
	}
	if err := addKit(files, lang); err != nil {
		return err
	}
	return install(dir, files)
}

// addKit adds the kit of a language to the files of a resolver.
func addKit(files map[string][]byte, lang Lang) error {
	kit, err := kitOf(lang)
	if err != nil {
		return err
	}
	for name, text := range kit.files {
		files[path.Join(kitDir, name)] = text
	}
	return nil
}

// render returns the files of a language's templates by their path.
func render(lang Lang, d data) (map[string][]byte, error) {
	top := path.Join("templates", string(lang))
	files := map[string][]byte{}
	err := fs.WalkDir(templates, top, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, top+"/")
		if plain, isTemplate := strings.CutSuffix(rel, ".tmpl"); isTemplate {
			rel = plain
			if text, err = execute(p, text, d); err != nil {
				return err
			}
		}
		files[rel] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("no templates for %s: %w", lang, err)
	}
	return files, nil
}

// execute fills in one template. Its delimiters are none that a language or a
// fixture has a use for.
func execute(name string, text []byte, d data) ([]byte, error) {
	t, err := template.New(name).Delims("<<<", ">>>").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, d)
	return out.Bytes(), err
}
