package meter_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waymark/host/sandbox/meter"
)

// base is a module with two imports, two functions, a global, a table, a
// memory, an element and a data segment, and a body to fill in. What is
// injected would have function indices 2 and 3, and global 1.
func base(locals [][]byte, parts ...any) []byte {
	return wasm(types(sig(tt(), tt())), imports(join("env", "a", 0, 0), join("env", "b", 0, 0)), functions(0, 0),
		table(2), memory(1), globals(join(i32, 1, i32Const, 0, end)), exports("run", 2),
		elements(join(0, i32Const, 0, end, 1, 0)), section(12, 1), code(fn(locals, parts...), fn(none)), data(at(0, "x")))
}

func TestIndexOutOfRange(t *testing.T) {
	t.Parallel()
	if _, err := meter.Rewrite(base(none, call, 3, globalGet, 0, drop), meter.Options{}); err != nil {
		t.Fatal(err)
	}
	zero := join(i32Const, 0)
	three := join(i32Const, 0, i32Const, 0, i32Const, 0)
	for name, code := range map[string][]byte{
		"call the first injected function":       base(none, call, 4),
		"call a wrapper":                         base(none, call, 6),
		"call a function far away":               base(none, call, num(1<<31)),
		"ref.func":                               base(none, refFunc, 4, drop),
		"call_indirect of an injected type":      base(none, zero, callIndirect, 1, 0),
		"call_indirect of an unknown table":      base(none, zero, callIndirect, 0, 1),
		"read the budget":                        base(none, globalGet, 1, drop),
		"set the budget":                         base(none, i64Const, 0, globalSet, 1),
		"an unknown local":                       base(none, localGet, 0, drop),
		"the scratch local":                      base(list(join(1, i64)), localGet, 1, drop),
		"set the scratch local":                  base(list(join(2, i64)), i64Const, 0, localSet, 2),
		"tee the scratch local":                  base(none, i64Const, 0, localTee, 0, drop),
		"an unknown label":                       base(none, br, 1),
		"an unknown label of a table":            base(none, zero, brTable, 1, 1, 0),
		"an unknown default label":               base(none, zero, brTable, 1, 0, 1),
		"a block of an injected type":            base(none, block, 1, end),
		"a block of a negative type":             base(none, block, 0xc0, 0x7f, end),
		"table.get":                              base(none, zero, tableGet, 1, drop),
		"table.size":                             base(none, misc, 16, 1, drop),
		"table.grow":                             base(none, refNull, funcref, zero, misc, 15, 1, drop),
		"table.copy":                             base(none, three, misc, 14, 0, 1),
		"table.init of an unknown segment":       base(none, three, misc, 12, 1, 0),
		"elem.drop":                              base(none, misc, 13, 1),
		"memory.init of an unknown segment":      base(none, three, misc, 8, 1, 0),
		"data.drop":                              base(none, misc, 9, 1),
		"another memory":                         base(none, memorySize, 1, drop),
		"another memory to copy":                 base(none, three, misc, 10, 0, 1),
		"another memory in an alignment":         base(none, zero, i32Load, 0x42, 0, 0, drop),
		"a huge alignment":                       base(none, zero, i32Load, 0x20, 0, drop),
		"code after the end":                     base(none, end, call, 4),
		"no end":                                 wasm(types(sig(tt(), tt())), functions(0), code(body{0, 0x01})),
		"else without if":                        base(none, block, void, else_, end),
		"else twice":                             base(none, zero, if_, void, else_, else_, end),
		"an opcode in a longer form":             base(none, three, misc, 0x8b, 0, 0),
		"a vector opcode in a longer form":       base(none, vec, 0x8c, 0, make([]byte, 16), drop),
		"a vector opcode with another high part": base(none, vec, 0x80, 2),
		"an undefined vector opcode":             base(none, vec, 0x9a, 1),
		"an undefined opcode":                    base(none, misc, 18),
		"select of two types":                    base(none, three, selectT, 2, i32, i32, drop),
		"export of an injected function":         wasm(types(sig(tt(), tt())), functions(0), exports("x", 1), code(fn(none))),
		"start at an injected function":          wasm(types(sig(tt(), tt())), functions(0), section(8, 1), code(fn(none))),
		"a function of an injected type":         wasm(types(sig(tt(), tt())), functions(1), code(fn(none))),
		"export of the budget":                   wasm(section(7, list(join("x", 3, 0)))),
		"a global's value":                       wasm(globals(join(i64, 1, globalGet, 0, end))),
		"a reference to an injected function":    wasm(globals(join(funcref, 1, refFunc, 0, end))),
		"an element of an injected function":     wasm(table(1), elements(join(0, i32Const, 0, end, 1, 0))),
		"an element expression":                  wasm(table(1), elements(join(4, i32Const, 0, end, 1, refFunc, 0, end))),
		"an element segment without a table":     wasm(elements(join(0, i32Const, 0, end, 0))),
		"an element segment of another table":    wasm(table(1), elements(join(2, 1, i32Const, 0, end, 0, 0))),
		"a data segment without a memory":        wasm(data(at(0, ""))),
		"a data segment of another memory":       wasm(memory(1), data(join(2, 1, i32Const, 0, end, ""))),
		"a data count that lies":                 wasm(memory(1), section(12, 2), data(at(0, ""))),
		"memory.init without a data count": wasm(types(sig(tt(), tt())), functions(0), memory(1),
			code(fn(none, three, misc, 8, 0, 0)), data(at(0, ""))),
		"code without functions":           wasm(types(sig(tt(), tt())), code(fn(none))),
		"functions without code":           wasm(types(sig(tt(), tt())), functions(0)),
		"sections out of order":            wasm(memory(1), types()),
		"a section twice":                  wasm(memory(1), memory(1)),
		"a start function with parameters": wasm(types(sig(tt(i32), tt())), functions(0), section(8, 0), code(fn(none))),
		"bytes after a section's content":  wasm(section(1, 0, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, code, meter.Options{Wrap: wrapAll}, "")
			refused(t, code, meter.Options{Wrap: wrapAll, Guard: guardAll}, "")
		})
	}
}

func refused(t *testing.T, code []byte, opts meter.Options, text string) {
	t.Helper()
	res, err := meter.Rewrite(code, opts)
	var e *meter.Error
	switch {
	case !errors.As(err, &e) || res != nil:
		t.Fatalf("accepted: %t, %v", res != nil, err)
	case e.Reason == "" || e.Hint == "" || strings.Contains(err.Error(), "\n"):
		t.Errorf("not one actionable line: %v", err)
	case !strings.Contains(err.Error(), text):
		t.Errorf("%v does not say %q", err, text)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	many := func(n int, entry ...any) [][]byte { return slices.Repeat([][]byte{join(entry...)}, n) }
	v := sig(tt(), tt())
	locals := func(n uint32) []byte { return base(list(join(num(n), i64))) }
	i32s := func(n int) []byte { return slices.Repeat(tt(i32), n) }
	branchy := repeat(2_000, i32Const, 0, if_, void, end)
	for name, c := range map[string]struct {
		code []byte
		text string
	}{
		"empty":                     {nil, "too early"},
		"text":                      {[]byte("#!/bin/sh and so on"), "not WebAssembly"},
		"component":                 {[]byte("\x00asm\x0d\x00\x01\x00"), "component"},
		"too large":                 {append(wasm(), make([]byte, 32<<20)...), "bytes"},
		"reserved import":           {wasm(types(v), imports(join("waymark:meter", "tick", 0, 0))), "reserved"},
		"reserved kernel":           {wasm(types(v), imports(join("waymark:kernel", "alloc", 0, 0))), "reserved"},
		"reserved export":           {wasm(types(v), functions(0), exports("waymark:start", 0), code(fn(none))), "reserved"},
		"export twice":              {wasm(types(v), functions(0), exports("a", 0, "a", 0), code(fn(none))), "two exports"},
		"name not UTF-8":            {wasm(types(v), functions(0), exports("\xff", 0), code(fn(none))), "UTF-8"},
		"atomics":                   {base(none, 0xfe, 3, 0), "threads"},
		"exceptions":                {base(none, 0x06, void, end), "exceptions"},
		"tail calls":                {base(none, 0x12, 0), "tail calls"},
		"garbage collection":        {base(none, 0xfb, 0), "garbage"},
		"function references":       {base(none, 0x14, 0), "typed function"},
		"recursive types":           {wasm(section(1, 1, 0x4e, 0)), "form"},
		"a tag section":             {wasm(section(13, 0)), "section 13"},
		"64-bit memory":             {wasm(section(5, 1, 4, 1)), "64-bit"},
		"shared memory":             {wasm(section(5, 1, 3, 1, 1)), "shared"},
		"two memories":              {wasm(section(5, 2, 0, 1, 0, 1)), "memories"},
		"extended constant":         {wasm(globals(join(i32, 0, i32Const, 1, i32Const, 1, i32Add, end))), "more than one"},
		"table initializer":         {wasm(section(4, 1, 0x40, 0, funcref, 0, 1, refNull, funcref, end)), "reference type"},
		"a bomb of a table":         {wasm(table(100_000_000)), "100000000 entries"},
		"many tables":               {wasm(section(4, many(17, funcref, 0, 1))), "tables"},
		"a bomb of a memory":        {wasm(memory(65536)), "65536 pages"},
		"a bomb of locals":          {locals(1 << 31), "locals"},
		"locals in groups":          {base(many(2001, 1, i32)), "locals"},
		"locals in all":             {base(many(21, 100, i32)), "2100"},
		"too many globals":          {wasm(globals(many(1001, i32, 1, i32Const, 0, end)...)), "globals"},
		"too many types":            {wasm(types(many(10_001, v)...)), "types"},
		"too many values of types":  {wasm(types(many(400, sig(slices.Repeat(tt(i32), 128), nil))...)), "values"},
		"too many parameters":       {wasm(types(sig(slices.Repeat(tt(i32), 129), nil))), "parameters"},
		"too many results":          {wasm(types(sig(nil, slices.Repeat(tt(i32), 129)))), "results"},
		"too many functions":        {wasm(types(v), section(3, num(100_000), make([]byte, 100_000))), "100000 functions"},
		"too many imports":          {wasm(types(v), imports(many(1001, "a", "b", 0, 0)...)), "imports"},
		"long names of imports":     {wasm(types(v), imports(many(900, "a", strings.Repeat("b", 1200), 0, 0)...)), "names"},
		"long names of exports":     {wasm(types(v), functions(0), exports(longNames()...), code(fn(none))), "names"},
		"too many exports":          {wasm(section(7, num(10_001), make([]byte, 50_000))), "exports"},
		"too many segments":         {wasm(memory(1), data(many(100_001, at(0, ""))...)), "data segments"},
		"too many element segments": {wasm(elements(many(10_001, 1, 0, 0)...)), "element segments"},
		"too many elements": {wasm(types(v), functions(0), elements(join(1, 0, num(200_001), make([]byte, 200_001))), code(fn(none))),
			"elements"},
		"a large body":     {base(none, repeat(70_000, i32Const, 1)), "body of"},
		"a deep body":      {base(none, repeat(10_001, block, void), repeat(10_001, end)), "deeper"},
		"a large br_table": {base(none, i32Const, 0, brTable, num(10_001), make([]byte, 10_002)), "branch targets"},
		"locals times ifs": {base(list(join(num(2_000), i32)), branchy), "too long to compile"},
		"loops in a row":   {base(none, repeat(3_000, loop, void, end)), "too long to compile"},
		"values in ifs": {wasm(types(v, sig(i32s(128), i32s(128))), functions(0), code(fn(none, repeat(128, i32Const, 1),
			repeat(1_500, i32Const, 0, if_, 1, end), repeat(128, drop)))), "too long to compile"},
		"calls with values": {wasm(types(v, sig(i32s(128), i32s(128))), functions(0, 1), code(fn(none, repeat(128, i32Const, 1),
			repeat(2_500, call, 1), repeat(128, drop)), fn(none, unreachable))), "too long to compile"},
		"many slow functions": {wasm(types(v), section(3, num(500), make([]byte, 500)), code(slices.Repeat(
			[]body{fn(none, repeat(1_000, loop, void, end))}, 500)...)), "500 functions would take"},
		"globals times calls": {wasm(types(v), functions(0), globals(many(1000, i32, 1, i32Const, 0, end)...),
			code(fn(none, repeat(2_000, call, 0)))), "too long to compile"},
		"a count that is not there": {wasm(section(1, num(9_000))), "don't fit"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.code, meter.Options{}, c.text) })
	}
}

// A function's index in a message is the guest's own.
func TestErrorNamesThePlace(t *testing.T) {
	t.Parallel()
	_, err := meter.Rewrite(base(none, call, 9), meter.Options{})
	if err == nil || err.Error() !=
		"code section, offset 84: unknown function 9, there are 4 (rebuild it; the file may be damaged or cut off)" {
		t.Error(err)
	}
}

func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	for name, code := range samples() {
		whole := map[int]bool{}
		for n, left := range sectionEnds(code) {
			whole[n] = left
		}
		for n := range code {
			_, err := meter.Rewrite(code[:n], meter.Options{Wrap: wrapAll})
			if err == nil && !whole[n] {
				t.Errorf("%s cut at %d is accepted", name, n)
			}
		}
	}
}

// sectionEnds are the places where a module may end, as far as its sections go.
func sectionEnds(code []byte) map[int]bool {
	ends := map[int]bool{8: true}
	for _, s := range splitSections(code) {
		ends[s.end] = true
	}
	return ends
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	for name, code := range samples() {
		a, err := meter.Rewrite(code, meter.Options{Wrap: wrapAll})
		if err != nil {
			t.Fatal(name, err)
		}
		before := slices.Clone(code)
		b, _ := meter.Rewrite(code, meter.Options{Wrap: wrapAll})
		if !slices.Equal(a.Wasm, b.Wasm) {
			t.Errorf("%s: two results", name)
		}
		if !slices.Equal(before, code) {
			t.Errorf("%s: the input was changed", name)
		}
	}
}

// longNames are exports whose names are more than a module may have.
func longNames() (pairs []any) {
	for i := range 2000 {
		pairs = append(pairs, fmt.Sprintf("%s%d", strings.Repeat("e", 600), i), 0)
	}
	return pairs
}
