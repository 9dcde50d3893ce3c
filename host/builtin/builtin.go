// Package builtin carries the module of the built-in resolvers inside the agent's binary.
//
// The module is a build product, made from plugins/builtin by `make build`. The package also
// compiles without it, and Module then returns an error that says what to do: nothing else
// can find resources, so the agent must not continue.
//
// In a program that also carries native code, the module may be packed: only a machine that
// the code doesn't fit has to unpack it.
//
// The package is read-only data and safe for concurrent use.
package builtin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// ErrMissing means that the binary was built without the module.
var ErrMissing = errors.New("the built-in resolvers are missing from this binary")

//go:embed dist
var dist embed.FS

// Module returns a copy of the module's bytes.
//
// # Errors
//
// ErrMissing if the module was missing at build time, or isn't WebAssembly; the text says how
// to build it.
func Module() ([]byte, error) { return read(dist) }

// Digest returns the SHA-256 of the module, in hexadecimal, without unpacking a packed one.
// Its errors are those of Module, except that it doesn't check for WebAssembly.
func Digest() (string, error) { return digested() }

var digested = sync.OnceValues(func() (string, error) { return digest(dist) })

func digest(files fs.FS) (string, error) {
	f, err := files.Open(moduleFile)
	if err != nil {
		_, err = read(files) // which says what to do
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	head := make([]byte, len(packMagic))
	n, err := io.ReadFull(f, head)
	switch {
	case err == nil && string(head) == packMagic:
		z, err := gzip.NewReader(io.MultiReader(bytes.NewReader(head), f))
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrMissing, err)
		}
		return z.Comment, z.Close()
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	_, _ = h.Write(head[:n])
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Native returns the module's native code, compiled ahead of time for machines like the one
// that built this binary, with what its instances start from (see sandbox.Ahead); nil if
// there is none. In a binary made by `make` it is placed so that it can be executed from the
// file (see codecache.Place).
func Native() io.ReaderAt {
	f, err := dist.Open("dist/builtin.native")
	if err != nil {
		return nil
	}
	code, _ := f.(io.ReaderAt) // all embedded files are; closing does nothing
	return code
}

const (
	moduleFile = "dist/builtin.wasm"
	packMagic  = "\x1f\x8b" // of gzip
)

// Pack writes a module in a smaller form: gzip, with its digest as the comment. It may be
// embedded in place of the module.
func Pack(w io.Writer, module []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(module)
	z.Comment = hex.EncodeToString(sum[:])
	if _, err := z.Write(module); err != nil {
		return err
	}
	return z.Close()
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func read(files fs.FS) ([]byte, error) {
	module, err := fs.ReadFile(files, moduleFile)
	if err == nil && bytes.HasPrefix(module, []byte(packMagic)) {
		module, err = unpack(module)
	}
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
