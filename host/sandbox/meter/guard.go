package meter

// guard is an import that is called before another one.
type guard struct {
	module, name string
	typ          FuncType
	function     uint32 // the import that is guarded
}

// refuses reports whether the guard's result can be the call's.
func (g guard) refuses() bool { return g.typ.Results != "" }

// readGuard asks for the guard of the import that is being read, the next of
// m.funcs.
func (m *module) readGuard(imp *Import) {
	if m.opts.Guard == nil {
		return
	}
	module, name, ok := m.opts.Guard(imp.Module, imp.Name)
	if !ok {
		return
	}
	t := FuncType{Params: imp.Type.Params}
	if imp.Type.Results == string([]byte{typeI32}) {
		t.Results = imp.Type.Results
	}
	function := uint32(m.importedFuncs)
	m.guardOf[function] = uint32(len(m.guards))
	m.guards = append(m.guards, guard{module: module, name: name, typ: t, function: function})
}

// appendGuarding writes the body of the function that stands for a guarded
// import: it calls the guard and, if that didn't answer, the import.
func (m *module) appendGuarding(out []byte, k int) []byte {
	g := m.guards[k]
	params := len(g.typ.Params)
	call := func(c []byte, function int) []byte {
		for i := range params {
			c = appendLen(append(c, opLocalGet), i)
		}
		return appendLen(append(c, opCall), function)
	}
	c := []byte{0}
	if g.refuses() { // its answer is kept in a local
		c = []byte{1, 1, typeI32}
	}
	c = call(c, m.importedFuncs+meterFuncs+k)
	if g.refuses() {
		c = appendLen(append(c, opLocalTee), params)
		c = append(c, opIf, blockVoid)
		c = appendLen(append(c, opLocalGet), params)
		c = append(c, opReturn, opEnd)
	}
	c = append(call(c, int(g.function)), opEnd)
	return append(appendLen(out, len(c)), c...)
}
