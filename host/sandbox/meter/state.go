package meter

import (
	"fmt"
	"strconv"
)

// What follows is for hosts that prepare an instance once and begin others in
// the state it is in then; see Options.State.

// GlobalPrefix begins the names under which mutable globals are exported, all of
// them, in their order: "waymark:global:0" and so on. The budget and what is left
// of the stack are the last two.
const GlobalPrefix = ReservedPrefix + "global:"

// GlobalExport is the name of a mutable global, of Result.MutableGlobals.
func GlobalExport(i int) string { return GlobalPrefix + strconv.Itoa(i) }

// DataSection is the custom section that holds what a fresh memory holds, in
// place of the data section; see Data.
const DataSection = ReservedPrefix + "data"

// fixed finds something of the state of an instance that the host can't set, or
// that only instantiating the module sets: "" if there is nothing.
func (m *module) fixed() string {
	switch {
	case m.importedTables+m.importedMemories+m.importedGlobals > 0:
		return "it imports a table, memory or global"
	case m.tableChanges:
		return "it can change its tables"
	case m.dropsElements:
		return "it can drop element segments"
	case m.usesData:
		return "it copies or drops data segments by itself"
	case len(m.data) > 0 && !m.mergeable():
		return "its data segments have no fixed place in memory"
	case m.wideGlobal:
		return "it has mutable globals that are references or vectors"
	}
	return ""
}

// detaches reports whether the data goes into a section of its own.
func (m *module) detaches() bool { return m.opts.State && m.fixed() == "" }

// globalExports appends the exports of the mutable globals.
func (m *module) globalExports(b []byte) ([]byte, int) {
	if !m.detaches() {
		return b, 0
	}
	list := append(m.mutableGlobals, m.budget(), m.stack())
	for i, g := range list {
		b = appendU32(append(appendName(b, GlobalExport(i)), byte(KindGlobal)), g)
	}
	return b, len(list)
}

// detached is the section of the data.
func detached(entries []byte, segments int) []byte {
	if segments == 0 {
		return nil
	}
	content := appendLen(appendName(nil, DataSection), segments)
	content = append(content, entries...)
	return append(appendLen([]byte{secCustom}, len(content)), content...)
}

// Segment is a part of what a fresh memory holds, at an offset in bytes. The rest
// is zero.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// Data reads the DataSection of a rewritten module. The segments don't overlap,
// fit into the memory's initial size, and are parts of wasm. There are none where
// there is no such section.
func Data(wasm []byte) ([]Segment, error) {
	r := &reader{buf: wasm, pos: min(len(preamble), len(wasm)), end: len(wasm)}
	for r.more() {
		id := r.u8()
		body := r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		if id != secCustom {
			continue
		}
		s := &reader{buf: wasm, pos: r.pos - len(body), end: r.pos, section: sectionNames[secCustom]}
		if s.name() == DataSection {
			return s.segments()
		}
	}
	return nil, nil
}

func (r *reader) segments() ([]Segment, error) {
	var list []Segment
	for range r.u32() {
		start := r.pos
		flags, op := r.u8(), r.u8()
		offset := uint32(int32(r.signed(5)))
		if end := r.u8(); flags != 0 || op != opI32Const || end != opEnd {
			r.damaged(start, "not a segment of data")
		}
		s := Segment{Offset: offset, Bytes: r.bytes()}
		if r.err != nil {
			return nil, fmt.Errorf("section %s: %w", DataSection, r.err)
		}
		list = append(list, s)
	}
	return list, nil
}
