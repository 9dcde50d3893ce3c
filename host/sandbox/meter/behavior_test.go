package meter_test

import (
	"testing"

	"waymark/host/sandbox/meter"
)

var none = list()

// samples are modules that use a feature each. They seed the fuzzer too.
func samples() map[string][]byte {
	fib := fn(none,
		localGet, 0, i32Const, 2, i32LtU, if_, i32, localGet, 0,
		else_, localGet, 0, i32Const, 1, i32Sub, call, 0, localGet, 0, i32Const, 2, i32Sub, call, 0, i32Add, end)
	return map[string][]byte{
		"empty":    wasm(),
		"constant": one(tt(), tt(i32), none, i32Const, 42),
		"locals":   one(tt(i32), tt(i64), list(join(3, i64), join(0, f64), join(1, i32)), i64Const, 5, localTee, 2, localGet, 2, i64Add),
		"factorial": one(tt(i32), tt(i32), list(join(1, i32)), i32Const, 1, localSet, 1,
			block, void, loop, void, localGet, 0, i32Eqz, brIf, 1, localGet, 1, localGet, 0, i32Mul, localSet, 1,
			localGet, 0, i32Const, 1, i32Sub, localSet, 0, br, 0, end, end, localGet, 1),
		"fibonacci": wasm(types(sig(tt(i32), tt(i32))), functions(0), exports("fib", 0), code(fib)),
		"trap":      one(tt(i32), tt(i32), none, i32Const, 1, localGet, 0, i32DivS),
		"unreached": one(tt(), tt(i32), none, i32Const, 1, return_, misc, 11, 0, memoryGrow, 0, drop, unreachable, loop, void, br, 0, end),
		"br_table": one(tt(i32), tt(i32), none,
			block, void, block, void, block, void, localGet, 0, brTable, 2, 0, 1, 2, end, i32Const, 10, return_, end,
			i32Const, 20, return_, end, i32Const, 30),
		"multi-value block": wasm(types(sig(tt(i32), tt(i32)), sig(tt(i32, i32), tt(i32, i32))), functions(0), exports("run", 0),
			code(fn(list(join(1, i32)), localGet, 0, i32Const, 7, loop, 1, i32Add, localTee, 1, localGet, 1, i32Const, 30, i32LtU,
				if_, 0, i32Const, 1, i32Add, else_, i32Const, 2, i32Add, end,
				localGet, 1, localGet, 1, i32Const, 50, i32LtU, brIf, 0, end, i32Sub))),
		"globals": wasm(types(sig(tt(), tt(i32))), functions(0), globals(join(i32, 1, i32Const, 5, end), join(i64, 0, i64Const, 9, end)),
			exports("run", 0), code(fn(none, globalGet, 0, i32Const, 1, i32Add, globalSet, 0, globalGet, 1, i32Wrap, globalGet, 0, i32Add))),
		"memory": one(tt(i32), tt(i32), none, localGet, 0, i32Const, 0x21, i32Store, 2, 4, i32Const, 1, memoryGrow, 0, memorySize, 0, i32Add,
			localGet, 0, i32Load8, 0, 4, i32Add),
		"grow too far": one(tt(), tt(i32), none, i32Const, snum(-1), memoryGrow, 0),
		"fill":         one(tt(i32), tt(), none, localGet, 0, i32Const, 9, localGet, 0, i32Const, 3, i32Mul, misc, 11, 0),
		"fill outside": one(tt(i32), tt(), none, localGet, 0, i32Const, 9, i32Const, snum(-5), misc, 11, 0),
		"fill constant": one(tt(), tt(), none, i32Const, 1, i32Const, 9, i32Const, snum(1000), misc, 11, 0,
			i32Const, 1, i32Const, 9, i32Const, snum(10000), misc, 11, 0),
		"copy": wasm(types(sig(tt(i32), tt(i32))), functions(0), memory(1), exports("run", 0),
			code(fn(none, i32Const, 20, localGet, 0, localGet, 0, misc, 10, 0, 0, i32Const, 20, i32Load, 2, 0)), data(at(0, "abcdefgh"))),
		"init": wasm(types(sig(tt(i32), tt(i32))), functions(0), memory(1), exports("run", 0), section(12, 2),
			code(fn(none, i32Const, 8, i32Const, 0, localGet, 0, misc, 8, 1, 0, misc, 9, 1, i32Const, 8, i32Load, 2, 0)),
			data(at(4, "x"), join(1, "passive"))),
		"SIMD":      simd(),
		"tables":    tables(),
		"elements":  allElements(),
		"start":     started(fn(none, i32Const, 0, i32Const, 77, i32Store, 2, 0)),
		"imports":   importing(),
		"ways":      waysTo(),
		"overlaps":  overlaps(),
		"names":     append(one(tt(), tt(), none), nameSection(0, "run")...),
		"custom":    append(one(tt(), tt(), none), section(0, ".debug_info", []byte("abc"))...),
		"wrapped":   declaredByExport(),
		"recursion": wasm(types(sig(tt(), tt())), functions(0), exports("run", 0), code(fn(none, call, 0))),
		"endless":   one(tt(), tt(), none, loop, void, br, 0, end),
	}
}

func simd() []byte {
	c := make([]byte, 16)
	for i := range c {
		c[i] = byte(i)
	}
	return wasm(types(sig(tt(i32), tt(i32))), functions(0), memory(1), exports("run", 0), code(fn(list(join(2, v128)),
		vec, 12, c, localTee, 1, localGet, 0, vec, 0x0f, vec, 0x6e, localSet, 2, // const, splat, add
		localGet, 1, localGet, 2, vec, 13, c, // shuffle
		vec, 0x80, 1, // i16x8.abs
		localGet, 2, vec, 0xb5, 1, localSet, 1, // i32x4.mul
		i32Const, 0, localGet, 1, vec, 11, 4, 16, // store
		i32Const, 16, localGet, 1, vec, 0x57, 3, 0, 1, // load64_lane
		localGet, 2, localGet, 1, vec, 0x52, vec, 0x53, // bitselect, any_true
		i32Const, 16, vec, 0, 4, 0, vec, 0x1b, 2, i32Add, // load, extract_lane
	)))
}

func tables() []byte {
	return wasm(types(sig(tt(i32), tt(i32)), sig(tt(), tt(i32))), functions(0, 1, 1),
		section(4, 2, funcref, 1, 4, 20, externref, 0, 2), exports("run", 0),
		elements(join(0, i32Const, 0, end, 2, 1, 2), join(1, 0, 2, 2, 1)),
		code(
			fn(none, i32Const, 1, i32Const, 0, i32Const, 2, misc, 12, 1, 0, // table.init
				i32Const, 0, i32Const, 1, localGet, 0, misc, 14, 0, 0, // table.copy
				i32Const, 0, refNull, externref, localGet, 0, misc, 17, 1, // table.fill
				misc, 13, 1, // elem.drop
				i32Const, 1, tableGet, 0, refIs, i32Const, 3, i32Const, 0, tableGet, 0, tableSet, 0,
				misc, 16, 0, i32Add, i32Const, 0, callIndirect, 1, 0, i32Add),
			fn(none, i32Const, 11), fn(none, i32Const, 22)))
}

// allElements has a segment of each of the eight kinds.
func allElements() []byte {
	f := func(i int) []byte { return join(refFunc, i, end) }
	return wasm(types(sig(tt(i32), tt(i32)), sig(tt(), tt(i32))), functions(0, 1, 1, 1),
		section(4, 2, funcref, 0, 16, funcref, 0, 16), exports("run", 0, "one", 1),
		elements(
			join(0, i32Const, 0, end, 1, 1),
			join(1, 0, 1, 2),
			join(2, 1, i32Const, 1, end, 0, 1, 3),
			join(3, 0, 1, 1),
			join(4, i32Const, 2, end, 2, f(2), join(refNull, funcref, end)),
			join(5, funcref, 1, f(3)),
			join(6, 1, i32Const, 4, end, funcref, 1, f(1)),
			join(7, funcref, 1, f(2)),
		),
		code(
			fn(none, i32Const, 8, i32Const, 0, i32Const, 1, misc, 12, 1, 0,
				i32Const, 9, i32Const, 0, i32Const, 1, misc, 12, 5, 0,
				i32Const, 0, refFunc, 3, tableSet, 0,
				i32Const, 0, callIndirect, 1, 0, i32Const, 2, callIndirect, 1, 0, i32Mul,
				i32Const, 8, callIndirect, 1, 0, i32Mul, i32Const, 9, callIndirect, 1, 0, i32Mul,
				i32Const, 1, callIndirect, 1, 1, i32Add, i32Const, 4, callIndirect, 1, 1, i32Add),
			fn(none, i32Const, 11), fn(none, i32Const, 13), fn(none, i32Const, 17)))
}

func started(b body) []byte {
	return wasm(types(sig(tt(), tt()), sig(tt(), tt(i32))), functions(0, 1), memory(1), exports("run", 1), section(8, 0),
		code(b, fn(none, i32Const, 0, i32Load, 2, 0)))
}

func importing() []byte {
	return wasm(types(sig(tt(i64), tt(i64)), sig(tt(), tt(i64))),
		imports(join("env", "a", 0, 0), join("env", "b", 0, 1)), functions(1, 1),
		exports("run", 2, "b", 1, "again", 3), code(fn(none, call, 1, call, 0, call, 3, i64Add), fn(none, i64Const, 4)))
}

func overlaps() []byte {
	return wasm(types(sig(tt(), tt(i32))), functions(0), memory(1), exports("run", 0), code(fn(none, i32Const, 8, i32Load, 2, 0)),
		data(at(8, "later"), at(0, "first"), at(10, "over"), at(9, "again"), at(300, "far"), at(700, "away"), at(3, "")))
}

// declaredByExport refers to a function that nothing but its export declares.
func declaredByExport() []byte {
	return wasm(types(sig(tt(), tt(i32))), functions(0, 0), exports("describe", 0, "resolve", 1),
		code(fn(none, i32Const, 3), fn(none, refFunc, 0, refIs)))
}

func nameSection(pairs ...any) []byte {
	var entries [][]byte
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, join(num(pairs[i].(int)), pairs[i+1]))
	}
	return section(0, "name", 1, string(join(entries)))
}

var wrapAll = []string{"describe", "resolve", "run", "fib", meter.StartExport}

func TestBehavesAsBefore(t *testing.T) {
	for name, code := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "recursion" || name == "endless" {
				t.Skip("see TestKilled")
			}
			for _, opts := range []meter.Options{{}, {Wrap: wrapAll}, {Wrap: wrapAll, Guard: guardAll}, {Guard: guardSome}} {
				if !sameWithin(t, code, opts, 1<<30, runtimeConfig()) { // what some grow or fill is refused, and paid for
					_, err := meter.Rewrite(code, opts)
					t.Fatalf("was not run: %v", err)
				}
			}
		})
	}
}
