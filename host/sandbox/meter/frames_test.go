package meter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/meter"
	"waymark/test/testenv"
)

// frames compiles a module and returns how much of the guest's stack each
// function that it defines asks for when it is entered, in bytes: what it keeps,
// what it passes to whom it calls, and the way there. It is the operand of the
// first instruction of the engine's check of the stack, which is what the engine
// itself goes by.
func frames(tb testing.TB, code []byte) []int {
	tb.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		tb.Skip("reads code of amd64 and of arm64")
	}
	ctx := context.Background()
	dir := tb.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = cache.Close(ctx) }()
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	defer func() { _ = r.Close(ctx) }()
	if _, err := r.CompileModule(ctx, code); err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		tb.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		tb.Fatal(err)
	}
	// The magic number, the engine's version, the functions' offsets, the size
	// of the code, the code.
	data, ok := bytes.CutPrefix(data, []byte("WAZEVO"))
	if !ok {
		tb.Fatal("another format of compiled code")
	}
	data = data[1+int(data[0]):]
	n := int(binary.LittleEndian.Uint32(data))
	offsets, text := data[4:4+8*n], data[4+8*n+8:]
	list := make([]int, n)
	for i := range list {
		f := text[binary.LittleEndian.Uint64(offsets[8*i:]):]
		if runtime.GOARCH == "arm64" {
			if list[i] = frameOnARM(f); list[i] < 0 {
				tb.Fatalf("function %d begins with %x", i, f[:48])
			}
			continue
		}
		// push rbp; mov rsp, rbp; sub size, rsp
		f, ok := bytes.CutPrefix(f, []byte{0x55, 0x48, 0x89, 0xe5, 0x48})
		switch {
		case ok && f[0] == 0x83 && f[1] == 0xec:
			list[i] = int(f[2])
		case ok && f[0] == 0x81 && f[1] == 0xec:
			list[i] = int(binary.LittleEndian.Uint32(f[2:]))
		default:
			tb.Fatalf("function %d begins with %x", i, f[:16])
		}
	}
	return list
}

// frameOnARM finds the same in arm64 code: sub x27, sp, #n, or x27 made of parts
// and then sub x27, sp, x27. It is negative where neither is found.
func frameOnARM(f []byte) int {
	const tmp = 27
	value := uint64(0)
	for at := 0; at < 64; at += 4 {
		w := binary.LittleEndian.Uint32(f[at:])
		imm, shift := uint64(w>>5&0xffff), w>>21&3*16
		switch {
		case w&0xff8003ff == 0xd1000000|31<<5|tmp:
			n := int(w >> 10 & 0xfff)
			if w>>22&1 != 0 {
				n <<= 12
			}
			return n
		case w == 0xcb3b63fb: // sub x27, sp, x27
			return int(value)
		case w&0xff80001f == 0xd2800000|tmp: // movz
			value = imm << shift
		case w&0xff80001f == 0x92800000|tmp: // movn
			value = ^(imm << shift)
		case w&0xff80001f == 0xf2800000|tmp: // movk
			value = value&^(0xffff<<shift) | imm<<shift
		}
	}
	return -1
}

// scribe writes function bodies that are valid, and whatever else: it decides
// by chance.
type scribe struct {
	r      *rand.Rand
	types  []scribeType
	funcs  []int // types of functions 0 to …, of which the first is imported
	locals []byte
	labels []byte // results of the open blocks, 0 for none
	left   int    // how much is to be written
	out    []byte

	// calculates says that there is much arithmetic, remainders first of all, on values
	// that aren't mostly 0, and that mostly comes to an end: a function calls only those
	// after it, of which function is the one that is being written.
	calculates bool
	function   int

	// dispatches says that there are loops around branch tables, and rounds, then and
	// where it calculates, the local that bounds how often a function goes back to the head of one.
	dispatches bool
	rounds     int
}

type scribeType struct{ params, results []byte }

var scribeValues = []byte{i32, i64, f64, v128}

func (s *scribe) value() byte {
	// Mostly those that real modules have.
	return scribeValues[min(s.r.IntN(9)/3, 2+s.r.IntN(20)/19)]
}

func (s *scribe) put(parts ...any) { s.out = append(s.out, join(parts...)...) }

func (s *scribe) chance(n int) bool { return s.r.IntN(n) == 0 }

// localOf picks a local of a type.
func (s *scribe) localOf(t byte) (int, bool) {
	for range 10 {
		if i := s.r.IntN(max(len(s.locals), 1)); i < len(s.locals) && s.locals[i] == t {
			return i, true
		}
	}
	return 0, false
}

func (s *scribe) constant(t byte) {
	switch t {
	case i32:
		s.put(i32Const, snum(s.r.IntN(1000)))
	case i64:
		s.put(i64Const, snum(s.r.IntN(1000)))
	case f64:
		s.put(f64Const, make([]byte, 8))
	default:
		s.put(vec, 12, make([]byte, 16))
	}
}

var scribeOps = map[byte]struct {
	binary [][]byte
	load   []byte
	store  []byte
}{
	i32:  {[][]byte{{0x6a}, {0x6b}, {0x6c}, {0x6d}, {0x71}, {0x74}, {0x77}, {0x49}}, tt(0x28), tt(0x36)},
	i64:  {[][]byte{{0x7c}, {0x7d}, {0x7e}, {0x7f}, {0x83}, {0x86}, {0x89}}, tt(0x29), tt(0x37)},
	f64:  {[][]byte{{0xa0}, {0xa1}, {0xa2}, {0xa3}, {0xa4}, {0xa6}}, tt(0x2b), tt(0x39)},
	v128: {[][]byte{{vec, 0x6e}, {vec, 0xb5, 1}, {vec, 0x51}, {vec, 0x0e}, {vec, 0xd5, 1}, {vec, 0xe8, 1}}, tt(vec, 0), tt(vec, 11)},
}

// push writes what leaves a value of a type on the stack.
func (s *scribe) push(t byte, depth int) {
	s.left--
	ops := scribeOps[t]
	if depth <= 0 || s.left <= 0 {
		if i, ok := s.localOf(t); ok && !s.chance(4) {
			s.put(localGet, num(i))
		} else {
			s.constant(t)
		}
		return
	}
	switch s.r.IntN(12) {
	case 0:
		s.constant(t)
	case 1, 2:
		if i, ok := s.localOf(t); ok {
			s.put(localGet, num(i))
		} else {
			s.constant(t)
		}
	case 3:
		s.push(t, depth-1)
		if i, ok := s.localOf(t); ok {
			s.put(localTee, num(i))
		}
	case 4, 5:
		s.push(i32, depth-1)
		s.put(ops.load, 0, num(s.r.IntN(100)))
	case 6:
		if t != v128 {
			s.put(globalGet, map[byte]byte{i32: 0, i64: 1, f64: 2}[t]+byte(3*s.r.IntN(4)))
			return
		}
		s.constant(t)
	case 7:
		s.push(i32, depth-1)
		s.labels = append(s.labels, t)
		s.put(if_, t)
		s.push(t, depth-1)
		s.put(else_)
		s.push(t, depth-1)
		s.put(end)
		s.labels = s.labels[:len(s.labels)-1]
	case 8:
		s.put(block, t)
		s.labels = append(s.labels, t)
		s.statements(depth - 1)
		s.push(t, depth-1)
		s.push(i32, depth-1)
		s.put(brIf, 0)
		s.put(end)
		s.labels = s.labels[:len(s.labels)-1]
	case 9:
		for range 20 {
			f := s.callee()
			if results := s.types[s.funcs[f]].results; len(results) == 1 && results[0] == t {
				s.call(f, depth)
				return
			}
		}
		s.constant(t)
	default:
		if s.calculates && s.calculate(t, depth-1) {
			return
		}
		s.push(t, depth-1)
		s.push(t, depth-1)
		s.put(ops.binary[s.r.IntN(len(ops.binary))])
	}
}

// Arithmetic beyond scribeOps: on one value of the same type, on one of another, and
// on two, of which the second is a divisor where the first is to be divided.
var (
	scribeUnary = map[byte][][]byte{
		i32:  {{0x45}, {0x67}, {0x68}, {0x69}, {0xc0}, {0xc1}},
		i64:  {{0x79}, {0x7a}, {0x7b}, {0xc2}, {0xc3}, {0xc4}},
		f64:  {{0x99}, {0x9a}, {0x9b}, {0x9c}, {0x9f}},
		v128: {{vec, 0x4d}, {vec, 0x62}, {vec, 0xa0, 1}, {vec, 0xc1, 1}},
	}
	scribeFrom = map[byte]map[byte][][]byte{
		i32:  {i64: {{0xa7}, {0x50}}, f64: {{misc, 2}, {misc, 3}}, v128: {{vec, 0x53}, {vec, 0x64}, {vec, 0x1b, 2}}},
		i64:  {i32: {{0xac}, {0xad}}, f64: {{misc, 6}, {misc, 7}, {0xbd}}, v128: {{vec, 0x1d, 1}}},
		f64:  {i32: {{0xb7}, {0xb8}}, i64: {{0xb9}, {0xba}}},
		v128: {i32: {{vec, 0x0f}, {vec, 0x11}}, i64: {{vec, 0x12}}},
	}
	scribeRemainders = map[byte][][]byte{i32: {{0x6f}, {0x70}}, i64: {{0x81}, {0x82}}}
	scribeQuotients  = map[byte][][]byte{i32: {{0x6d}, {0x6e}}, i64: {{0x7f}, {0x80}}}
	scribeMore       = map[byte][][]byte{
		i32:  {{0x6a}, {0x6b}, {0x6c}, {0x71}, {0x72}, {0x73}, {0x74}, {0x75}, {0x76}, {0x77}, {0x78}, {0x48}, {0x4f}},
		i64:  {{0x7c}, {0x7d}, {0x7e}, {0x83}, {0x84}, {0x85}, {0x86}, {0x87}, {0x88}, {0x89}, {0x8a}},
		f64:  {{0xa0}, {0xa1}, {0xa2}, {0xa3}},
		v128: {{vec, 0x6e}, {vec, 0xb5, 1}, {vec, 0xd5, 1}, {vec, 0x0e}, {vec, 0x50}, {vec, 0x51}, {vec, 0x73}, {vec, 0xba, 1}, {vec, 0xdc, 1}},
	}
)

// calculate is push for arithmetic; false where it doesn't find any.
func (s *scribe) calculate(t byte, depth int) bool {
	pick := func(ops [][]byte) { s.put(ops[s.r.IntN(len(ops))]) }
	rems := scribeRemainders[t]
	switch k := s.r.IntN(12); {
	case k < 5 && rems != nil:
		s.push(t, depth)
		s.push(t, depth)
		if !s.chance(30) { // a divisor of 0 ends the call
			s.put(map[byte][]byte{i32: {i32Const, 1, i32Or}, i64: {i64Const, 1, i64Or}}[t])
		}
		if k == 0 {
			rems = scribeQuotients[t]
		}
		pick(rems)
	case k < 6:
		s.push(t, depth)
		pick(scribeUnary[t])
	case k < 8:
		from := s.value()
		if scribeFrom[t][from] == nil {
			return false
		}
		s.push(from, depth)
		pick(scribeFrom[t][from])
	case k < 9:
		s.push(t, depth)
		s.push(t, depth)
		s.push(i32, depth)
		s.put(selectT, 1, t)
	default:
		s.push(t, depth)
		s.push(t, depth)
		pick(scribeMore[t])
	}
	return true
}

// callee picks a function to call.
func (s *scribe) callee() int {
	f := s.r.IntN(len(s.funcs))
	if s.calculates && f <= s.function {
		return 0
	}
	return f
}

func (s *scribe) call(f, depth int) {
	for _, p := range s.types[s.funcs[f]].params {
		s.push(p, min(depth-1, 2))
	}
	if f > 0 && s.chance(3) {
		s.put(i32Const, f, callIndirect, num(s.funcs[f]), 0)
		return
	}
	s.put(call, f)
}

// many pushes values, lets something happen, and uses all of them.
func (s *scribe) many(depth int) {
	n := 1 + s.r.IntN(40)
	types := make([]byte, n)
	for i := range types {
		types[i] = s.value()
		s.push(types[i], 2)
	}
	s.statements(depth - 1)
	for i := range types {
		t := types[n-1-i]
		if l, ok := s.localOf(t); ok {
			s.put(localSet, num(l))
		} else {
			s.put(drop)
		}
	}
}

// rotate is a loop that moves locals around.
func (s *scribe) rotate(depth int) {
	s.put(loop, void)
	s.labels = append(s.labels, 0)
	for range s.r.IntN(20) {
		a := s.r.IntN(max(len(s.locals), 1))
		if a >= len(s.locals) {
			break
		}
		if b, ok := s.localOf(s.locals[a]); ok {
			s.put(localGet, num(a), localGet, num(b), localSet, num(a), localSet, num(b))
		}
	}
	s.statements(depth - 1)
	s.condition()
	s.put(brIf, 0, end)
	s.labels = s.labels[:len(s.labels)-1]
}

// dispatch is a loop around a branch table, as Go's functions are, with jumps to its
// head that know where they lead, and some that only look like them.
func (s *scribe) dispatch(depth int) {
	l, ok := s.localOf(i32)
	if !ok {
		return
	}
	outside, n := len(s.labels), 1+s.r.IntN(12)
	s.put(loop, void, bytes.Repeat([]byte{block, void}, n))
	s.labels = append(s.labels, make([]byte, n+1)...)
	s.put(localGet, num(l), brTable, num(n))
	for i := range n + 1 {
		if s.chance(4) {
			i = s.r.IntN(n)
		}
		if i == n && !s.chance(30) { // the loop itself, for ever
			i = 0
		}
		s.put(num(i))
	}
	for range n {
		s.put(end)
		s.labels = s.labels[:len(s.labels)-1]
		for range s.r.IntN(3) {
			s.statements(depth - 1)
			s.put(localGet, num(s.rounds), i32Const, 1, i32Add, localTee, num(s.rounds), i32Const, 20, i32LtU, if_, void)
			value := snum(s.r.IntN(n + 2))
			if s.chance(12) {
				value = -1
			}
			to, set := num(len(s.labels)-outside), byte(localSet)
			if s.chance(12) {
				set = localTee
			}
			if other, ok := s.localOf(i32); ok && s.chance(12) {
				l = other
			}
			s.put(i32Const, value, set, num(l))
			if set == localTee {
				s.put(drop)
			}
			if s.chance(12) {
				s.put(block, void, br, to+1, end)
			} else {
				s.put(br, to)
			}
			s.put(end)
		}
	}
	s.put(end)
	s.labels = s.labels[:outside]
}

// jump is a branch to a label without results, if there is one.
func (s *scribe) jump() {
	var targets []int
	for i, t := range s.labels {
		if t == 0 {
			targets = append(targets, len(s.labels)-1-i)
		}
	}
	if len(targets) == 0 {
		return
	}
	pick := func() num { return num(targets[s.r.IntN(len(targets))]) }
	if !s.calculates && s.chance(3) {
		s.put(block, void, i32Const, 0)
		n := s.r.IntN(30)
		s.put(brTable, num(n))
		for range n + 1 {
			s.put(pick() + 1)
		}
		s.put(end)
		return
	}
	s.condition()
	s.put(brIf, pick())
}

// condition is that of a branch that may go back.
func (s *scribe) condition() {
	s.push(i32, 2)
	if s.calculates {
		s.put(localGet, num(s.rounds), i32Const, 1, i32Add, localTee, num(s.rounds), i32Const, 20, i32LtU, i32And)
	}
}

func (s *scribe) statements(depth int) {
	for range 1 + s.r.IntN(6) {
		if s.left -= 1; s.left <= 0 || depth <= 0 {
			return
		}
		s.statement(depth)
	}
}

func (s *scribe) statement(depth int) {
	if s.dispatches && s.chance(4) {
		s.dispatch(depth)
		return
	}
	t := s.value()
	switch s.r.IntN(14) {
	case 0, 1, 2:
		if i, ok := s.localOf(t); ok {
			s.push(t, depth)
			s.put(localSet, num(i))
		}
	case 3:
		s.push(i32, depth)
		s.push(t, depth)
		s.put(scribeOps[t].store, 0, num(s.r.IntN(100)))
	case 4:
		if t != v128 {
			s.push(t, depth)
			s.put(globalSet, map[byte]byte{i32: 0, i64: 1, f64: 2}[t]+byte(3*s.r.IntN(4)))
		}
	case 5, 6:
		f := s.callee()
		s.call(f, depth)
		s.put(bytes.Repeat([]byte{drop}, len(s.types[s.funcs[f]].results)))
	case 7:
		s.put(block, void)
		s.nest(depth)
	case 8:
		s.put(loop, void)
		s.nest(depth)
	case 9:
		s.push(i32, depth-1)
		s.put(if_, void)
		s.nest(depth)
	case 10:
		s.jump()
	case 11:
		s.many(depth)
	case 12:
		s.rotate(depth)
	default:
		s.push(i32, 1)
		switch s.r.IntN(3) {
		case 0:
			s.put(i32Const, 1, i32Const, snum(s.r.IntN(10_000)), misc, 11, 0)
		case 1:
			s.put(i32Const, 1, i32Const, snum(s.r.IntN(10_000)), misc, 10, 0, 0)
		default:
			s.put(memoryGrow, 0, drop)
		}
	}
}

func (s *scribe) nest(depth int) {
	s.labels = append(s.labels, 0)
	s.statements(depth - 1)
	s.put(end)
	s.labels = s.labels[:len(s.labels)-1]
}

// scribble is a module that decides by chance what it does.
func scribble(r *rand.Rand) []byte { return (&scribe{r: r}).module() }

// scribbleDispatches is one with loops around branch tables.
func scribbleDispatches(r *rand.Rand) []byte { return (&scribe{r: r, dispatches: true}).module() }

// scribbleCalculations is one with much arithmetic.
func scribbleCalculations(r *rand.Rand) []byte { return (&scribe{r: r, calculates: true}).module() }

func (s *scribe) module() []byte {
	some := func(n int) (list []byte) {
		for range s.r.IntN(n + 1) {
			list = append(list, s.value())
		}
		return list
	}
	s.types = []scribeType{{}, {results: tt(i32)}, {params: tt(i32), results: tt(i64)}, {params: tt(f64, f64), results: tt(f64)}}
	for range 4 {
		s.types = append(s.types, scribeType{some(20), some(3)})
	}
	var entries [][]byte
	for _, t := range s.types {
		entries = append(entries, sig(t.params, t.results))
	}
	for range 9 {
		s.funcs = append(s.funcs, s.r.IntN(len(s.types)))
	}
	var declared []byte
	var bodies []body
	width := 1 + s.r.IntN(120)
	for _, t := range s.funcs[1:] {
		declared = append(declared, byte(t))
		extra := some(width)
		s.locals = append(bytes.Clone(s.types[t].params), extra...)
		var groups [][]byte
		for _, l := range extra {
			groups = append(groups, join(1, l))
		}
		if s.dispatches || s.calculates {
			s.rounds = len(s.locals)
			groups = append(groups, join(1, i32))
		}
		s.out, s.labels, s.left = nil, nil, 20+s.r.IntN(1500)
		if s.calculates {
			s.function, s.left = len(bodies)+1, s.left/4
			for i, l := range s.locals {
				s.put(i32Const, snum(16*s.r.IntN(200)), scribeOps[l].load, 0, 0, localSet, num(i))
			}
		}
		for range 8 {
			s.statements(2 + s.r.IntN(6))
		}
		for _, t := range s.types[t].results {
			s.push(t, 3)
		}
		bodies = append(bodies, fn(groups, s.out))
	}
	var gs [][]byte
	for range 4 {
		gs = append(gs, join(i32, 1, i32Const, 0, end), join(i64, 1, i64Const, 0, end), join(f64, 1, f64Const, make([]byte, 8), end))
	}
	return wasm(types(entries...), imports(join("env", "f", 0, s.funcs[0])), functions(declared...), table(9), memory(1),
		globals(gs...), exports("f1", 1, "f2", 2, "f3", 3, "f4", 4, "f5", 5, "f6", 6, "f7", 7, "f8", 8),
		elements(join(0, i32Const, 0, end, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8)), code(bodies...), s.data())
}

// data is what is in the memory at first: numbers of any size for calculations.
func (s *scribe) data() []byte {
	if !s.calculates {
		return nil
	}
	var content []byte
	for range 512 {
		n := s.r.Uint64() >> s.r.IntN(64)
		if s.chance(8) {
			n = []uint64{math.MaxUint64, 1 << 63, 1 << 31, math.MaxUint32, math.MaxUint32 << 32, math.Float64bits(1.5), 1, 0}[s.r.IntN(8)]
		}
		content = binary.LittleEndian.AppendUint64(content, n)
	}
	return data(at(0, string(content)))
}

// weigh compares what functions are taken to need with what the engine's code
// asks for, and returns both sums.
func weigh(t *testing.T, name string, code []byte) (weights, actual int) {
	t.Helper()
	opts := meter.Options{Wrap: wrapAll, Limits: meter.Limits{MaxFunctionEffort: 10_000_000, MaxEffort: 100_000_000}}
	res, err := meter.Rewrite(code, opts)
	if err != nil {
		t.Fatal(name, err)
	}
	taken, err := meter.Frames(code, opts)
	if err != nil {
		t.Fatal(name, err)
	}
	for i, size := range frames(t, res.Wasm)[:len(taken)] {
		if taken[i] < size {
			t.Errorf("%s: function %d has a frame of %d bytes and is taken to have one of %d", name, i, size, taken[i])
		}
		weights += taken[i]
		actual += size
	}
	return weights, actual
}

// No frame is larger than it is taken to be: otherwise nothing bounds what a
// recursion takes.
func TestFramesOfRandomFunctions(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	weights, actual := 0, 0
	for i := range testenv.Rounds(8, 100, 5_000) {
		for _, write := range []func(*rand.Rand) []byte{scribble, scribbleDispatches, scribbleCalculations} {
			w, r := weigh(t, fmt.Sprint("module ", i), write(testenv.RandOf(seed, uint64(i))))
			weights, actual = weights+w, actual+r
		}
	}
	t.Logf("functions are taken to need %.1f times what they do", float64(weights)/float64(actual))
}

// shapes are functions of one kind of variable each, in thousands.
func shapes() map[string][]byte {
	one := func(locals [][]byte, parts ...any) []byte {
		var gs [][]byte
		for range 200 {
			gs = append(gs, join(i64, 1, i64Const, 0, end))
		}
		many := slices.Repeat(tt(i64), 100)
		return wasm(
			types(sig(tt(i32, i32), tt(i32)), sig(tt(), tt(i64)), sig(many, many), sig(tt(), tt(v128)), sig(nil, many)),
			imports(join("env", "f", 0, 1)), functions(0, 1, 2, 3), table(9), memory(1), globals(gs...),
			code(fn(locals, join(parts...), i32Const, 0), fn(none, i64Const, 1),
				fn(none, func() (b []byte) {
					for i := range 100 {
						b = append(b, join(localGet, num(i))...)
					}
					return b
				}()), fn(none, vec, 12, make([]byte, 16))))
	}
	each := func(n int, parts func(i int) []byte) (b []byte) {
		for i := range n {
			b = append(b, parts(i)...)
		}
		return b
	}
	locals := func(n int, t byte) [][]byte { return list(join(num(n), t)) }
	push := func(n int) []byte {
		return each(n, func(i int) []byte { return join(localGet, 0, i64Load, 0, num(i*8)) })
	}
	use := func(n int) []byte { return bytes.Repeat([]byte{globalSet, 0}, n) }
	return map[string][]byte{
		"values one after the other": one(locals(1, i64), each(1000, func(int) []byte {
			return join(call, 0, localSet, 2, call, 2, drop, localGet, 2, globalSet, 0)
		})),
		"values one after the other, of the host": one(locals(1, i64), each(1000, func(int) []byte {
			return join(call, 2, localSet, 2, call, 0, drop, localGet, 2, globalSet, 0)
		})),
		"values on the stack":       one(none, push(1000), call, 2, drop, use(1000)),
		"values without a call":     one(none, push(1000), use(1000)),
		"sums of many":              one(none, push(500), bytes.Repeat([]byte{i64Add}, 499), use(1)),
		"vectors on the stack":      one(none, bytes.Repeat(join(i32Const, 0, call, 4), 1000), call, 2, drop, bytes.Repeat(join(vec, 11, 0, 0), 1000)),
		"vectors one after another": one(locals(1, v128), bytes.Repeat(join(call, 4, localSet, 2, call, 2, drop, i32Const, 0, localGet, 2, vec, 11, 0, 0), 1000)),
		"globals":                   one(none, each(2000, func(i int) []byte { return join(globalGet, num(i%200), drop) }), each(2000, func(i int) []byte { return join(globalGet, num(i%200), globalSet, num((i+1)%200)) })),
		"a few globals": one(none, bytes.Repeat(each(10, func(i int) []byte {
			return join(globalGet, num(i), globalGet, num((i*3)%10), i64Add, globalSet, num((i*7)%10))
		}), 100)),
		"addresses":                  one(locals(20, i32), each(20, func(i int) []byte { return join(localGet, 0, i32Const, snum(i), i32Add, localSet, 2+i) }), bytes.Repeat(each(20, func(i int) []byte { return join(localGet, 2+i, localGet, 2+i, i64Load, 0, 8, i64Store, 0, 16) }), 20)),
		"few addresses":              one(locals(4, i32), bytes.Repeat(join(each(4, func(i int) []byte { return join(localGet, 0, i32Load, 0, num(i), localSet, 2+i) }), bytes.Repeat(each(4, func(i int) []byte { return join(localGet, 2+i, localGet, 2+i, i64Load, 0, 8, i64Store, 0, 16) }), 3)), 50)),
		"locals that are set in ifs": one(locals(40, i64), each(300, func(i int) []byte { return join(localGet, 0, if_, void, i64Const, 1, localSet, num(2+i%40), end) }), each(40, func(i int) []byte { return join(localGet, 2+i, globalSet, 0) })),
		"locals in a loop": one(locals(100, i64), loop, void, each(100, func(i int) []byte { return join(localGet, num(2+(i+1)%100), localSet, num(2+i)) }),
			localGet, 0, brIf, 0, end, each(100, func(i int) []byte { return join(localGet, num(2+i), globalSet, 0) })),
		"locals in loops": one(locals(30, i64), bytes.Repeat(join(loop, void, each(30, func(i int) []byte { return join(localGet, num(2+(i+1)%30), localSet, num(2+i)) }),
			localGet, 0, brIf, 0, localGet, 1, brIf, 0, end), 20), each(30, func(i int) []byte { return join(localGet, num(2+i), globalSet, 0) })),
		"a dispatcher": one(locals(30, i64), loop, void, repeat(60, block, void), localGet, 0, brTable, num(60), each(61, func(i int) []byte { return join(num(i)) }),
			each(60, func(i int) []byte {
				return join(end, each(30, func(k int) []byte { return join(localGet, num(2+(k*7+i)%30), localSet, num(2+k)) }), localGet, 1, brIf, num(59-i))
			}), end, each(30, func(i int) []byte { return join(localGet, num(2+i), globalSet, 0) })),
		"values through blocks": one(none, each(100, func(i int) []byte { return join(i64Const, 1) }), bytes.Repeat(join(localGet, 0, if_, 2, call, 3, end), 30), use(100)),
		"calls with many":       one(none, each(100, func(i int) []byte { return join(i64Const, 1) }), bytes.Repeat(join(call, 3), 50), use(100)),
		"fills":                 one(none, bytes.Repeat(join(i32Const, 0, i32Const, 0, localGet, 0, misc, 11, 0), 300)),
		"copies":                one(none, bytes.Repeat(join(i32Const, 0, i32Const, 0, localGet, 0, misc, 10, 0, 0), 300)),
		"tables":                one(none, bytes.Repeat(join(i32Const, 0, refNull, funcref, localGet, 0, misc, 17, 0, i32Const, 0, i32Const, 0, localGet, 0, misc, 14, 0, 0), 300)),
		"references":            one(none, bytes.Repeat(join(i32Const, 0, i32Const, 0, tableGet, 0, tableSet, 0), 500)),
		"tables that grow":      one(none, bytes.Repeat(join(refNull, funcref, localGet, 0, misc, 15, 0, drop), 500)),
		"indirect calls":        one(none, bytes.Repeat(join(i32Const, 0, callIndirect, 1, 0, globalSet, 0), 500)),
	}
}

func TestFramesOfManyVariables(t *testing.T) {
	t.Parallel()
	for name, code := range shapes() {
		weights, actual := weigh(t, name, code)
		t.Logf("%s: %.1f times, of %d", name, float64(weights)/float64(actual), actual)
	}
}

func TestFramesOfGoGuests(t *testing.T) {
	t.Parallel()
	for name, pkg := range map[string]string{"the built-in module": builtin, "a guest": busy} {
		weights, actual := weigh(t, name, build(t, pkg))
		// Were it more, nothing that recurses for a reason could run.
		if ratio := float64(weights) / float64(actual); ratio > 25 {
			t.Errorf("%s: its functions are taken to need %.1f times what they do", name, ratio)
		}
	}
}
