package sandbox

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
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

var userImports = []string{"fs_read", "fs_list", "fs_stat"}

// admit checks a module before it is compiled: that it is a module at all,
// that it imports only what it may, that it exports what the ABI asks for,
// and that nothing of it would run before the host calls it.
func admit(wasm []byte) error {
	if err := checkHeader(wasm); err != nil {
		return err
	}
	m, err := decodeModule(wasm)
	if err != nil {
		return reject("rebuild it; the file may have been cut off", "not a valid WebAssembly module: %v", err)
	}
	for _, imp := range m.imports {
		if err := checkImport(imp); err != nil {
			return err
		}
	}
	for _, name := range []string{abi.ExportDescribe, abi.ExportResolve} {
		if !slices.Contains(m.funcExports, name) {
			return reject("see abi/ABI.md, \"Module\"", "no exported function %q", name)
		}
	}
	if slices.Contains(m.funcExports, "_start") {
		return reject("build a reactor: go build -buildmode=c-shared, clang -mexec-model=reactor",
			"it is a command (it exports _start), not a reactor")
	}
	if m.hasStart {
		return reject("for AssemblyScript: asc --exportStart _initialize", "it has a start function")
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

func checkImport(imp wasmImport) error {
	full := imp.module + " " + imp.name
	if imp.kind != importFunc {
		return reject("define it in the module instead", "it imports something that isn't a function: %s", full)
	}
	switch imp.module {
	case nsWASI: // wazero knows which exist, and says so when linking
		return nil
	case nsExtism:
		if slices.Contains(extismImports, imp.name) {
			return nil
		}
		if strings.HasPrefix(imp.name, "http_") || strings.HasPrefix(imp.name, "var_") {
			return reject("resolvers are pure functions of the files they read",
				"it imports %s: there is no network and no memory between runs", full)
		}
	case nsUser:
		if slices.Contains(userImports, imp.name) {
			return nil
		}
	}
	return reject(fmt.Sprintf("a module may import %s, %s (fs_read, fs_list, fs_stat) and %s", nsExtism, nsUser, nsWASI),
		"unknown import %s", full)
}
