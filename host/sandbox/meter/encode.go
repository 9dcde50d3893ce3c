package meter

import (
	"encoding/binary"
	"slices"
)

// encode puts the new module together.
func (m *module) encode() []byte {
	wrappers := m.wrappers()
	out := make([]byte, 0, len(m.codeBody)+len(m.dataBody)+len(m.names)+len(m.elementBody)+1<<16)
	out = append(out, preamble...)
	imports := m.importEntries() // adds types
	out = appendSection(out, secType, len(m.types)+len(m.added), m.typeEntries())
	out = appendSection(out, secImport, len(m.imports)+m.injectedImports(), imports)
	functions := m.bodies + len(m.guards) + len(wrappers)
	out = appendSection(out, secFunction, functions, m.functionEntries(wrappers))
	out = appendSection(out, secTable, m.tables-m.importedTables, m.tableEntries)
	if len(m.memoryBody) > 0 {
		out = appendSection(out, secMemory, m.memories-m.importedMemories, m.memoryBody)
	}
	out = appendSection(out, secGlobal, m.globals-m.importedGlobals+injectedGlobals, m.globalEntries())
	entries, n := m.exportEntries(wrappers)
	out = appendSection(out, secExport, n, entries)
	entries, n = m.elementEntries(wrappers)
	out = appendSection(out, secElement, n, entries)
	data, segments := m.mergeData()
	m.stats.DataSegmentsAfter = segments
	var custom []byte
	if m.detaches() {
		custom = detached(data, segments)
		data, segments = nil, 0
	}
	if m.hasDataCount {
		count := appendLen(nil, segments)
		out = append(appendLen(append(out, secDataCount), len(count)), count...)
	}
	code := m.codeBody
	for k := range m.guards {
		code = m.appendGuarding(code, k)
	}
	for _, w := range wrappers {
		code = m.appendWrapper(code, w)
	}
	out = appendSection(out, secCode, functions, code)
	out = appendSection(out, secData, segments, data)
	return append(append(out, m.names...), custom...)
}

func (m *module) typeEntries() []byte {
	var b []byte
	for _, t := range slices.Concat(m.types, m.added) {
		b = appendName(appendName(append(b, 0x60), t.Params), t.Results)
	}
	return b
}

func (m *module) importEntries() []byte {
	b := m.importAs
	add := func(module, name string, t FuncType) {
		b = append(appendName(appendName(b, module), name), byte(KindFunc))
		b = appendU32(b, m.typeIndex(t))
	}
	i64 := string([]byte{typeI64})
	add(ImportModule, ImportTick, FuncType{Results: i64})
	add(ImportModule, ImportDone, FuncType{Params: i64})
	add(ImportModule, ImportOverflow, FuncType{})
	for _, g := range m.guards {
		add(g.module, g.name, g.typ)
	}
	return b
}

// globalEntries adds the budget, and what is left of the stack.
func (m *module) globalEntries() []byte {
	b := append(m.globalBody, typeI64, 1, opI64Const, 0, opEnd)
	return append(m.appendWholeStack(append(b, typeI64, 1)), opEnd)
}

// appendWholeStack writes the constant that is the whole stack.
func (m *module) appendWholeStack(b []byte) []byte {
	return appendSigned(append(b, opI64Const), int64(m.limits.MaxStack))
}

func (m *module) functionEntries(wrappers []wrapper) []byte {
	var b []byte
	for _, t := range m.funcs[m.importedFuncs:] {
		b = appendU32(b, t)
	}
	for _, g := range m.guards {
		b = appendU32(b, m.funcs[g.function])
	}
	for _, w := range wrappers {
		b = appendU32(b, m.funcs[w.function])
	}
	return b
}

// wrapper stands in for an exported function. Wrappers come after all other
// functions.
type wrapper struct {
	export   string
	function uint32
}

// wrappers lists what is to be wrapped, in the order of the exports.
func (m *module) wrappers() []wrapper {
	var list []wrapper
	for _, e := range m.exports {
		if e.kind == KindFunc && slices.Contains(m.opts.Wrap, e.name) {
			list = append(list, wrapper{e.name, e.index})
		}
	}
	if m.start >= 0 && slices.Contains(m.opts.Wrap, StartExport) {
		list = append(list, wrapper{StartExport, uint32(m.start)})
	}
	return list
}

// appendWrapper writes the body of a wrapper: it has the whole stack, whatever
// a call before left, calls with its parameters, leaves the results where they
// are, and reports.
func (m *module) appendWrapper(out []byte, w wrapper) []byte {
	c := m.appendWholeStack([]byte{0})
	c = appendU32(append(c, opGlobalSet), m.stack())
	for i := range len(m.types[m.funcs[w.function]].Params) {
		c = appendLen(append(c, opLocalGet), i)
	}
	c = appendU32(append(c, opCall), m.shiftFunc(w.function))
	c = appendU32(append(c, opGlobalGet), m.budget())
	c = appendU32(append(c, opCall), m.doneFunc())
	c = append(c, opEnd)
	return append(appendLen(out, len(c)), c...)
}

func (m *module) exportEntries(wrappers []wrapper) ([]byte, int) {
	wrapped := map[string]uint32{}
	for i, w := range wrappers {
		wrapped[w.export] = m.wrapperFunc() + uint32(i)
	}
	var b []byte
	for _, e := range m.exports {
		index := e.index
		if e.kind == KindFunc {
			index = m.shiftFunc(index)
			if i, ok := wrapped[e.name]; ok {
				index = i
			}
		}
		b = appendU32(append(appendName(b, e.name), byte(e.kind)), index)
	}
	n := len(m.exports)
	if m.start >= 0 {
		index, ok := wrapped[StartExport]
		if !ok {
			index = m.shiftFunc(uint32(m.start))
		}
		b = appendU32(append(appendName(b, StartExport), byte(KindFunc)), index)
		n++
	}
	b, globals := m.globalExports(b)
	return b, n + globals
}

// elementEntries adds a declarative segment for functions that code refers to
// and whose export, which declared them, now leads to a wrapper.
func (m *module) elementEntries(wrappers []wrapper) ([]byte, int) {
	var declared []uint32
	for _, w := range wrappers {
		if w.export != StartExport && m.refFuncs[w.function] && !slices.Contains(declared, w.function) {
			declared = append(declared, w.function)
		}
	}
	if len(declared) == 0 {
		return m.elementBody, m.elements
	}
	b := appendLen(append(m.elementBody, elemNotActive|elemTable, 0), len(declared))
	for _, f := range declared {
		b = appendU32(b, m.shiftFunc(f))
	}
	return b, m.elements + 1
}

func appendU32(b []byte, v uint32) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, uint64(v))
}

func appendLen(b []byte, n int) []byte { return appendU32(b, uint32(n)) }

func appendName(b []byte, s string) []byte { return append(appendLen(b, len(s)), s...) }

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// appendSection writes a section of entries; none are written for none.
func appendSection(b []byte, id byte, count int, entries []byte) []byte {
	if count == 0 {
		return b
	}
	n := appendLen(nil, count)
	b = appendLen(append(b, id), len(n)+len(entries))
	return append(append(b, n...), entries...)
}
