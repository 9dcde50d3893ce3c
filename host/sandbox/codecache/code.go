package codecache

import (
	"context"

	"github.com/tetratelabs/wazero"
)

// Source says where code came from.
type Source string

// The sources of code.
const (
	Embedded Source = "embedded"
	Kept     Source = "kept"
	Compiled Source = "compiled"
)

// Code is a module with its native code, ready to be loaded by one runtime.
type Code struct {
	Key Key
	// Wasm is the module to load, rewritten if there is a rewriter. Loaded lets
	// go of it.
	Wasm []byte
	// Meta is what the rewriter said about it.
	Meta   []byte
	Source Source

	scratch *scratch
}

// Cache makes a runtime find the native code:
//
//	config.WithCompilationCache(code.Cache())
//
// It is for this one module and the one runtime that runs it: a cache shared
// between runtimes is where wazero 1.12.0 has a bug (#2511). What else is
// compiled with it after Loaded fails.
func (c *Code) Cache() wazero.CompilationCache { return c.scratch.cache }

// Loaded says that the runtime has compiled, which here means loaded, the
// module: the files are removed, and the text of the module, which can be
// megabytes, is let go of. The code in memory stays. Safe to call twice.
func (c *Code) Loaded() {
	c.Wasm = nil
	c.scratch.discard()
}

// Close frees wazero's cache. Close the runtime first. Safe to call twice.
func (c *Code) Close() error {
	c.Loaded()
	return c.scratch.cache.Close(context.Background())
}
