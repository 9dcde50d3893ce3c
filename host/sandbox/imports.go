package sandbox

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
	"waymark/internal/text"
)

const (
	nsExtism = "extism:host/env"
	nsUser   = "extism:host/user"
	nsWASI   = "wasi_snapshot_preview1"
	nsGuard  = meter.ReservedPrefix + "guard"
)

// hostImport is one function that a module may import. All of them are in hostImports.
//
// The cost of a call depends on its arguments, often before our own code sees them: wazero's
// WASI loops over vectors and copies paths. So each import states bounds for its arguments,
// and charges for their size in addition to weight. The rewriter puts a guard in front of
// functions that wazero implements. The meter charges nothing for imports, because it can't
// tell which one a call through a table reaches.
type hostImport struct {
	module, name    string
	params, results string // one letter for each value: i is an i32, I an i64
	// weight is the fuel that every call is charged.
	weight int64
	// call implements the function; nil for WASI, which wazero implements.
	call func(in *instance, stack []uint64)
	// bounds are checked before wazero's function is called.
	bounds []bound
	// kept says that a call whose first parameter is a descriptor below it may change wazero's
	// table of descriptors for good: no image can hold that, and no other run may find it.
	kept uint32
}

// bound limits one argument of a WASI function.
type bound struct {
	arg   int    // index of the argument
	most  uint32 // the largest value that is passed on
	errno uint32 // the WASI errno for larger values
	fuel  int64  // the charge for each unit of the value
}

// The charges for calls, in addition to their work: entering and leaving the host takes about
// 50 ns, twice that with a guard.
const (
	callFuel = 300
	wasiFuel = 600
)

// Errnos of WASI preview 1, which wazero doesn't export.
const (
	wasiBADF        = 8
	wasiINVAL       = 28
	wasiNAMETOOLONG = 37
)

const (
	// maxPath is the limit of abi/ABI.md for paths, in bytes.
	maxPath = 4096
	// maxVectors is how many buffers, or subscriptions, one call may name. Linux has the same
	// limit.
	maxVectors = 1024
	// maxDescriptor bounds the target of fd_renumber, because wazero keeps an entry for every
	// smaller descriptor.
	maxDescriptor = 1 << 14
	// maxListing is the largest buffer for directory entries. wazero processes it before it
	// looks at how many entries there are. C uses 4 KiB, Go 8.
	maxListing = 1 << 20

	fuelPerVector       = 100
	fuelPerSubscription = 500
)

func pathAt(arg int) bound { return bound{arg, maxPath, wasiNAMETOOLONG, fuelPerByte} }

// vectorCount bounds the third argument of readv and the like, the number of buffers.
var vectorCount = bound{2, maxVectors, wasiINVAL, fuelPerVector}

// hostImports are all imports, in the order of abi/ABI.md. It is never written to.
var hostImports = []hostImport{
	{module: nsExtism, name: "input_length", results: "I", weight: callFuel, call: inputLength},
	{module: nsExtism, name: "input_offset", results: "I", weight: callFuel, call: inputOffset},
	{module: nsExtism, name: "input_load_u8", params: "I", results: "i", weight: callFuel, call: inputLoad8},
	{module: nsExtism, name: "input_load_u64", params: "I", results: "I", weight: callFuel, call: inputLoad64},
	{module: nsExtism, name: "alloc", params: "I", results: "I", weight: callFuel, call: alloc},
	{module: nsExtism, name: "free", params: "I", weight: callFuel, call: free},
	{module: nsExtism, name: "length", params: "I", results: "I", weight: callFuel, call: length},
	{module: nsExtism, name: "length_unsafe", params: "I", results: "I", weight: callFuel, call: length},
	{module: nsExtism, name: "load_u8", params: "I", results: "i", weight: callFuel, call: load8},
	{module: nsExtism, name: "load_u64", params: "I", results: "I", weight: callFuel, call: load64},
	{module: nsExtism, name: "store_u8", params: "Ii", weight: callFuel, call: store8},
	{module: nsExtism, name: "store_u64", params: "II", weight: callFuel, call: store64},
	{module: nsExtism, name: "output_set", params: "II", weight: callFuel, call: outputSet},
	{module: nsExtism, name: "error_set", params: "I", weight: callFuel, call: errorSet},
	{module: nsExtism, name: "error_get", results: "I", weight: callFuel, call: errorGet},
	{module: nsExtism, name: "memory_bytes", results: "I", weight: callFuel, call: memoryBytes},
	{module: nsExtism, name: "config_get", params: "I", results: "I", weight: callFuel, call: configGet},
	{module: nsExtism, name: "get_log_level", results: "i", weight: callFuel, call: getLogLevel},
	{module: nsExtism, name: "log_trace", params: "I", weight: callFuel, call: logAt("trace")},
	{module: nsExtism, name: "log_debug", params: "I", weight: callFuel, call: logAt("debug")},
	{module: nsExtism, name: "log_info", params: "I", weight: callFuel, call: logAt("info")},
	{module: nsExtism, name: "log_warn", params: "I", weight: callFuel, call: logAt("warn")},
	{module: nsExtism, name: "log_error", params: "I", weight: callFuel, call: logAt("error")},

	{module: nsUser, name: "fs_read", params: "III", results: "I", weight: callFuel, call: fsRead},
	{module: nsUser, name: "fs_list", params: "I", results: "I", weight: callFuel, call: fsList},
	{module: nsUser, name: "fs_stat", params: "I", results: "I", weight: callFuel, call: fsStat},
	{module: nsUser, name: "front_matter", params: "II", results: "I", weight: callFuel, call: frontMatter},
	{module: nsUser, name: "memo_begin", params: "I", results: "I", weight: callFuel, call: memoBegin},
	{module: nsUser, name: "memo_end", params: "I", weight: callFuel, call: memoEnd},
	{module: nsUser, name: "block_copy", params: "III", weight: callFuel, call: blockCopy},

	wasi("args_get", "ii"),
	wasi("args_sizes_get", "ii"),
	wasi("environ_get", "ii"),
	wasi("environ_sizes_get", "ii"),
	wasi("clock_res_get", "ii"),
	wasi("clock_time_get", "iIi"),
	wasi("fd_advise", "iIIi"),
	wasi("fd_allocate", "iII"),
	keeps(firstOpened, "fd_close", "i"),
	wasi("fd_datasync", "i"),
	wasi("fd_fdstat_get", "ii"),
	wasi("fd_fdstat_set_flags", "ii"),
	wasi("fd_fdstat_set_rights", "iII"),
	wasi("fd_filestat_get", "ii"),
	wasi("fd_filestat_set_size", "iI"),
	wasi("fd_filestat_set_times", "iIIi"),
	wasi("fd_pread", "iiiIi", vectorCount),
	wasi("fd_prestat_get", "ii"),
	wasi("fd_prestat_dir_name", "iii"),
	wasi("fd_pwrite", "iiiIi", vectorCount),
	wasi("fd_read", "iiii", vectorCount),
	keeps(firstOpened, "fd_readdir", "iiiIi", bound{2, maxListing, wasiINVAL, fuelPerByte}),
	keeps(anyDescriptor, "fd_renumber", "ii", bound{1, maxDescriptor, wasiBADF, 0}),
	keeps(firstOpened, "fd_seek", "iIii"),
	wasi("fd_sync", "i"),
	keeps(firstOpened, "fd_tell", "ii"),
	wasi("fd_write", "iiii", vectorCount),
	wasi("path_create_directory", "iii", pathAt(2)),
	wasi("path_filestat_get", "iiiii", pathAt(3)),
	wasi("path_filestat_set_times", "iiiiIIi", pathAt(3)),
	wasi("path_link", "iiiiiii", pathAt(3), pathAt(6)),
	wasi("path_open", "iiiiiIIii", pathAt(3)),
	wasi("path_readlink", "iiiiii", pathAt(2)),
	wasi("path_remove_directory", "iii", pathAt(2)),
	wasi("path_rename", "iiiiii", pathAt(2), pathAt(5)),
	wasi("path_symlink", "iiiii", pathAt(1), pathAt(4)),
	wasi("path_unlink_file", "iii", pathAt(2)),
	wasi("poll_oneoff", "iiii", bound{2, maxVectors, wasiINVAL, fuelPerSubscription}),
	{module: nsWASI, name: "proc_exit", params: "i", weight: wasiFuel},
	wasi("proc_raise", "i"),
	wasi("random_get", "ii"), // charged, and stopped, by fixedRandom
	wasi("sched_yield", ""),
	keeps(firstOpened, "sock_accept", "iii"),
	wasi("sock_recv", "iiiiii", vectorCount),
	wasi("sock_send", "iiiii", vectorCount),
	wasi("sock_shutdown", "ii"),
}

func wasi(name, params string, bounds ...bound) hostImport {
	return hostImport{module: nsWASI, name: name, params: params, results: "i", weight: wasiFuel, bounds: bounds}
}

const (
	// firstOpened is the first descriptor that a guest can have opened: before it are three
	// streams and the preopen. What is done to those it has opened ends when it closes them.
	firstOpened = 4
	// anyDescriptor is for renumbering, by which a descriptor can outlive its file.
	anyDescriptor = math.MaxUint32
)

// keeps is wasi for a function that may change wazero's table of descriptors below a number.
// Opening a file isn't one, because mount records it. Nor are functions that set flags, sizes
// or times: streams and directories have none of these, and files are for reading only.
func keeps(below uint32, name, params string, bounds ...bound) hostImport {
	imp := wasi(name, params, bounds...)
	imp.kept = below
	return imp
}

var importsByName = func() map[[2]string]*hostImport {
	byName := map[[2]string]*hostImport{}
	for i := range hostImports {
		byName[[2]string{hostImports[i].module, hostImports[i].name}] = &hostImports[i]
	}
	return byName
}()

func lookupImport(module, name string) *hostImport { return importsByName[[2]string{module, name}] }

// guardOf names the function that is called before an import.
func guardOf(module, name string) (guardModule, guardName string, ok bool) {
	imp := lookupImport(module, name)
	return nsGuard, name, imp != nil && imp.call == nil
}

// guard checks the arguments of a WASI function against their bounds, and charges for the
// call. It returns the errno for the guest, or 0 to proceed.
func (imp *hostImport) guard(in *instance, stack []uint64) {
	in.fs.kept = in.fs.kept || imp.kept > 0 && uint32(stack[0]) < imp.kept //nolint:gosec // an i32
	fuel := imp.weight
	for _, b := range imp.bounds {
		v := uint32(stack[b.arg]) //nolint:gosec // an i32
		if v > b.most {
			in.gov.charge(imp.weight)
			stack[0] = uint64(b.errno)
			return
		}
		fuel += int64(v) * b.fuel
	}
	in.gov.charge(fuel)
	if imp.results != "" {
		stack[0] = 0
	}
}

// checkImport admits an import, or says why not.
func checkImport(imp meter.Import) error {
	full := text.Line(imp.Module+" "+imp.Name, 200) // a name may be anything
	known := lookupImport(imp.Module, imp.Name)
	switch {
	case imp.Kind != meter.KindFunc:
		return reject("define it in the module instead", "it imports something that isn't a function: %s", full)
	case known != nil:
		if want := known.meterType(); imp.Type != want {
			return reject("see abi/ABI.md, \"Module\"", "it imports %s as %s, which is %s", full, imp.Type, want)
		}
		return nil
	case imp.Module == nsExtism && (strings.HasPrefix(imp.Name, "http_") || strings.HasPrefix(imp.Name, "var_")):
		return reject("resolvers are pure functions of the files they read",
			"it imports %s: there is no network and no memory between runs", full)
	}
	return reject(fmt.Sprintf("a module may import %s, %s (%s) and %s", nsExtism, nsUser, strings.Join(userImports(), ", "), nsWASI),
		"unknown import %s", full)
}

func userImports() []string {
	var names []string
	for _, imp := range hostImports {
		if imp.module == nsUser {
			names = append(names, imp.name)
		}
	}
	return names
}

func (imp *hostImport) meterType() meter.FuncType {
	types := func(letters string) string {
		return strings.Map(func(r rune) rune {
			if r == 'i' {
				return rune(api.ValueTypeI32)
			}
			return rune(api.ValueTypeI64)
		}, letters)
	}
	return meter.FuncType{Params: types(imp.params), Results: types(imp.results)}
}

func (imp *hostImport) wazeroTypes() (params, results []api.ValueType) {
	t := imp.meterType()
	return slices.Clone([]byte(t.Params)), slices.Clone([]byte(t.Results))
}

// Imports lists all functions that a module may import.
func Imports() []Symbol {
	list := make([]Symbol, len(hostImports))
	for i := range hostImports {
		list[i] = symbol(hostImports[i].module, hostImports[i].name, meter.KindFunc, hostImports[i].meterType())
	}
	return list
}
