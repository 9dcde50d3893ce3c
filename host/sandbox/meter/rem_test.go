package meter_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"waymark/host/sandbox/meter"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

var remainderOperands = map[string][]int64{
	"i32": {0, 1, -1, 2, -7, 10, 60, 1000, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, 0x12345678},
	"i64": {0, 1, -1, 2, -7, 10, 60, 1000, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, math.MinInt32, 1 << 32, 0x123456789abcdef},
}

// remainderOf is what the specification says, and whether there is one.
func remainderOf(op string, x, y int64) (uint64, bool) {
	switch {
	case op == "i32.rem_s" && int32(y) != 0 && int32(y) != -1:
		return uint64(uint32(int32(x) % int32(y))), true
	case op == "i32.rem_u" && int32(y) != 0:
		return uint64(uint32(x) % uint32(y)), true
	case op == "i64.rem_s" && y != 0 && y != -1:
		return uint64(x % y), true
	case op == "i64.rem_u" && y != 0:
		return uint64(x) % uint64(y), true
	}
	return 0, strings.HasSuffix(op, "_s") && y != 0 // of a division by -1 nothing remains
}

// How many values are alive when the remainder is taken. From 20 on there is no
// register for some of them.
var remainderAlive = []int{0, 12, 20, 21, 22, 30}

// remainders is a module whose functions take remainders of their parameters and of
// constants, while other values are alive: x_y_0 of both parameters, c_y_n of the n-th
// operand as a constant, x_c_n by it, and x_x_0.
func remainders(op string, alive int) []byte {
	var b strings.Builder
	t := op[:3]
	fmt.Fprintf(&b, `(module (memory (export "memory") 1)`)
	function := func(name, operands string) {
		fmt.Fprintf(&b, "\n(func (export %q) (param $x %s) (param $y %s) (result %s) (local $r %s)", name, t, t, t, t)
		for i := range alive {
			fmt.Fprintf(&b, "(local $v%d i64)", i)
		}
		for i := range alive {
			fmt.Fprintf(&b, "(local.set $v%d (i64.load offset=%d (i32.const 0)))", i, 8*i)
		}
		fmt.Fprintf(&b, "(local.set $r (%s %s))", op, operands)
		for i := range alive {
			fmt.Fprintf(&b, "(i64.store offset=%d (i32.const 0) (local.get $v%d))", 4096+8*i, i)
		}
		fmt.Fprintf(&b, "(%s.store offset=8192 (i32.const 0) (local.get $x)) (%s.store offset=8200 (i32.const 0) (local.get $y)) (local.get $r))", t, t)
	}
	function("x_y_0", "(local.get $x) (local.get $y)")
	function("x_x_0", "(local.get $x) (local.get $x)")
	for n, operand := range remainderOperands[t] {
		function(fmt.Sprint("c_y_", n), fmt.Sprintf("(%s.const %d) (local.get $y)", t, operand))
		function(fmt.Sprint("x_c_", n), fmt.Sprintf("(local.get $x) (%s.const %d)", t, operand))
	}
	b.WriteString(")")
	return wasmtest.MustWAT(b.String())
}

// remainderCheck calls the functions of such a module.
type remainderCheck struct {
	op    string
	alive int
	mod   api.Module
}

// wrong compares one call with the specification, and says what is wrong.
func (c *remainderCheck) wrong(ctx context.Context, name string, a, b, x, y int64) string {
	mask := uint64(math.MaxUint64)
	if c.op[:3] == "i32" {
		mask = math.MaxUint32
	}
	want, ok := remainderOf(c.op, a, b)
	got, err := c.mod.ExportedFunction(name).Call(ctx, uint64(x)&mask, uint64(y)&mask)
	good := (err == nil) == ok && (!ok || got[0] == want) && (err == nil || strings.Contains(err.Error(), "integer divide by zero"))
	if ok && err == nil { // and all others are what they were
		memory := c.mod.Memory()
		for i := range c.alive {
			from, _ := memory.ReadUint64Le(uint32(8 * i))
			to, _ := memory.ReadUint64Le(uint32(4096 + 8*i))
			good = good && from == to
		}
		px, _ := memory.ReadUint64Le(8192)
		py, _ := memory.ReadUint64Le(8200)
		good = good && px&mask == uint64(x)&mask && py&mask == uint64(y)&mask
	}
	if good {
		return ""
	}
	return fmt.Sprintf("%s of %d and %d (%s) with %d values alive: %v, %v, and should be %d, %t", c.op, a, b, name, c.alive, got, err, want, ok)
}

// all calls every function with all operands.
func (c *remainderCheck) all(ctx context.Context) (wrong []string) {
	operands := remainderOperands[c.op[:3]]
	add := func(name string, a, b, x, y int64) {
		if w := c.wrong(ctx, name, a, b, x, y); w != "" {
			wrong = append(wrong, w)
		}
	}
	for _, x := range operands {
		add("x_x_0", x, x, x, 0)
		for n, y := range operands {
			add("x_y_0", x, y, x, y)
			add(fmt.Sprint("c_y_", n), y, x, 0, x)
			add(fmt.Sprint("x_c_", n), x, y, x, 0)
		}
	}
	return wrong
}

// What takes the place of a remainder is the remainder, whatever the operands and
// however few registers are left, and nothing else changes.
func TestRemainders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, op := range []string{"i32.rem_s", "i32.rem_u", "i64.rem_s", "i64.rem_u"} {
		for _, alive := range remainderAlive {
			res, err := meter.Rewrite(remainders(op, alive), meter.Options{Arch: "arm64"})
			if err != nil {
				t.Fatal(err)
			}
			r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
			(&bank{slice: 1 << 30, limit: 1 << 40}).provide(ctx, t, r)
			mod, err := r.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatal(err)
			}
			for i := range alive {
				mod.Memory().WriteUint64Le(uint32(8*i), uint64(i+1)*0x9e3779b97f4a7c15)
			}
			wrong := (&remainderCheck{op, alive, mod}).all(ctx)
			if len(wrong) > 0 {
				t.Errorf("%d are wrong: %s", len(wrong), strings.Join(wrong[:min(len(wrong), 2)], "\n"))
			}
			_ = r.Close(ctx)
		}
	}
}

// A processor that isn't named is the one that this runs on, and only arm64 needs it.
func TestRemaindersForArch(t *testing.T) {
	t.Parallel()
	code := remainders("i64.rem_s", 3)
	of := func(arch string) []byte {
		res, err := meter.Rewrite(code, meter.Options{Arch: arch})
		if err != nil {
			t.Fatal(err)
		}
		return res.Wasm
	}
	if !slices.Equal(of(""), of(runtime.GOARCH)) {
		t.Errorf("what is compiled here isn't made for %s", runtime.GOARCH)
	}
	if slices.Equal(of("arm64"), of("amd64")) {
		t.Error("arm64 gets the remainders that amd64 gets")
	}
}

// Fuel is that of the remainder itself, also where it traps.
func TestRemaindersCostTheSame(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"i32.rem_s", "i64.rem_u"} {
		code := remainders(op, 3)
		amd64, arm64 := fuelOf(t, code, meter.Options{State: true, Arch: "amd64"}), fuelOf(t, code, meter.Options{State: true, Arch: "arm64"})
		if amd64 != arm64 {
			t.Errorf("%s uses%s, and for arm64%s", op, amd64, arm64)
		}
	}
}

// What is compiled does what wazero's interpreter does, which is another program, with
// the module before it was rewritten. Programs that call on for ever aren't compared.
func TestRandomCalculations(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	interpreter := wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(256)
	ran, rounds := 0, testenv.Rounds(20, 60, 5_000)
	for i := range rounds {
		code := scribbleCalculations(testenv.RandOf(seed, uint64(i)))
		if sameWithin(t, code, meter.Options{Arch: "arm64"}, 300_000, interpreter) {
			ran++
		}
	}
	t.Logf("%d of %d modules ran", ran, rounds)
	if ran < rounds/4 {
		t.Error("too little was tried")
	}
}
