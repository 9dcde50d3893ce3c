package sandbox

import (
	"bytes"
	"errors"
	"slices"

	"waymark/abi"
	"waymark/host/sandbox/meter"
	"waymark/internal/text"
)

// admit checks a module before compilation: that it is a core module, imports only allowed
// functions, and exports what the ABI requires. It then rewrites the module so that it can be
// metered and stopped.
func admit(wasm []byte, pages int) (*meter.Result, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	m, err := meter.Rewrite(wasm, meter.Options{
		Guard:  guardOf,
		Wrap:   []string{abi.ExportDescribe, abi.ExportResolve, meter.StartExport, exportInitialize, exportCtors, exportHaskell},
		State:  true,
		Limits: meter.Limits{MaxModule: MaxModule, MaxMemoryPages: pages},
	})
	if err != nil {
		return nil, asMeterReject(err)
	}
	for _, imp := range m.Imports {
		if err := checkImport(imp); err != nil {
			return nil, err
		}
	}
	return m, checkExports(m)
}

// asMeterReject turns an error of the meter into a rejection of one line.
func asMeterReject(err error) error {
	var refused *meter.Error
	if !errors.As(err, &refused) {
		return err
	}
	bare := *refused
	bare.Hint = "" // it is appended to the whole line
	return reject(refused.Hint, "not an acceptable module: %s", text.Line(bare.Error(), guestTextMax))
}

// Initializers by the names that toolchains give them: WASI's for a reactor, clang's for a
// module that isn't one, and Haskell's, which is called last.
const (
	exportInitialize = "_initialize"
	exportCtors      = "__wasm_call_ctors"
	exportHaskell    = "hs_init"
)

// initializers lists the exports to be called before any other, in order. They are those that
// extism calls.
func initializers(m *meter.Result) []string {
	var list []string
	if m.HasStart {
		list = append(list, meter.StartExport)
	}
	switch {
	case hasType(m, exportInitialize, ""):
		list = append(list, exportInitialize)
	case hasType(m, exportCtors, "") && !exports(m, exportHaskell):
		list = append(list, exportCtors)
	}
	if hasType(m, exportHaskell, haskellParams) {
		list = append(list, exportHaskell)
	}
	return list
}

// haskellParams are the types of argc and argv, which are passed as 0.
const haskellParams = "\x7f\x7f"

// hasType reports whether a function with these parameters is exported under the name.
func hasType(m *meter.Result, name, params string) bool {
	return slices.ContainsFunc(m.Exports, func(e meter.Export) bool {
		return e.Name == name && e.Kind == meter.KindFunc && e.Type.Params == params
	})
}

// MaxModule bounds a module, in bytes. Real ones have 2 KB (C) to 5 MB (Go with YAML and
// JSON).
const MaxModule = 32 << 20

func exports(m *meter.Result, name string) bool {
	return slices.ContainsFunc(m.Exports, func(e meter.Export) bool { return e.Name == name && e.Kind == meter.KindFunc })
}

func checkExports(m *meter.Result) error {
	for _, name := range []string{abi.ExportDescribe, abi.ExportResolve} {
		if !exports(m, name) {
			return reject("see abi/ABI.md, \"Module\"", "no exported function %q", name)
		}
		if !hasType(m, name, "") {
			return reject("see abi/ABI.md, \"Module\"", "the function %q has parameters", name)
		}
	}
	if exports(m, "_start") {
		return reject("build a reactor: go build -buildmode=c-shared, clang -mexec-model=reactor",
			"it is a command (it exports _start), not a reactor")
	}
	if m.HasStart && exports(m, exportInitialize) {
		return reject("keep one of them; for AssemblyScript: asc --exportStart _initialize",
			"it has both a start function and _initialize")
	}
	return nil
}

func checkHeader(wasm []byte) error {
	switch {
	case len(wasm) == 0:
		return reject("copy it again", "the file is empty")
	case !bytes.HasPrefix(wasm, []byte("\x00asm")):
		return reject("build it with GOOS=wasip1 GOARCH=wasm or another wasm toolchain", "not WebAssembly")
	case len(wasm) < 8:
		return reject("copy it again", "the file is cut off")
	case wasm[6] == 1: // the layer field of the preamble: 1 is a component
		return reject("build a core module for WASI preview 1", "it is a WebAssembly component")
	case !bytes.Equal(wasm[4:8], []byte{1, 0, 0, 0}):
		return reject("build a core module, version 1", "unknown WebAssembly version")
	}
	return nil
}
