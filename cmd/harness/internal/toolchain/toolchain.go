package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Lang is a language that resolvers are written in.
type Lang string

// The languages.
const (
	Go             Lang = "go"
	C              Lang = "c"
	AssemblyScript Lang = "assemblyscript"
)

// Langs lists the languages, the one to recommend first.
func Langs() []Lang { return []Lang{Go, C, AssemblyScript} }

// ParseLang reads the name of a language.
//
// # Errors
//
// For an unknown name; the text lists the known ones.
func ParseLang(name string) (Lang, error) {
	if l := Lang(name); slices.Contains(Langs(), l) {
		return l, nil
	}
	return "", fmt.Errorf("unknown language %q: there are go, c and assemblyscript", name)
}

// Options are the options of Build. The zero value works.
type Options struct {
	// Output is the file to write. Empty: <name>.wasm in the source directory,
	// where name is the directory's.
	Output string
	// Stderr takes what the toolchain says. Nil: it becomes part of the error.
	Stderr io.Writer
	// Offline keeps the toolchain from downloading anything.
	Offline bool
}

// language is what there is to know of one language.
type language struct {
	lang Lang
	// match reports whether the names of the files in a directory are those of
	// source in this language.
	match func(names []string) bool
	// build writes job.output.
	build func(ctx context.Context, j *job) error
}

func languages() []language {
	return []language{
		{AssemblyScript, matchAssemblyScript, buildAssemblyScript},
		{Go, matchGo, buildGo},
		{C, matchC, buildC},
	}
}

// ErrNoSource says that a directory has no source in a language that there is
// a toolchain for.
var ErrNoSource = errors.New("no resolver source")

// Detect returns the language of the source in a directory: AssemblyScript
// with an asconfig.json, Go with Go files, C with C files.
//
// # Errors
//
// ErrNoSource, and those of reading the directory.
func Detect(dir string) (Lang, error) {
	l, err := detect(dir)
	if err != nil {
		return "", err
	}
	return l.lang, nil
}

func detect(dir string) (*language, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if l := of(names); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: %w: there are no Go files, no C files and no asconfig.json (harness new makes a directory to start from)", dir, ErrNoSource)
}

// Of returns the language of source whose files, at the top of a directory, have
// these names; ok is false when there is none.
func Of(names []string) (lang Lang, ok bool) {
	if l := of(names); l != nil {
		return l.lang, true
	}
	return "", false
}

func of(names []string) *language {
	for _, l := range languages() {
		if l.match(names) {
			return &l
		}
	}
	return nil
}

// Output returns where Build writes the module of a source directory when
// nothing else is asked for.
func Output(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(dir)+".wasm"), nil
}

// Build builds the module of a source directory and returns where it is.
//
// # Errors
//
// ErrNoSource, a *MissingError, ctx's error, and what the toolchain has against
// the source.
func Build(ctx context.Context, dir string, opts Options) (wasm string, err error) {
	l, err := detect(dir)
	if err != nil {
		return "", err
	}
	j, err := newJob(dir, opts)
	if err != nil {
		return "", err
	}
	defer j.clean()
	if err := l.build(ctx, j); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", err
	}
	return j.target, j.finish()
}

// hasSuffix reports whether a name ends in suffix.
func hasSuffix(names []string, suffix string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, suffix) })
}
