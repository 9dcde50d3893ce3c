// Protogen generates the Go code of the protos under wire/, without a system
// protoc: it compiles the files with bufbuild/protocompile and runs the two
// code generators that the tool directives of go.mod pin.
//
// It is run by "go generate ./wire/..." and by its own test, which holds the
// committed code against a fresh generation. The output depends on the protos
// and on the pinned versions alone. Not safe for concurrent runs over one
// tree: files are written in place.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run generates and writes what changed.
func run(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	files, err := generate(ctx, root)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, f.content) {
			continue // what is built from it needn't be built, and tested, again
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot returns the directory of the nearest go.mod, going up from the
// working directory: go generate and go test both start below it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory; run it inside the repository")
		}
		dir = parent
	}
}
