package meter

import (
	"cmp"
	"runtime"
	"slices"
)

// module is what decode learns of a module, and the parts of the new one that
// are already encoded. Indices that it holds are the original's, unless said
// otherwise.
type module struct {
	opts   Options
	limits Limits
	stats  Stats

	noRemainders bool // see rem.go

	types    []FuncType
	vectors  bool // some type or global is of 16 bytes
	imports  []Import
	importAs []byte            // entries of the new import section
	funcs    []uint32          // type of each function, imported ones first
	guards   []guard           // in the order of what they guard
	guardOf  map[uint32]uint32 // imported function to its index in guards

	added []FuncType // types of what is injected that the original doesn't have

	importedFuncs, importedTables, importedMemories, importedGlobals int

	tables       int
	tableEntries []byte // new
	tableSum     int
	memories     int
	memoryBody   []byte // as it was
	memoryMin    uint32 // pages
	globals      int
	mutable      int    // how many of the globals can change
	globalBody   []byte // new

	// See state.go.
	mutableGlobals []uint32 // those of the module's own
	wideGlobal     bool     // one of them isn't a number of at most 64 bits
	tableChanges   bool     // code changes tables
	dropsElements  bool     // code drops element segments

	exports []export
	start   int // -1: none

	elements    int
	elementBody []byte // new
	// refFuncs are functions that code refers to by ref.func. Such a function
	// has to be declared, by an export among other things.
	refFuncs map[uint32]bool

	hasDataCount bool
	dataCount    int
	usesData     bool // code refers to data segments by number
	data         []segment
	dataBody     []byte // as it was
	dataOther    bool   // there are segments that are not plain ones

	codeBody []byte // new
	bodies   int
	frames   []int  // of the functions with bodies, in bytes
	names    []byte // new, the whole section
	named    int    // bytes of names of imports and exports
	scratch  []byte // for the body at hand
}

type export struct {
	name  string
	kind  Kind
	index uint32
}

// shiftFunc gives the index of what stands for an original's function. Injected
// imports come after all others, and a guarded import gives way to the function
// that calls the guard first; those come after the functions that are defined.
func (m *module) shiftFunc(i uint32) uint32 {
	if int(i) >= m.importedFuncs {
		return i + uint32(m.injectedImports())
	}
	if k, ok := m.guardOf[i]; ok {
		return uint32(len(m.funcs)+m.injectedImports()) + k
	}
	return i
}

// meterFuncs is the number of imports from ImportModule.
const meterFuncs = 3

// injectedGlobals are the budget and what is left of the stack.
const injectedGlobals = 2

func (m *module) injectedImports() int { return meterFuncs + len(m.guards) }

// wrapperFunc is the new index of the first wrapper.
func (m *module) wrapperFunc() uint32 {
	return uint32(len(m.funcs) + m.injectedImports() + len(m.guards))
}

// typeIndex is the index of a type for what is injected.
func (m *module) typeIndex(t FuncType) uint32 {
	if i := slices.Index(m.types, t); i >= 0 {
		return uint32(i)
	}
	i := slices.Index(m.added, t)
	if i < 0 {
		i = len(m.added)
		m.added = append(m.added, t)
	}
	return uint32(len(m.types) + i)
}

func (m *module) tickFunc() uint32     { return uint32(m.importedFuncs) }
func (m *module) doneFunc() uint32     { return uint32(m.importedFuncs) + 1 }
func (m *module) overflowFunc() uint32 { return uint32(m.importedFuncs) + 2 }
func (m *module) budget() uint32       { return uint32(m.globals) }
func (m *module) stack() uint32        { return uint32(m.globals) + 1 }

func (m *module) exportList() []Export {
	list := make([]Export, len(m.exports))
	for i, e := range m.exports {
		list[i] = Export{Name: e.name, Kind: e.kind}
		if e.kind == KindFunc {
			list[i].Type = m.types[m.funcs[e.index]]
		}
	}
	return list
}

// Section ids, core specification 2.0, section 5.5.2.
const (
	secCustom = iota
	secType
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

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count",
}

// sectionRank gives the order in which sections must come; it differs from
// their ids in the data count alone.
func sectionRank(id byte) int {
	if id == secDataCount {
		return 2*secElement + 1
	}
	return 2 * int(id)
}

const preamble = "\x00asm\x01\x00\x00\x00"

// decode reads a module, section by section, and rewrites what it can on the
// way.
func decode(wasm []byte, opts Options) (*module, error) {
	m := &module{opts: opts, limits: opts.Limits.withDefaults(), start: -1, refFuncs: map[uint32]bool{}, guardOf: map[uint32]uint32{}}
	m.noRemainders = noRemainders(cmp.Or(opts.Arch, runtime.GOARCH))
	r := &reader{buf: wasm, end: len(wasm)}
	m.checkPreamble(r)
	last := 0
	var names *reader
	for r.err == nil && r.more() {
		start := r.pos
		id := r.u8()
		if int(id) >= len(sectionNames) {
			r.fail(start, hintFeatures, "unknown section %d", id)
			break
		}
		body := r.bytes()
		s := &reader{buf: wasm, pos: r.pos - len(body), end: r.pos, section: sectionNames[id], err: r.err}
		switch {
		case r.err != nil:
		case id == secCustom:
			if s.name() == "name" {
				names = s
			}
		case sectionRank(id) <= last:
			s.damaged(start, "it is out of order, or there are two of it")
		default:
			last = sectionRank(id)
			m.section(id, s)
			if s.more() {
				s.damaged(s.pos, "%d bytes are left over", s.end-s.pos)
			}
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := m.checkWhole(len(wasm)); err != nil {
		return nil, err
	}
	if names != nil {
		m.names = m.shiftNames(names)
	}
	return m, nil
}

func (m *module) checkPreamble(r *reader) {
	switch {
	case len(r.buf) > m.limits.MaxModule:
		r.fail(0, hintSmaller, "it has %d bytes, %d are allowed", len(r.buf), m.limits.MaxModule)
	case len(r.buf) < len(preamble):
		r.damaged(0, "it ends too early")
	case string(r.buf[:4]) != preamble[:4]:
		r.fail(0, "build it as WebAssembly", "not WebAssembly")
	case string(r.buf[:8]) != preamble:
		r.fail(4, "build a core module, version 1, not a component", "unknown version")
	}
	r.pos = min(len(preamble), r.end)
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		m.readFunctions(r)
	case secTable:
		m.readTables(r)
	case secMemory:
		m.readMemories(r)
	case secGlobal:
		m.readGlobals(r)
	case secExport:
		m.readExports(r)
	case secStart:
		m.start = int(r.index("function", len(m.funcs)))
	case secElement:
		m.readElements(r)
	case secDataCount:
		m.hasDataCount = true
		m.dataCount = int(r.u32())
	case secCode:
		m.readCode(r)
	case secData:
		m.readData(r)
	}
}

// checkWhole checks what no section can alone.
func (m *module) checkWhole(size int) error {
	defined := len(m.funcs) - m.importedFuncs
	reason := ""
	switch {
	case m.bodies != defined:
		reason = "functions without code, or code without functions"
	case m.hasDataCount && m.dataCount != m.stats.DataSegmentsBefore:
		reason = "the data count is not the number of data segments"
	case m.usesData && !m.hasDataCount:
		reason = "code refers to data segments, and there is no data count"
	}
	if reason != "" {
		return &Error{Offset: size, Reason: reason, Hint: hintDamaged}
	}
	if m.start >= 0 {
		if t := m.types[m.funcs[m.start]]; t.Params != "" || t.Results != "" {
			return &Error{Offset: size, Section: sectionNames[secStart], Reason: "the start function has parameters or results", Hint: hintDamaged}
		}
	}
	return nil
}
