package arch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Package is one package, as much of it as the rules need.
type Package struct {
	// Path is the import path.
	Path string `json:"ImportPath"`
	// Doc is the first sentence of the package comment.
	Doc string
	// Imports are what the package itself names, Deps all that it needs.
	Imports, Deps []string
	// TestImports and XTestImports are what its tests name.
	TestImports, XTestImports []string
}

// Load lists the packages that patterns match in the module of dir. goos and
// goarch say for which system; empty means this one.
func Load(ctx context.Context, dir, goos, goarch string, patterns ...string) ([]Package, error) {
	// -e: a package that doesn't compile is the compiler's finding.
	args := append([]string{"list", "-e", "-json=ImportPath,Doc,Imports,Deps,TestImports,XTestImports"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	if goos != "" {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "GOARCH="+goarch)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return decode(bytes.NewReader(out))
}

// decode reads the JSON objects that go list writes one after the other.
func decode(r io.Reader) ([]Package, error) {
	var list []Package
	dec := json.NewDecoder(r)
	for {
		var p Package
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}
