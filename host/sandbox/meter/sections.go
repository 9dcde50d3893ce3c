package meter

import "strings"

func (m *module) readTypes(r *reader) {
	n := r.count("types", m.limits.MaxTypes)
	m.types = make([]FuncType, 0, n)
	values := 0
	for range n {
		start := r.pos
		if form := r.u8(); form != 0x60 && r.err == nil {
			r.fail(r.pos-1, hintFeatures, "unknown form of type 0x%02x", form)
		}
		t := FuncType{Params: m.readArity(r, "parameters"), Results: m.readArity(r, "results")}
		if values += len(t.Params) + len(t.Results); values > m.limits.MaxTypeValues && r.err == nil {
			r.fail(start, hintSmaller, "the types have more than %d values", m.limits.MaxTypeValues)
		}
		m.types = append(m.types, t)
		m.vectors = m.vectors || strings.ContainsRune(t.Params+t.Results, typeV128)
		if r.err != nil {
			return
		}
	}
}

func (m *module) readArity(r *reader, what string) string {
	n := r.count(what, m.limits.MaxArity)
	start := r.pos
	for range n {
		r.valueType()
	}
	if r.err != nil {
		return ""
	}
	return string(r.buf[start : start+n])
}

func (m *module) readImports(r *reader) {
	for range r.count("imports", m.limits.MaxImports) {
		start := r.pos
		imp := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.u8())}
		m.nameBytes(r, start, len(imp.Module)+len(imp.Name))
		if strings.HasPrefix(imp.Module, ReservedPrefix) {
			r.fail(start, "import from another module", "import module %.100q is reserved", imp.Module)
		}
		m.importAs = append(appendName(appendName(m.importAs, imp.Module), imp.Name), byte(imp.Kind))
		m.readImportKind(r, &imp)
		if r.err != nil {
			return
		}
		m.imports = append(m.imports, imp)
	}
}

// nameBytes counts names that can't be left out.
func (m *module) nameBytes(r *reader, start, n int) {
	if m.named += n; m.named > m.limits.MaxNames && r.err == nil {
		r.fail(start, hintSmaller, "the names of imports and exports have more than %d bytes", m.limits.MaxNames)
	}
}

func (m *module) readImportKind(r *reader, imp *Import) {
	start := r.pos
	switch imp.Kind {
	case KindFunc:
		t := r.index("type", len(m.types))
		if r.err != nil {
			return
		}
		imp.Type = m.types[t]
		m.readGuard(imp)
		m.funcs = append(m.funcs, t)
		m.importedFuncs++
	case KindTable:
		m.readTable(r, nil) // growing it is its owner's business
		m.importedTables++
	case KindMemory:
		m.readMemory(r)
		m.importedMemories++
	case KindGlobal:
		m.readGlobalType(r)
		m.globals++
		m.importedGlobals++
	default:
		r.fail(start-1, hintFeatures, "unknown kind of import 0x%02x", byte(imp.Kind))
		return
	}
	m.importAs = append(m.importAs, r.buf[start:r.pos]...)
}

func (m *module) readFunctions(r *reader) {
	n := r.count("functions", m.limits.MaxFunctions)
	for range n {
		m.funcs = append(m.funcs, r.index("type", len(m.types)))
		if r.err != nil {
			return
		}
	}
	m.stats.Functions = n
}

func (m *module) readTables(r *reader) {
	for range r.count("tables", m.limits.MaxTables) {
		m.tableEntries = m.readTable(r, m.tableEntries)
		if r.err != nil {
			return
		}
	}
}

// readTable appends the table to b with a bound on its growth: table.grow may
// fail, and memory outside of linear memory is otherwise unbounded.
func (m *module) readTable(r *reader, b []byte) []byte {
	start := r.pos
	refType := r.refType()
	minimum, maximum, bounded := r.limits()
	limit := m.limits.MaxTableElements
	m.tables++
	m.tableSum = min(m.tableSum+int(minimum), 1<<40)
	if r.err == nil && m.tableSum > limit {
		r.fail(start, hintSmaller, "the tables have %d entries, %d are allowed", m.tableSum, limit)
	}
	if r.err == nil && m.tables > m.limits.MaxTables {
		r.fail(start, hintSmaller, "more than %d tables", m.limits.MaxTables)
	}
	if bounded && maximum < minimum {
		r.damaged(start, "a table's bound is below its size")
	}
	if !bounded || int64(maximum) > int64(limit) {
		maximum = uint32(limit)
	}
	return appendU32(appendU32(append(b, refType, 1), minimum), maximum)
}

// limits reads the bounds of a table or memory.
func (r *reader) limits() (minimum, maximum uint32, bounded bool) {
	flag := r.u8()
	if flag > 1 && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "shared or 64-bit memories and tables are not supported")
	}
	minimum = r.u32()
	if flag == 1 {
		maximum = r.u32()
	}
	return minimum, maximum, flag == 1
}

func (m *module) readMemories(r *reader) {
	n := r.count("memories", 1)
	start := r.pos
	for range n {
		m.readMemory(r)
	}
	m.memoryBody = r.buf[start:r.pos]
}

func (m *module) readMemory(r *reader) {
	start := r.pos
	minimum, _, _ := r.limits()
	m.memoryMin = minimum
	m.memories++
	switch {
	case m.memories > 1:
		r.fail(start, hintFeatures, "more than one memory")
	case int64(minimum) > int64(m.limits.MaxMemoryPages):
		r.fail(start, "give it less initial memory, or the module a higher memory limit",
			"the memory begins with %d pages, %d are allowed", minimum, m.limits.MaxMemoryPages)
	}
}

func (m *module) readGlobals(r *reader) {
	for range r.count("globals", m.limits.MaxGlobals) {
		start := r.pos
		m.readGlobalType(r)
		m.globalBody = append(m.globalBody, r.buf[start:r.pos]...)
		m.globalBody, _, _ = m.constExpr(r, m.globalBody)
		m.globals++
		if r.err != nil {
			return
		}
	}
}

func (m *module) readGlobalType(r *reader) {
	t := r.valueType()
	m.vectors = t == typeV128 || m.vectors
	mut := r.u8()
	if mut > 1 && r.err == nil {
		r.damaged(r.pos-1, "unknown mutability 0x%02x", mut)
	}
	if mut == 1 {
		m.mutable++
		m.mutableGlobals = append(m.mutableGlobals, uint32(m.globals))
		m.wideGlobal = m.wideGlobal || t == typeV128 || t == typeFuncref || t == typeExternref
	}
}

func (m *module) readExports(r *reader) {
	n := r.count("exports", m.limits.MaxExports)
	seen := make(map[string]bool, n)
	for range n {
		start := r.pos
		e := export{name: r.name(), kind: Kind(r.u8())}
		switch {
		case r.err != nil:
		case e.kind > KindGlobal:
			r.fail(r.pos-1, hintFeatures, "unknown kind of export 0x%02x", byte(e.kind))
		default:
			counts := [...]int{len(m.funcs), m.tables, m.memories, m.globals}
			e.index = r.index(e.kind.String(), counts[e.kind])
		}
		m.nameBytes(r, start, len(e.name))
		if strings.HasPrefix(e.name, ReservedPrefix) {
			r.fail(start, "export it under another name", "export name %.100q is reserved", e.name)
		}
		if seen[e.name] {
			r.damaged(start, "two exports of the name %.100q", e.name)
		}
		if r.err != nil {
			return
		}
		seen[e.name] = true
		m.exports = append(m.exports, e)
	}
}

// constExpr reads a constant expression of one instruction and appends it to
// b, with function indices shifted. If it is an i32 constant, that is returned
// too.
func (m *module) constExpr(r *reader, b []byte) (_ []byte, value int32, isI32 bool) {
	start := r.pos
	switch op := r.u8(); op {
	case opI32Const:
		value, isI32 = int32(r.signed(5)), true
	case opI64Const:
		r.signed(10)
	case opF32Const:
		r.skip(4)
	case opF64Const:
		r.skip(8)
	case opGlobalGet:
		r.index("global", m.globals)
	case opRefNull:
		r.refType()
	case opRefFunc:
		f := r.index("function", len(m.funcs))
		b = appendU32(append(b, opRefFunc), m.shiftFunc(f))
		start = r.pos
	case opVecPrefix:
		if r.u8() != vecConst && r.err == nil {
			r.fail(start, hintFeatures, "not a constant expression")
		}
		r.skip(16)
	default:
		r.fail(start, hintFeatures, "opcode 0x%02x is not allowed in a constant expression", op)
	}
	if end := r.u8(); end != opEnd && r.err == nil {
		r.fail(r.pos-1, hintFeatures, "a constant expression of more than one instruction")
	}
	if r.err != nil {
		return b, 0, false
	}
	return append(b, r.buf[start:r.pos]...), value, isI32
}
