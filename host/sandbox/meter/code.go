package meter

// readCode rewrites all function bodies.
func (m *module) readCode(r *reader) {
	n := r.count("function bodies", m.limits.MaxFunctions)
	if defined := len(m.funcs) - m.importedFuncs; n != defined && r.err == nil {
		r.damaged(r.pos, "%d functions are declared and %d have code", defined, n)
	}
	m.codeBody = make([]byte, 0, (r.end-r.pos)*11/10)
	b := &body{m: m, globalSeen: make([]bool, m.globals), globalUsed: make([]bool, m.globals)}
	for i := range n {
		start := r.pos
		size := len(r.bytes())
		if size > m.limits.MaxBody && r.err == nil {
			r.fail(start, hintSmaller, "function %d has a body of %d bytes, %d are allowed", m.importedFuncs+i, size, m.limits.MaxBody)
		}
		if r.err != nil {
			return
		}
		m.stats.BodyBytes += size
		m.stats.LargestBody = max(m.stats.LargestBody, size)
		b.reader = &reader{buf: r.buf, pos: r.pos - size, end: r.pos, section: r.section}
		b.read(m.importedFuncs + i)
		if r.err = b.err; r.err != nil {
			return
		}
		m.codeBody = b.appendTo(m.codeBody)
		m.frames = append(m.frames, b.frameBytes)
		m.bodies++
	}
}

// body reads one function body and collects the edits to be made. It is used for
// one body after the other.
type body struct {
	m *module
	*reader
	function int // index
	params   int

	groups, groupsFrom, groupsTo int // declarations of locals
	locals                       int // with parameters

	from    int // where the instructions begin
	edits   []edit
	regions []region
	parts   []part
	frames  []frame
	bulk    bool // an i32 scratch local is needed
	rem32   bool // two of them are, for remainders
	rem64   bool // an i64 scratch local is needed, for remainders

	tracked
	frameBytes int    // see frameSize
	globalSeen []bool // accessed since the engine forgot what it keeps
	globalUsed []bool

	op     byte // the current instruction
	at     int  // its position
	depth  int  // deepest nesting
	effort effort

	dispatcher

	constant   uint32 // operand of an i32.const
	constantAt int    // end of that instruction, or -1
}

// frame is an open block.
type frame struct {
	op              byte
	region          int
	params, results int
	opened          int // part that an if begins in
	source          int // part that branches to its end come from; see region.go
	at              int // where the instruction that opens it is
	dispatch        int // of a loop that dispatches: 1 + its index in dispatcher.dispatches

	base      int         // height of the operand stack below the parameters
	construct uint32      // its index in tracked.constructs, unless it is dead
	dead      bool        // it is never run
	kept      engineCache // where it begins
	keptAtEnd engineCache
}

// arity is the number of values that a branch to the block carries.
func (f frame) arity() int {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// edit is a change at one position of a body.
type edit struct {
	pos, skip int // skip bytes from pos on are left out
	kind      editKind
	arg       uint32
}

type editKind byte

const (
	editCheck  editKind = iota // arg: part; charges and checks
	editCharge                 // arg: part; charges
	editIndex                  // arg: new index
	editBulk                   // arg: index into bulkOps
	editRem                    // arg: opcode of a remainder, which is replaced
	editLevel                  // stores what is left of the stack, for the function that is called
)

func (b *body) read(function int) {
	t := b.m.types[b.m.funcs[function]]
	b.reset()
	clear(b.globalSeen)
	clear(b.globalUsed)
	*b = body{
		tracked: b.tracked, dispatcher: b.cleared(), globalSeen: b.globalSeen, globalUsed: b.globalUsed,
		m: b.m, reader: b.reader, function: function, params: len(t.Params), constantAt: -1,
		edits: b.edits[:0], regions: b.regions[:0], parts: b.parts[:0], frames: b.frames[:0],
	}
	b.readLocals()
	b.from = b.pos
	b.frames = append(b.frames, frame{op: opBlock, results: len(t.Results), source: noSource})
	b.openRegion(1 + int64(b.locals)/4)
	for len(b.frames) > 0 && b.err == nil {
		b.instruction()
	}
	if b.more() {
		b.damaged(b.pos, "function %d goes on after its end", function)
	}
	b.finish()
}

func (b *body) readLocals() {
	b.groups = b.count("groups of locals", b.m.limits.MaxLocals)
	b.groupsFrom = b.pos
	b.locals = b.params
	for range b.groups {
		start := b.pos
		n := b.u32()
		b.vectors = b.valueType() == typeV128 || b.vectors
		if int64(n)+int64(b.locals) > int64(b.m.limits.MaxLocals) && b.err == nil {
			b.fail(start, hintSmaller, "function %d has %d or more parameters and locals, %d are allowed",
				b.function, int64(n)+int64(b.locals), b.m.limits.MaxLocals)
		}
		if b.err != nil {
			return
		}
		b.locals += int(n)
	}
	b.groupsTo = b.pos
}

// finish checks what is known at the end only, and keeps the figures.
func (b *body) finish() {
	s := &b.m.stats
	effort := b.effort.sum(b.locals, b.m.mutable, len(b.regions))
	s.Effort += effort
	s.LargestEffort = max(s.LargestEffort, effort)
	s.Nesting = max(s.Nesting, b.depth)
	s.Regions += len(b.regions)
	s.LargestRegion = max(s.LargestRegion, b.settle())
	switch limits := b.m.limits; {
	case b.err != nil:
	case effort > limits.MaxFunctionEffort:
		b.fail(b.from, hintSmaller, "function %d would take too long to compile: %d locals, %d blocks and branches, %d calls (effort %d, %d is allowed)",
			b.function, b.locals, b.effort.blocks, b.effort.calls, effort, limits.MaxFunctionEffort)
	case s.Effort > limits.MaxEffort:
		b.fail(b.from, hintSmaller, "its %d functions would take too long to compile (effort above %d)",
			b.m.stats.Functions, limits.MaxEffort)
	default:
		b.frameBytes = b.frameSize()
		s.LargestFrame = max(s.LargestFrame, b.frameBytes)
	}
}

// effort counts what makes compiling slow. Compiling is not metered: a function
// of 50 KB can take 15 s, because the compiler keeps track of every variable at
// every block, and of every block at some others.
type effort struct {
	blocks  int // blocks, branches and what is injected, in basic blocks
	targets int // of branch tables
	calls   int
	values  int // that calls, blocks and branches carry
}

// Basic blocks that the compiler makes for what is injected, beyond the block
// itself.
const (
	loopBlocks = 3
	bulkBlocks = 3
)

// sum is the estimate in microseconds, on a machine where wazero 1.12 compiles
// 3 MB of Go code per second. It was fitted to functions that hold thousands
// of one thing each, of which every term is one; it is within a factor of three
// of what those took. Real functions take less than the estimate.
func (e effort) sum(locals, mutableGlobals, regions int) int {
	blocks := e.blocks + e.targets/4
	return blocks*blocks/100 + locals*blocks + mutableGlobals*(e.calls+regions) + 2*e.values
}
