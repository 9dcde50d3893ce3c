package wasmtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WAT assembles a module from the WebAssembly text format: all of core 2.0 but
// what computes with vectors, inline imports and segments inside of memories and tables.
// Instructions may be flat or folded. Imports come before definitions. It
// doesn't validate: hostile modules need not be valid.
func WAT(text string) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("wat: %w", err)
	}
	if root.head() != "module" {
		return nil, fmt.Errorf("wat: line %d: it is not a (module …)", root.line)
	}
	m := &assembler{names: map[string]map[string]uint32{}, counts: map[string]uint32{}, sections: map[byte][][]byte{}}
	if err := m.module(root.list[1:]); err != nil {
		return nil, fmt.Errorf("wat: %w", err)
	}
	return m.bytes(), nil
}

// MustWAT is WAT for text that is part of the program.
func MustWAT(text string) []byte {
	wasm, err := WAT(text)
	if err != nil {
		panic(err)
	}
	return wasm
}

// Section ids: core specification, section 5.5.2.
const (
	secType = 1 + iota
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// sectionOrder is the order in a file.
var sectionOrder = []byte{
	secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData,
}

type assembler struct {
	names    map[string]map[string]uint32 // per index space, "$name" to index
	counts   map[string]uint32            // per index space
	types    []string                     // encoded function types
	sections map[byte][][]byte            // entries
	start    []byte
	bulkData bool // some instruction names a data segment
}

// signature is the type of a function or a block.
type signature struct {
	explicit        *uint32 // (type …)
	params, results []byte
	paramNames      []string
}

// module assembles the fields: first everything gets its index, then
// whatever refers to it is assembled.
func (m *assembler) module(fields []node) error {
	if len(fields) > 0 && !fields[0].isList() {
		fields = fields[1:] // the module's name
	}
	for _, f := range fields {
		if err := m.declare(f); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if err := m.define(f); err != nil {
			return err
		}
	}
	return nil
}

// declare gives a field its index.
func (m *assembler) declare(f node) error {
	space, named := f.head(), f.list
	switch space {
	case "import":
		if len(f.list) != 4 {
			return f.errorf("an import is (import \"module\" \"name\" (kind …))")
		}
		space, named = f.list[3].head(), f.list[3].list
	case "func", "table", "memory", "global", "elem", "data":
	case "type":
		return m.declareType(f)
	case "export", "start":
		return nil
	default:
		return f.errorf("unknown field %q", space)
	}
	if m.names[space] == nil {
		m.names[space] = map[string]uint32{}
	}
	if len(named) > 1 && strings.HasPrefix(named[1].atom, "$") {
		if _, twice := m.names[space][named[1].atom]; twice {
			return f.errorf("%s %s is there twice", space, named[1].atom)
		}
		m.names[space][named[1].atom] = m.counts[space]
	}
	m.counts[space]++
	return nil
}

func (m *assembler) declareType(f node) error {
	rest := f.list[1:]
	if m.names["type"] == nil {
		m.names["type"] = map[string]uint32{}
	}
	if len(rest) > 0 && !rest[0].isList() {
		m.names["type"][rest[0].atom] = uint32(len(m.types))
		rest = rest[1:]
	}
	if len(rest) != 1 || rest[0].head() != "func" {
		return f.errorf("a type is (type $name (func …))")
	}
	sig, _, err := m.signature(rest[0].list[1:])
	m.types = append(m.types, sig.encode())
	return err
}

func (m *assembler) define(f node) error {
	rest := f.list[1:]
	if len(rest) > 0 && strings.HasPrefix(rest[0].atom, "$") && f.head() != "start" {
		rest = rest[1:]
	}
	switch f.head() {
	case "import":
		return m.importField(rest)
	case "func":
		return m.function(f, rest)
	case "table":
		return m.table(rest)
	case "memory":
		return m.memory(rest)
	case "global":
		return m.global(f, rest)
	case "export":
		return m.export(f, rest)
	case "start":
		index, err := m.index(m.names["func"], rest[0])
		m.start = leb(index)
		return err
	case "elem":
		return m.elem(f, rest)
	case "data":
		return m.data(f, rest)
	}
	return nil
}

func (m *assembler) add(id byte, entry []byte) { m.sections[id] = append(m.sections[id], entry) }

// bytes puts the sections together.
func (m *assembler) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range sectionOrder {
		switch {
		case id == secType && len(m.types) > 0:
			var list [][]byte
			for _, t := range m.types {
				list = append(list, []byte(t))
			}
			out = append(out, section(id, vector(list))...)
		case id == secStart && m.start != nil:
			out = append(out, section(id, m.start)...)
		case id == secDataCount && m.bulkData:
			out = append(out, section(id, leb(uint32(len(m.sections[secData]))))...)
		case m.sections[id] != nil:
			out = append(out, section(id, vector(m.sections[id]))...)
		}
	}
	return out
}

// signature reads (type …), (param …) and (result …) from the front.
func (m *assembler) signature(rest []node) (signature, []node, error) {
	var sig signature
	for ; len(rest) > 0 && rest[0].isList(); rest = rest[1:] {
		n := rest[0]
		args := n.list[min(1, len(n.list)):]
		switch n.head() {
		case "type":
			if len(args) != 1 {
				return sig, nil, n.errorf("(type …) needs one name")
			}
			index, err := m.index(m.names["type"], args[0])
			if err != nil {
				return sig, nil, err
			}
			sig.explicit = &index
			continue
		case "param":
			if len(args) == 2 && strings.HasPrefix(args[0].atom, "$") {
				sig.paramNames = append(sig.paramNames, args[0].atom)
				args = args[1:]
			} else {
				sig.paramNames = append(sig.paramNames, slices.Repeat([]string{""}, len(args))...)
			}
			types, err := typeList(args)
			if err != nil {
				return sig, nil, err
			}
			sig.params = append(sig.params, types...)
			continue
		case "result":
			types, err := typeList(args)
			if err != nil {
				return sig, nil, err
			}
			sig.results = append(sig.results, types...)
			continue
		}
		break
	}
	return sig, rest, nil
}

func typeList(list []node) ([]byte, error) {
	var types []byte
	for _, n := range list {
		t, ok := valueTypes[n.atom]
		if !ok {
			return nil, n.errorf("unknown type %q", n.atom)
		}
		types = append(types, t)
	}
	return types, nil
}

func (s signature) encode() string {
	var b bytes.Buffer
	b.WriteByte(0x60)
	b.Write(leb(uint32(len(s.params))))
	b.Write(s.params)
	b.Write(leb(uint32(len(s.results))))
	b.Write(s.results)
	return b.String()
}

// typeOf is the index of a type; one that isn't there yet is added.
func (m *assembler) typeOf(s signature) uint32 {
	if s.explicit != nil {
		return *s.explicit
	}
	text := s.encode()
	if i := slices.Index(m.types, text); i >= 0 {
		return uint32(i)
	}
	m.types = append(m.types, text)
	return uint32(len(m.types) - 1)
}

// index resolves a name or a number.
func (m *assembler) index(names map[string]uint32, n node) (uint32, error) {
	if strings.HasPrefix(n.atom, "$") {
		if i, ok := names[n.atom]; ok {
			return i, nil
		}
		return 0, n.errorf("unknown name %s (there are %v)", n.atom, slices.Sorted(maps.Keys(names)))
	}
	return m.number(n)
}

func (m *assembler) number(n node) (uint32, error) {
	v, err := strconv.ParseUint(strings.ReplaceAll(n.atom, "_", ""), 0, 32)
	if err != nil {
		return 0, n.errorf("%q is not an index or a known name", n.atom)
	}
	return uint32(v), nil
}

// optional reads an index of a space that may be left out and then is 0.
func (m *assembler) optional(space string, rest []node) (uint32, []node, error) {
	if len(rest) == 0 || rest[0].isList() || !isIndex(rest[0]) {
		return 0, rest, nil
	}
	index, err := m.index(m.names[space], rest[0])
	return index, rest[1:], err
}
