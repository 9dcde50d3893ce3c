package meter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/meter"
	"waymark/test/testenv"
)

// dispatching is a function of one parameter, an i32, that goes through the parts of a
// loop around a branch table, in which local 0 says where to go on. Each part adds its
// number to ten times local 1, the result. A jump from any part leads to the loop's
// head with label d+1, where d is the number of parts after its own.
func dispatching(targets []byte, parts ...[]byte) []byte {
	n := len(parts)
	c := join(loop, void, repeat(n, block, void), localGet, 0, brTable, num(len(targets)-1), targets)
	for i, p := range parts {
		c = append(c, join(end, localGet, 1, i32Const, 10, i32Mul, i32Const, 1+i, i32Add, localSet, 1, p)...)
	}
	return one(tt(i32), tt(i32), list(join(2, i32)), c, end, localGet, 1)
}

func to(value, depth int) []byte { return join(i32Const, snum(value), localSet, 0, br, num(depth)) }

// once is what is done the first time that the function comes by.
func once(parts ...any) []byte {
	return join(localGet, 2, i32Eqz, if_, void, i32Const, 1, localSet, 2, join(parts...), end)
}

func TestThreading(t *testing.T) {
	t.Parallel()
	table := tt(0, 1, 2, 3) // the last is the end of the loop's last block, too
	done := join(localGet, 1, return_)
	for _, c := range []struct {
		name     string
		code     []byte
		threaded int
	}{
		{"forward", dispatching(table, to(2, 3), nil, to(3, 1), done), 2},
		{"forward, out of ifs", dispatching(table, once(to(1, 4)), once(to(3, 3)), nil, done), 2},
		{"beyond the table, to its default", dispatching(table, to(1000, 3), nil, nil, done), 1},
		{"below 0, to its default", dispatching(table, to(-1, 3), nil, nil, done), 1},
		{"to itself", dispatching(table, once(to(0, 4)), nil, nil, done), 0},
		{"back", dispatching(table, nil, once(to(0, 3)), nil, done), 0},
		{"to a block that another has taken the place of", dispatching(table,
			nil, join(block, void, block, void, once(to(1, 5)), end, end), nil, done), 0},
		{"the table leads back", dispatching(tt(0, 4, 4, 3), join(i32Const, 0, if_, void, to(1, 4), end), nil, nil, done), 0},
		{"the table leads out", one(tt(i32), tt(i32), list(join(2, i32)),
			block, void, loop, void, block, void, localGet, 0, brTable, 2, 0, 2, 0, end, to(1, 0), end, end, i32Const, 7), 1},
		{"the table leads out of the function", one(tt(i32), tt(), none,
			loop, void, block, void, localGet, 0, brTable, 2, 0, 2, 0, end, to(1, 0), end), 0},
		{"another local", dispatching(table, once(i32Const, 2, localSet, 2, br, 4), nil, nil, done), 0},
		{"a local that is set to what was computed", dispatching(table,
			join(i32Const, 1, i32Const, 1, i32Add, localSet, 0, br, 3), nil, nil, done), 0},
		{"something is between", dispatching(table, join(i32Const, 2, localSet, 0, localGet, 0, drop, br, 3), nil, nil, done), 0},
		{"something is before the table", one(tt(i32), tt(i32), list(join(2, i32)),
			loop, void, block, void, block, void, localGet, 1, i32Const, 1, i32Add, localSet, 1,
			localGet, 0, brTable, 2, 0, 1, 1, end, to(1, 1), end, end, localGet, 1), 0},
		{"loops in a loop", dispatching(table, join(
			loop, void, block, void, block, void, localGet, 0, brTable, 2, 0, 1, 1, end, to(1, 1), end, end,
			to(2, 3)), nil, nil, done), 2},
		{"behind the end of what is run", dispatching(table, join(done, to(2, 3)), nil, nil, done), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !same(t, c.code, meter.Options{}) {
				t.Error("was not run")
			}
			res := rewrite(t, c.code)
			if res.Stats.Threaded != c.threaded {
				t.Errorf("%d jumps go at once where they lead, should be %d", res.Stats.Threaded, c.threaded)
			}
		})
	}
}

// dispatchScribe writes loops around branch tables by chance, with jumps to their heads
// that know where they lead and some that only look like it. Locals 0 and 1 are
// dispatched on, 2 is the result, 3 counts the jumps, of which there are 30.
type dispatchScribe struct {
	r     *rand.Rand
	open  int // blocks and loops
	parts int
	out   []byte
}

func (s *dispatchScribe) put(parts ...any) { s.out = append(s.out, join(parts...)...) }

func (s *dispatchScribe) nested(opcode byte, body func()) {
	s.put(opcode, void)
	s.open++
	body()
	s.put(end)
	s.open--
}

func (s *dispatchScribe) loop(depth int) {
	local, n := s.r.IntN(2), 1+s.r.IntN(8)
	s.nested(loop, func() {
		head := s.open
		for range n {
			s.put(block, void)
		}
		s.open += n
		s.put(localGet, local)
		size := s.r.IntN(n + 3)
		s.put(brTable, num(size))
		for range size + 1 {
			switch s.r.IntN(60) {
			case 0: // the loop, for ever
				s.put(n)
			case 1, 2, 3: // outside
				s.put(num(n + s.r.IntN(s.open-n) + min(1, s.open-n-1)))
			default:
				s.put(num(s.r.IntN(n)))
			}
		}
		for range n {
			s.put(end)
			s.open--
			s.part(depth)
			for range s.r.IntN(3) {
				s.jump(local, head, n)
				s.part(depth)
			}
		}
	})
}

// part changes the result, and may hold another loop.
func (s *dispatchScribe) part(depth int) {
	s.parts++
	s.put(localGet, 2, i32Const, 31, i32Mul, i32Const, snum(s.parts), i32Add, localSet, 2)
	if depth > 0 && s.r.IntN(4) == 0 {
		s.nested(block, func() { s.loop(depth - 1) })
	}
}

func (s *dispatchScribe) jump(local, head, n int) {
	s.put(localGet, 3, i32Const, 1, i32Add, localTee, 3, i32Const, 30, i32LtU)
	s.put(localGet, 2, i32Const, snum(1<<s.r.IntN(5)), i32And, i32Mul)
	s.nested(if_, func() {
		if s.r.IntN(12) == 0 {
			local = s.r.IntN(3)
		}
		value := snum(s.r.IntN(n + 4))
		if s.r.IntN(12) == 0 {
			value = -1
		}
		s.put(i32Const, value, localSet, local)
		switch s.r.IntN(16) {
		case 0:
			s.nested(block, func() { s.put(br, s.open-head) })
		case 1:
			s.put(localGet, local, drop, br, s.open-head)
		case 2:
			s.put(localGet, 2, brIf, s.open-head)
		case 3:
			s.put(br, s.r.IntN(s.open))
		default:
			s.put(br, s.open-head)
		}
	})
}

// Whatever jumps there are, the module does what it did.
func TestThreadingAtRandom(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	run, threaded := 0, 0
	rounds := testenv.Rounds(50, 400, 100_000)
	for i := range rounds {
		s := &dispatchScribe{r: testenv.RandOf(seed, uint64(i))}
		s.loop(3)
		code := one(tt(i32), tt(i32), list(join(3, i32)), s.out, localGet, 2)
		if same(t, code, meter.Options{}) {
			run++
			threaded += rewrite(t, code).Stats.Threaded
		}
	}
	t.Logf("%d of %d modules ran, with %d jumps", run, rounds, threaded)
	if run < rounds/3 || threaded < rounds {
		t.Error("too little was tried")
	}
}

// What only goes forward is paid for once, what goes through the table each time.
func TestThreadingIsPaidFor(t *testing.T) {
	t.Parallel()
	const n = 50
	used := func(between ...any) int64 {
		var targets []byte
		var parts [][]byte
		for i := range n {
			targets = append(targets, byte(i))
			parts = append(parts, join(repeat(20, localGet, 0, drop), i32Const, snum(i+1), localSet, 0, join(between...), br, n-i-1))
		}
		res := rewrite(t, dispatching(targets, append(parts[:n-1:n-1], nil)...))
		b := newBank()
		r := wazero.NewRuntimeWithConfig(t.Context(), runtimeConfig())
		defer func() { _ = r.Close(t.Context()) }()
		b.provide(t.Context(), t, r)
		mod, err := start(t.Context(), t, r, res)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mod.ExportedFunction("run").Call(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		return b.fuel()
	}
	const nop = 0x01
	if threaded, not := used(), used(nop); threaded > 50*n || not < 10*threaded {
		t.Errorf("it used %d, and %d through the table", threaded, not)
	}
}
