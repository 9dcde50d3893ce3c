package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"

	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/meter"
	"waymark/internal/reexec"
	"waymark/internal/text"
)

// CompileRole is the role of a child process that compiles one module. A program that passes
// it to reexec.Main may be Options.Compiler.
func CompileRole() reexec.Role { return codecache.Role(rewrite) }

// rewriteVersion is raised whenever rewrite may give another result for the same module; code
// compiled from earlier results isn't used any more. The meter has a version of its own.
const rewriteVersion = 6

// rewriteOptions and rewriteMeta are the input and output of rewrite besides the module. Both
// are sent to another process and stored in the cache.
type rewriteOptions struct {
	Pages int `json:"pages"` // the bound on linear memory
}

type rewriteMeta struct {
	Initializers []string `json:"initializers"` // exports to be called first, in order
	// Fixed says why instances can't start from an image, "" that they can. Then Globals is
	// the number of globals in it, and Segments the number of data segments to be written to
	// a fresh memory. See meter.Options.State.
	Fixed    string `json:"fixed,omitempty"`
	Globals  int    `json:"globals,omitempty"`
	Segments int    `json:"segments,omitempty"`
}

// check makes sure that the initial memory content is what the rewriter made, where no other
// check would notice.
func (m rewriteMeta) check(data []meter.Segment) error {
	if len(data) != m.Segments {
		return fmt.Errorf("the rewritten module has %d segments of data for a fresh memory, and should have %d", len(data), m.Segments)
	}
	return nil
}

// recipe says how a module is made into native code.
func recipe(limits Limits) (codecache.Recipe, error) {
	options, err := json.Marshal(rewriteOptions{Pages: int(limits.pages())})
	return codecache.Recipe{
		Rewriter:       fmt.Sprintf("waymark/%d meter/%d", rewriteVersion, meter.Version),
		RewriteOptions: options,
	}, err
}

// rewrite admits a module and meters it.
func rewrite(wasm, options []byte) (rewritten, meta []byte, err error) {
	var o rewriteOptions
	if err := json.Unmarshal(options, &o); err != nil {
		return nil, nil, err
	}
	m, err := admit(wasm, o.Pages)
	if err != nil {
		return nil, nil, err
	}
	meta, err = json.Marshal(rewriteMeta{Initializers: initializers(m), Fixed: m.Fixed, Globals: m.MutableGlobals, Segments: m.Segments})
	return m.Wasm, meta, err
}

// asReject turns a fault of a module into one actionable line. Other errors are the host's
// own.
func asReject(err error) error {
	var limit *codecache.LimitError
	var module *codecache.ModuleError
	switch {
	case errors.As(err, &limit):
		return reject("make its functions smaller: split the largest, or build without inlining", "%s", text.Line(limit.Error(), guestTextMax))
	case errors.As(err, &module) && module.Stage == "rewrite":
		return reject("", "%s", text.Line(module.Text, guestTextMax)) // the hint is part of it
	case errors.As(err, &module):
		return reject("rebuild it with a current toolchain; core WebAssembly 2.0 and WASI preview 1 are supported",
			"it doesn't compile: %s", text.Line(module.Text, guestTextMax))
	}
	return err
}
