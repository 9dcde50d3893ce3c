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

// stackText is the verdict of whoever goes too deep.
const stackText = `limit exceeded: its stack is deeper than 4 MiB`

// stackMemory is by how many MiB endless recursion may make the process grow:
// 16 for the stack, and what loading and running the same module takes without
// it.
const stackMemory = 16 + 8

// descents are recursions that don't end; "run" is their entry.
func descents() []shape {
	const log = kernel + "\n"
	all := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	params := strings.Repeat(" i64", 100)
	list := []shape{
		{name: "itself", fields: `(func $run (call $run) (drop (i32.const 1)))`},
		{name: "each-other", fields: `(func $run (call $b)) (func $b (call $c)) (func $c (call $run))`},
		{name: "table", fields: `(table 1 funcref) (elem (i32.const 0) $run) (func $run (call_indirect (i32.const 0)))`},
		{
			name: "reference",
			fields: `(table 1 funcref) (elem declare func $run)
			         (func $run (table.set 0 (i32.const 0) (ref.func $run)) (call_indirect (i32.const 0)))`,
		},
		{name: "loop", fields: `(func $run (loop $l (call $run) (br $l)))`},
		{name: "branches", fields: `(func $run (block $a (block $b (call $run) (br_table $a $b (i32.load (i32.const 65536)))) (call $run)))`},
		{
			name: "locals", fields: `(func $run (local` + strings.Repeat(" i64", 500) + `) ` +
				all(500, `(local.set # (i64.load offset=# (i32.const 65536)))`) + ` (call $run) ` + all(500, `(i64.store offset=# (i32.const 65536) (local.get #))`) + `)`,
		},
		{
			// Each value has a place of its own in the frame.
			name: "one-local-often", fields: `(func $run (local i64) ` +
				strings.Repeat(`(local.set 0 (i64.load (i32.const 65536))) (call $nothing) (i64.store (i32.const 65536) (local.get 0))`, 1000) +
				` (call $run)) (func $nothing)`,
		},
		{
			name: "locals-and-blocks", fields: `(func $run (local` + strings.Repeat(" i64", 60) + `) ` +
				strings.Repeat(`(if (i32.load (i32.const 65536)) (then `+all(60, `(local.set # (i64.add (local.get #) (i64.const #)))`)+`))`, 10) +
				` (call $run) ` + all(60, `(i64.store offset=# (i32.const 65536) (local.get #))`) + `)`,
		},
		{
			name: "values", fields: `(func $run ` + strings.Repeat(`i32.const 65536 i32.const 65536 i64.load `, 500) + ` call $run ` +
				strings.Repeat(`i64.store `, 500) + `)`,
		},
		{
			name: "vectors", fields: `(func $run ` + strings.Repeat(`i32.const 65536 i32.const 65536 v128.load `, 500) + ` call $run ` +
				strings.Repeat(`v128.store `, 500) + `)`,
		},
		{
			name: "vector-locals", fields: `(func $run (local` + strings.Repeat(" v128", 300) + `) ` +
				all(300, `(local.set # (v128.load offset=# (i32.const 65536)))`) + ` (call $run) ` + all(300, `(v128.store offset=# (i32.const 65536) (local.get #))`) + `)`,
		},
		{
			name: "parameters", fields: `(func $run (call $f ` + strings.Repeat(`(i64.const 1)`, 100) + `))
			         (func $f (param` + params + `) (call $f ` + all(100, `(local.get #)`) + `) ` + all(100, `(i64.store (i32.const 65536) (local.get #))`) + `)`,
		},
		{
			name:   "results",
			fields: `(func $run (call $f) ` + strings.Repeat("drop ", 100) + `) (func $f (result` + params + `) (call $f))`,
		},
		{
			name: "host-calls", imports: log,
			fields: `(func $run (call $log_info (i64.const 0)) ` + strings.Repeat(`i32.const 65536 i32.const 65536 i64.load `, 200) +
				` call $run ` + strings.Repeat(`i64.store `, 200) + ` (call $log_info (i64.const 0)))`,
		},
		{
			name:   "memory",
			fields: `(func $run (memory.fill (i32.const 65536) (i32.const 1) (i32.load (i32.const 65536))) (call $run) (drop (memory.grow (i32.const 0))))`,
		},
		{
			// Two of three calls return.
			name: "down-and-up", fields: `(func $run (call $up (i32.const 20)) (call $up (i32.const 20)) (call $run))
			         (func $up (param $n i32) (if (local.get $n) (then (call $up (i32.sub (local.get $n) (i32.const 1))))))`,
		},
		{
			// The last is a large one that calls nothing.
			name: "large-leaf", fields: `(func $run (call $leaf) (call $run)) (func $leaf ` + strings.Repeat(`i32.const 65536 i32.const 65536 i64.load `, 200) +
				strings.Repeat(`i64.store `, 200) + `)`,
		},
	}
	for seed := range uint64(12) {
		list = append(list, shape{name: fmt.Sprintf("random-%d", seed), imports: log, fields: randomDescent(rand.New(rand.NewPCG(seed, 4)))})
	}
	for i := range list {
		list[i].body, list[i].ends, list[i].text = "(call $run)", []string{Limit}, stackText
	}
	return list
}

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

func stackCases() []Case {
	var list []Case
	for _, s := range descents() {
		for _, place := range places {
			list = append(list, Case{
				Name: "stack/" + s.name + "/" + place, Class: ClassStack,
				Module: s.at(place).build, Want: s.want(place), Memory: stackMemory,
				// It ends long before: what takes time is compiling.
				Within: time.Second,
			})
		}
	}
	return list
}
