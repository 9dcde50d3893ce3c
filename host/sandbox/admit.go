package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/sandbox/meter"
)

const (
	nsExtism = "extism:host/env"
	nsUser   = "extism:host/user"
	nsWASI   = "wasi_snapshot_preview1"
)

// extismImports are the kernel functions a module may import. What isn't here
// (var_*, http_*) would give a guest memory between runs, or a network.
var extismImports = []string{
	"alloc", "free", "length", "length_unsafe", "load_u8", "load_u64",
	"store_u8", "store_u64", "input_length", "input_offset", "input_load_u8",
	"input_load_u64", "output_set", "error_set", "error_get", "config_get",
	"get_log_level", "log_trace", "log_debug", "log_info", "log_warn",
	"log_error", "memory_bytes",
}

var userImports = []string{"fs_read", "fs_list", "fs_stat", "memo_begin", "memo_end", "block_copy"}

// admit checks a module before it is compiled (that it is a module at all,
// that it imports only what it may, that it exports what the ABI asks for) and
// rewrites it so that its running can be counted and stopped.
func admit(wasm []byte, pages int) (*meter.Result, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	m, err := meter.Rewrite(wasm, meter.Options{
		Weights: importWeight,
		Rename:  renameImport,
		Wrap:    []string{abi.ExportDescribe, abi.ExportResolve, exportInitialize, meter.StartExport},
		Limits:  meter.Limits{MaxModule: MaxModule, MaxMemoryPages: pages},
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

// asMeterReject turns what the meter has against a module into one line.
func asMeterReject(err error) error {
	var refused *meter.Error
	if !errors.As(err, &refused) {
		return err
	}
	bare := *refused
	bare.Hint = "" // it goes behind the whole line
	return reject(refused.Hint, "not an acceptable module: %s", oneLine(bare.Error(), guestTextMax))
}

// exportInitialize is what WASI calls the function that prepares a reactor.
const exportInitialize = "_initialize"

// MaxModule bounds a module, in bytes. Real ones have 2 KB (C) to 5 MB (Go
// with YAML and JSON).
const MaxModule = 32 << 20

func exports(m *meter.Result, name string) bool {
	return slices.ContainsFunc(m.Exports, func(e meter.Export) bool { return e.Name == name && e.Kind == meter.KindFunc })
}

func checkExports(m *meter.Result) error {
	for _, name := range []string{abi.ExportDescribe, abi.ExportResolve} {
		if !exports(m, name) {
			return reject("see abi/ABI.md, \"Module\"", "no exported function %q", name)
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

func checkImport(imp meter.Import) error {
	full := imp.Module + " " + imp.Name
	full = oneLine(full, 200) // a name may be anything
	if imp.Kind != meter.KindFunc {
		return reject("define it in the module instead", "it imports something that isn't a function: %s", full)
	}
	switch imp.Module {
	case nsWASI: // wazero knows which exist, and says so when linking
		return nil
	case nsExtism:
		if slices.Contains(extismImports, imp.Name) {
			return nil
		}
		if strings.HasPrefix(imp.Name, "http_") || strings.HasPrefix(imp.Name, "var_") {
			return reject("resolvers are pure functions of the files they read",
				"it imports %s: there is no network and no memory between runs", full)
		}
	case nsUser:
		if slices.Contains(userImports, imp.Name) {
			return nil
		}
	}
	return reject(fmt.Sprintf("a module may import %s, %s (%s) and %s", nsExtism, nsUser, strings.Join(userImports, ", "), nsWASI),
		"unknown import %s", full)
}
