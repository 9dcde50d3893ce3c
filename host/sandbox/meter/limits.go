package meter

import "waymark/internal/defaults"

// Limits bounds the modules that are accepted. Zero fields mean the default.
// Each bound is on something that costs the host time or memory before, or
// without, the guest running an instruction that is counted. "Seen" is the
// largest in the modules we looked at: this repository's own Go guests (5 MB)
// and C and AssemblyScript samples.
type Limits struct {
	// MaxModule is the size of the module, in bytes. Default 32 MiB: a Go guest
	// with a parser or two has 5 MB, and compiling takes 10 to 20 times the
	// module's size in memory.
	MaxModule int
	// MaxTypes is the number of function types. Default 10,000; seen: hundreds.
	MaxTypes int
	// MaxArity is the number of parameters, and of results, of one type.
	// Default 128: each value crosses every call and block end it is declared
	// for.
	MaxArity int
	// MaxTypeValues is the number of parameters and results of all types. Default
	// 50,000: while it compiles, the engine takes some hundred bytes for each, and
	// keeps a part of that as long as the module is loaded.
	MaxTypeValues int
	// MaxNames is the sum of the lengths of the names of imports and exports, in bytes.
	// Default 1 MiB. As many of the names of functions are kept, which are for people; the
	// rest are dropped. The engine keeps them as long as the module is loaded. Unstripped
	// Go guests have 0.5 MB. Other custom sections are dropped, whatever they hold.
	MaxNames int
	// MaxImports is the number of imports. Default 1,000; all that exist for
	// resolvers are some 80.
	MaxImports int
	// MaxFunctions is the number of functions. Default 50,000; seen 8,000.
	MaxFunctions int
	// MaxBody is the size of one function's body, in bytes. Default 128 KiB; the
	// largest real one seen has 50 KB. Compile time grows faster than the body:
	// one of 2.5 MB took 7.4 s and 2.7 GB.
	MaxBody int
	// MaxLocals is the number of parameters and locals of one function. Default
	// 2,000; Go uses 60, clang some hundreds.
	MaxLocals int
	// MaxFunctionEffort bounds the estimate of what compiling one function
	// takes, in about microseconds; see effort. Default 500,000; seen 49,000.
	MaxFunctionEffort int
	// MaxEffort bounds the sum of these estimates. Default 20,000,000, 20 s of
	// one processor; seen 2,000,000. Whoever compiles bounds the time as well;
	// this limit says in words why a module is refused, before time is spent.
	MaxEffort int
	// MaxStack bounds the sum of the frames of all functions that wait for
	// another to return, as estimated here, in bytes; see frame.go. Default 4 MiB,
	// of which Go's real frames take a tenth. The engine doubles its stack by
	// copying it: what is bounded by this takes up to four times as much while it
	// grows.
	MaxStack int
	// MaxNesting is the depth of blocks. Default 10,000. Go nests one block per
	// resume point of a function.
	MaxNesting int
	// MaxBrTable is the number of targets of one branch table. Default 10,000;
	// Go has one target per resume point of a function.
	MaxBrTable int
	// MaxTables is the number of tables. Default 16; real modules have one.
	MaxTables int
	// MaxTableElements is the sum of the tables' initial sizes, and the bound
	// to which each may grow: a table that declares more, or no bound, gets this
	// one. Default 100,000, 800 KB of host memory each; Go's has an entry per
	// function. A table costs 8 bytes per entry outside linear memory: 43 bytes
	// of module took 735 MB.
	MaxTableElements int
	// MaxMemoryPages is the initial size of the memory in pages of 64 KiB.
	// Default 1,024, the 64 MiB that a run may use by default.
	MaxMemoryPages int
	// MaxGlobals is the number of globals. Default 1,000; Go has 9, but
	// AssemblyScript has one per top-level variable.
	MaxGlobals int
	// MaxExports is the number of exports. Default 10,000.
	MaxExports int
	// MaxElementSegments is the number of element segments. Default 10,000.
	MaxElementSegments int
	// MaxElements is the number of entries of all element segments. Default
	// 200,000: the engine takes 60 bytes for each while loading.
	MaxElements int
	// MaxDataSegments is the number of data segments. Default 100,000: Go emits
	// 23,000 to 46,000, which are merged here.
	MaxDataSegments int
}

func (l Limits) withDefaults() Limits {
	return defaults.Or(l, Limits{
		MaxModule: 32 << 20, MaxTypes: 10_000, MaxArity: 128, MaxTypeValues: 50_000, MaxNames: 1 << 20, MaxImports: 1_000,
		MaxFunctions: 50_000, MaxBody: 128 << 10, MaxLocals: 2_000, MaxFunctionEffort: 500_000, MaxEffort: 20_000_000,
		MaxStack: 4 << 20, MaxNesting: 10_000, MaxBrTable: 10_000, MaxTables: 16, MaxTableElements: 100_000, MaxMemoryPages: 1_024,
		MaxGlobals: 1_000, MaxExports: 10_000, MaxElementSegments: 10_000, MaxElements: 200_000, MaxDataSegments: 100_000,
	})
}
