// Package builtin carries the module of the built-in resolvers inside the
// agent's binary.
//
// The module is a build product, made from plugins/builtin by `make build`.
// Without it the package compiles all the same, and Module says what to do:
// there is no other way to find anything, so nothing may go on without it.
//
// The package is read-only data and safe for concurrent use.
package builtin

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrMissing means that the binary was built without the module.
var ErrMissing = errors.New("the built-in resolvers are missing from this binary")

//go:embed dist
var dist embed.FS

// Module returns the module's bytes, a copy.
//
// # Errors
//
// ErrMissing when the module wasn't there at build time, or isn't
// WebAssembly; the text says how to build it.
func Module() ([]byte, error) { return read(dist) }

// Native returns the module's native code, compiled ahead of time for machines
// like the one that built this binary; nil when there is none. The caller need
// not close it.
func Native() io.Reader {
	f, err := dist.Open("dist/builtin.native")
	if err != nil {
		return nil
	}
	return f // of an embedded file: closing does nothing
}

func read(files fs.FS) ([]byte, error) {
	module, err := fs.ReadFile(files, "dist/builtin.wasm")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: run `make build`, which makes host/builtin/dist/builtin.wasm and then the agent", ErrMissing)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	case !bytes.HasPrefix(module, []byte("\x00asm")):
		return nil, fmt.Errorf("%w: host/builtin/dist/builtin.wasm is not WebAssembly: run `make clean build`", ErrMissing)
	}
	return module, nil
}
