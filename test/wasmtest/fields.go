package wasmtest

import "strings"

// Kinds of imports and exports.
var externKinds = map[string]byte{"func": 0, "table": 1, "memory": 2, "global": 3}

// inlineExports takes (export "name") from the front of a definition.
func (m *assembler) inlineExports(kind string, index uint32, rest []node) []node {
	for len(rest) > 0 && rest[0].head() == "export" && len(rest[0].list) == 2 {
		m.add(secExport, append(append(text(rest[0].list[1].atom), externKinds[kind]), leb(index)...))
		rest = rest[1:]
	}
	return rest
}

// next returns the index of the definition that is assembled now. All imports of its
// kind and the definitions before it have lower ones.
func (m *assembler) next(kind string, id byte) uint32 {
	return m.counts["import "+kind] + uint32(len(m.sections[id]))
}

func (m *assembler) importField(rest []node) error {
	module, name, desc := rest[0], rest[1], rest[2]
	kind := desc.head()
	args := desc.list[1:]
	if len(args) > 0 && strings.HasPrefix(args[0].atom, "$") {
		args = args[1:]
	}
	entry := append(append(text(module.atom), text(name.atom)...), externKinds[kind])
	switch kind {
	case "func":
		sig, _, err := m.signature(args)
		if err != nil {
			return err
		}
		entry = append(entry, leb(m.typeOf(sig))...)
	case "table":
		body, err := m.tableType(args)
		if err != nil {
			return err
		}
		entry = append(entry, body...)
	case "memory":
		body, err := m.limits(args)
		if err != nil {
			return err
		}
		entry = append(entry, body...)
	case "global":
		body, err := globalType(args[0])
		if err != nil {
			return err
		}
		entry = append(entry, body...)
	default:
		return desc.errorf("unknown import %q", kind)
	}
	m.counts["import "+kind]++
	m.add(secImport, entry)
	return nil
}

func (m *assembler) function(f node, rest []node) error {
	rest = m.inlineExports("func", m.next("func", secFunction), rest)
	sig, rest, err := m.signature(rest)
	if err != nil {
		return err
	}
	m.add(secFunction, leb(m.typeOf(sig)))
	body := &funcBody{m: m, locals: map[string]uint32{}}
	for i, name := range sig.paramNames {
		if name != "" {
			body.locals[name] = uint32(i)
		}
	}
	var locals [][]byte
	count := uint32(len(sig.params))
	for ; len(rest) > 0 && rest[0].head() == "local"; rest = rest[1:] {
		args := rest[0].list[1:]
		if len(args) == 2 && strings.HasPrefix(args[0].atom, "$") {
			body.locals[args[0].atom] = count
			args = args[1:]
		}
		types, err := typeList(args)
		if err != nil {
			return err
		}
		for _, t := range types {
			locals = append(locals, []byte{1, t})
			count++
		}
	}
	if err := body.instrs(rest); err != nil {
		return err
	}
	if len(body.labels) > 0 {
		return f.errorf("a block of the function doesn't end")
	}
	code := append(vector(locals), append(body.out, 0x0b)...)
	m.add(secCode, append(leb(uint32(len(code))), code...))
	return nil
}

func (m *assembler) limits(args []node) ([]byte, error) {
	var numbers []uint32
	for _, n := range args {
		v, err := m.number(n)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, v)
	}
	if len(numbers) == 2 {
		return append(append([]byte{1}, leb(numbers[0])...), leb(numbers[1])...), nil
	}
	return append([]byte{0}, leb(numbers[0])...), nil
}

func (m *assembler) tableType(args []node) ([]byte, error) {
	limits, err := m.limits(args[:len(args)-1])
	return append([]byte{valueTypes[args[len(args)-1].atom]}, limits...), err
}

func (m *assembler) table(rest []node) error {
	rest = m.inlineExports("table", m.next("table", secTable), rest)
	body, err := m.tableType(rest)
	m.add(secTable, body)
	return err
}

func (m *assembler) memory(rest []node) error {
	rest = m.inlineExports("memory", m.next("memory", secMemory), rest)
	body, err := m.limits(rest)
	m.add(secMemory, body)
	return err
}

// globalType is a value type, or (mut t).
func globalType(n node) ([]byte, error) {
	if n.head() == "mut" {
		types, err := typeList(n.list[1:])
		return append(types, 1), err
	}
	types, err := typeList([]node{n})
	return append(types, 0), err
}

func (m *assembler) global(f node, rest []node) error {
	rest = m.inlineExports("global", m.next("global", secGlobal), rest)
	if len(rest) < 2 {
		return f.errorf("a global has a type and a value")
	}
	body, err := globalType(rest[0])
	if err != nil {
		return err
	}
	value, err := m.constExpr(rest[1:])
	m.add(secGlobal, append(body, value...))
	return err
}

func (m *assembler) constExpr(list []node) ([]byte, error) {
	body := &funcBody{m: m}
	err := body.instrs(list)
	return append(body.out, 0x0b), err
}

func (m *assembler) export(f node, rest []node) error {
	if len(rest) != 2 || len(rest[1].list) != 2 {
		return f.errorf("an export is (export \"name\" (kind index))")
	}
	kind := rest[1].head()
	index, err := m.index(m.names[kind], rest[1].list[1])
	m.add(secExport, append(append(text(rest[0].atom), externKinds[kind]), leb(index)...))
	return err
}

// elem assembles an active segment, (elem (offset) func…), a passive one,
// (elem func…), or a declared one, (elem declare func…).
func (m *assembler) elem(f node, rest []node) error {
	var entry []byte
	switch {
	case len(rest) > 0 && rest[0].isList():
		offset, err := m.constExpr(unwrap(rest[0]))
		if err != nil {
			return err
		}
		entry = append([]byte{0}, offset...)
		rest = rest[1:]
	case len(rest) > 0 && rest[0].atom == "declare":
		entry = []byte{3, 0}
		rest = rest[1:]
	default:
		entry = []byte{1, 0}
	}
	if len(rest) > 0 && rest[0].atom == "func" {
		rest = rest[1:]
	}
	var funcs [][]byte
	for _, n := range rest {
		index, err := m.index(m.names["func"], n)
		if err != nil {
			return f.errorf("%v", err)
		}
		funcs = append(funcs, leb(index))
	}
	m.add(secElement, append(entry, vector(funcs)...))
	return nil
}

// data assembles an active segment, (data (offset) "…"), or a passive one.
func (m *assembler) data(f node, rest []node) error {
	entry := []byte{1}
	if len(rest) > 0 && rest[0].isList() {
		offset, err := m.constExpr(unwrap(rest[0]))
		if err != nil {
			return err
		}
		entry = append([]byte{0}, offset...)
		rest = rest[1:]
	} else {
		m.bulkData = true
	}
	var content strings.Builder
	for _, n := range rest {
		if !n.str {
			return f.errorf("a data segment holds strings")
		}
		content.WriteString(n.atom)
	}
	m.add(secData, append(entry, text(content.String())...))
	return nil
}

// unwrap takes (offset …) off an expression.
func unwrap(n node) []node {
	if n.head() == "offset" {
		return n.list[1:]
	}
	return []node{n}
}
