package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// wazero keeps a guest's stack on the heap and doubles it by copying. A
// recursion that doesn't end must end by the bound on it, early, at the same
// depth each time, and before the process has grown by much.

// stackMemory is by how many MiB endless recursion may make the process grow:
// 16 for the stack, and what loading and running the same module takes without
// it.
const stackMemory = 16 + 8

// randomDescent is a ring of functions, each with variables of other kinds and
// numbers, and another way to the next.
func randomDescent(r *rand.Rand) string {
	types := []string{"i32", "i64", "f64", "v128"}
	n := 1 + r.IntN(5)
	kinds := make([]string, n)
	params := make([][]string, n)
	for i := range n {
		kinds[i] = types[r.IntN(len(types))]
		if i > 0 {
			for range r.IntN(25) {
				params[i] = append(params[i], types[r.IntN(len(types))])
			}
		}
	}
	load := func(t string) string { return fmt.Sprintf("i32.const 65536 %s.load offset=%d ", t, r.IntN(100)) }
	var b strings.Builder
	fmt.Fprintf(&b, "(table %d funcref) (elem (i32.const 0)", n)
	for i := range n {
		fmt.Fprintf(&b, " $f%d", i)
	}
	b.WriteString(") (func $run (call $f0))\n")
	for i := range n {
		next := (i + 1) % n
		carried, locals, first := r.IntN(300), r.IntN(60), len(params[i])
		fmt.Fprintf(&b, "(func $f%d (param %s) (local %s)\n", i, strings.Join(params[i], " "), strings.Repeat(kinds[i]+" ", locals))
		for l := range locals {
			b.WriteString(load(kinds[i]) + fmt.Sprintf("local.set %d ", first+l))
		}
		if r.IntN(2) == 0 {
			b.WriteString("(call $log_info (i64.const 0))\n")
		}
		for range carried {
			b.WriteString("i32.const 65536 " + load(kinds[i]))
		}
		for _, p := range params[next] {
			b.WriteString(load(p))
		}
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "i32.const %d call_indirect (param %s)\n", next, strings.Join(params[next], " "))
		default:
			fmt.Fprintf(&b, "call $f%d\n", next)
		}
		b.WriteString(strings.Repeat(kinds[i]+".store ", carried))
		for l := range first + locals {
			t := kinds[i]
			if l < first {
				t = params[i][l]
			}
			fmt.Fprintf(&b, "i32.const 65536 local.get %d %s.store ", l, t)
		}
		b.WriteString(")\n")
	}
	return b.String()
}

// stackCases are recursions of which the seed decides how they look. Others are
// text.
func stackCases() []Case {
	var list []Case
	for seed := range uint64(12) {
		s := shape{
			module: module{Imports: kernel, Fields: randomDescent(rand.New(rand.NewPCG(seed, 4)))}, body: "(call $run)",
			ends: []string{Limit}, text: `limit exceeded: its stack is deeper than 4 MiB`,
		}
		list = append(list, s.cases(&Case{
			Name: fmt.Sprintf("stack/random-%d", seed), Class: ClassStack, Memory: stackMemory,
			Within: time.Second, // it ends long before: what takes time is compiling
		}, moments)...)
	}
	return list
}
