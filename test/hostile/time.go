package hostile

import (
	"strings"
	"time"
)

// shape is a way to use up time: instructions, and the fields and imports that
// they need. Not one of them comes to an end within a human's patience.
type shape struct {
	name            string
	imports, fields string
	body            string
	pages           int
	// ends lists other ends than the deadline.
	ends []string
	text string
}

// shapes are endless by loop, by recursion, and by few but long instructions.
func shapes() []shape {
	return []shape{
		{name: "loop", body: `(loop $l (br $l))`},
		{name: "loop-br-if", body: `(loop $l (br_if $l (i32.const 1)))`},
		{name: "loop-br-table", body: `(loop $l (br_table $l $l $l (local.get $i)))`},
		{
			name: "loops-nested",
			body: `(loop $a (loop $b (loop $c (br_if $c (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
			         (local.set $i (i32.const 0)) (br $b)) (br $a))`,
		},
		{
			name: "loop-of-calls", fields: `(func $leaf (result i32) (i32.const 1))`,
			body: `(loop $l (br_if $l (call $leaf)))`,
		},
		{
			// 4,000 divisions between two loop headers, 36 KB of body.
			name: "straight-line", fields: `(func $long (param $n i64) ` + divisions(4000) + `)`,
			body: `(loop $l (call $long (i64.const -1)) (br $l))`,
		},
		{
			// The same, with nothing but function entries to stop at.
			name: "straight-line-recursion", fields: `(func $long (param $n i64) ` + divisions(4000) + `)` +
				`(func $tree (param $d i32) (if (local.get $d) (then
			       (call $long (i64.const -1))
			       (call $tree (i32.sub (local.get $d) (i32.const 1))) (call $tree (i32.sub (local.get $d) (i32.const 1))))))`,
			body: `(call $tree (i32.const 60))`,
		},
		{
			// 2^60 calls, never deeper than 60.
			name: "recursion", fields: callTree, body: `(call $tree (i32.const 60))`,
		},
		{
			name: "recursion-mutual",
			fields: `(func $even (param $d i32) (if (local.get $d) (then
			           (call $odd (i32.sub (local.get $d) (i32.const 1))) (call $odd (i32.sub (local.get $d) (i32.const 1))))))
			         (func $odd (param $d i32) (if (local.get $d) (then
			           (call $even (i32.sub (local.get $d) (i32.const 1))) (call $even (i32.sub (local.get $d) (i32.const 1))))))`,
			body: `(call $even (i32.const 60))`,
		},
		{
			name: "recursion-call-indirect",
			fields: `(table 1 funcref) (elem (i32.const 0) $tree)
			         (func $tree (param $d i32) (if (local.get $d) (then
			           (call_indirect (param i32) (i32.sub (local.get $d) (i32.const 1)) (i32.const 0))
			           (call_indirect (param i32) (i32.sub (local.get $d) (i32.const 1)) (i32.const 0)))))`,
			body: `(call $tree (i32.const 60))`,
		},
		{
			name: "recursion-float", // to the end of the stack, from the side
			fields: `(func $f (param $x f64) (result f64)
			           (if (result f64) (f64.lt (local.get $x) (f64.const 60))
			             (then (f64.add (call $f (f64.add (local.get $x) (f64.const 1))) (call $f (f64.add (local.get $x) (f64.const 1)))))
			             (else (f64.div (local.get $x) (f64.const 3)))))`,
			body: `(drop (call $f (f64.const 0)))`,
		},
		{
			name: "memory-fill", pages: 150,
			body: `(loop $l (memory.fill (i32.const 65536) (local.get $i) (i32.const 9000000)) (br $l))`,
		},
		{
			name: "memory-copy", pages: 150,
			body: `(loop $l (memory.copy (i32.const 65537) (i32.const 65536) (i32.const 9000000)) (br $l))`,
		},
		{
			name: "memory-fill-recursion", pages: 150,
			fields: `(func $tree (param $d i32) (if (local.get $d) (then
			       (memory.fill (i32.const 65536) (local.get $d) (i32.const 9000000))
			       (call $tree (i32.sub (local.get $d) (i32.const 1))) (call $tree (i32.sub (local.get $d) (i32.const 1))))))`,
			body: `(call $tree (i32.const 60))`,
		},
		{
			name: "table-fill", fields: `(table $t 90000 90000 funcref)`,
			body: `(loop $l (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000)) (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 89999)) (br $l))`,
		},
		{
			name: "memory-init", fields: `(data $d ` + `"` + strings.Repeat("x", 60000) + `")`,
			body: `(loop $l (memory.init $d (i32.const 65536) (i32.const 0) (i32.const 60000)) (br $l))`,
		},
		{
			// Each call is slower than the one before: the kernel walks its blocks.
			name: "kernel-length", imports: kernel,
			body: `(loop $l (local.set $n (call $alloc (i64.const 1))) (drop (call $length (local.get $n))) (br $l))`,
			ends: []string{Deadline, Limit, Crashed},
		},
		{
			name: "kernel-free", imports: kernel,
			body: `(loop $fill (local.set $n (call $alloc (i64.const 1)))
			         (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
			       (loop $l (call $free (local.get $n)) (local.set $n (call $alloc (i64.const 1))) (br $l))`,
			ends: []string{Deadline, Limit, Crashed},
		},
		{
			name: "kernel-recursion", imports: kernel,
			fields: `(func $tree (param $d i32) (if (local.get $d) (then
			       (drop (call $length (i64.const 1)))
			       (call $tree (i32.sub (local.get $d) (i32.const 1))) (call $tree (i32.sub (local.get $d) (i32.const 1))))))`,
			body: `(call $tree (i32.const 60))`,
		},
		{
			name: "random", imports: wasi("random_get", "i32 i32"), pages: 150,
			body: `(loop $l (drop (call $random_get (i32.const 65536) (i32.const 9000000))) (br $l))`,
		},
		{
			name: "stderr", imports: wasi("fd_write", "i32 i32 i32 i32"), pages: 150,
			body: `(i32.store (i32.const 65536) (i32.const 65552)) (i32.store (i32.const 65540) (i32.const 9000000))
			       (loop $l (drop (call $fd_write (i32.const 2) (i32.const 65536) (i32.const 1) (i32.const 65544))) (br $l))`,
		},
		{
			name: "clock", imports: wasi("clock_time_get", "i32 i64 i32"),
			body: `(loop $l (drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 65536))) (br $l))`,
		},
		{
			name: "yield", imports: "\n  (import \"wasi_snapshot_preview1\" \"sched_yield\" (func $sched_yield (result i32)))",
			body: `(loop $l (drop (call $sched_yield)) (br $l))`,
		},
		{
			// An hour's sleep, again and again: none of them may be granted.
			name: "sleep-loop", imports: wasi("poll_oneoff", "i32 i32 i32 i32"), body: `(loop $l ` + sleep + ` (br $l))`,
		},
		{
			name: "files-missing", imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"),
			fields: `(data (i32.const 65536) "nothing")`,
			body: `(loop $l (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 7) (i32.const 0)
			         (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600))) (br $l))`,
			ends: []string{Deadline, Limit},
		},
		{
			name: "fs-stat", imports: kernel + files, fields: `(data (i32.const 65536) "VICTIM.md")`,
			body: `(loop $l (local.set $n (call $text (i32.const 65536) (i32.const 9)))
			         (call $free (call $fs_stat (local.get $n))) (call $free (local.get $n)) (br $l))`,
			ends: []string{Deadline, Limit, Crashed},
		},
	}
}

// sleep asks poll_oneoff for an hour.
const sleep = `
    (i64.store (i32.const 65536) (i64.const 1))         ;; user data
    (i32.store8 (i32.const 65544) (i32.const 0))        ;; a clock
    (i32.store (i32.const 65552) (i32.const 1))         ;; the monotonic one
    (i64.store (i32.const 65560) (i64.const 3600000000000))
    (drop (call $poll_oneoff (i32.const 65536) (i32.const 65600) (i32.const 1) (i32.const 65700)))`

// callTree is a binary tree of calls, $d deep.
const callTree = `(func $tree (param $d i32) (if (local.get $d) (then
	  (call $tree (i32.sub (local.get $d) (i32.const 1))) (call $tree (i32.sub (local.get $d) (i32.const 1))))))`

// divisions are n of the slowest simple instructions, in a row.
func divisions(n int) string {
	return strings.Repeat("(local.set $n (i64.div_u (local.get $n) (i64.const 3)))\n", n)
}

// places are the four moments when a guest has control.
var places = []string{"resolve", "describe", "initialize", "start"}

// at puts a shape into one of the places.
func (s shape) at(place string) module {
	m := module{Imports: s.imports, Fields: s.fields, Pages: s.pages}
	switch place {
	case "resolve":
		m.Resolve = s.body
	case "describe":
		m.Describe = s.body
	case "initialize":
		m.Initialize = s.body
	case "start":
		m.Start = s.body
	}
	return m
}

// within is more than the default where a large body is compiled first.
func (s shape) within(place string) time.Duration {
	if place == "resolve" || len(s.fields) < 100_000 {
		return 0
	}
	return deadline + 4*grace
}

func (s shape) want(place string) Want {
	kinds, text := s.ends, s.text
	if kinds == nil {
		kinds = []string{Deadline}
	}
	if text == "" {
		text = "deadline|limit|out of memory|stack|unreachable|kernel"
	}
	switch place {
	case "resolve":
		return ends(kinds...).saying(text)
	case "start": // a host may refuse those altogether
		return rejected("start function|" + text)
	}
	return rejected(text)
}

func timeCases() []Case {
	var list []Case
	for _, s := range shapes() {
		for _, place := range places {
			list = append(list, Case{
				Within: s.within(place),
				Name:   "time/" + s.name + "/" + place, Class: ClassTime,
				Module: s.at(place).build, Want: s.want(place), Limits: limits(deadline),
			})
		}
		list = append(list, Case{
			Name: "time/" + s.name + "/procs=1", Class: ClassTime, Procs: 1,
			Module: s.at("resolve").build, Want: s.want("resolve"), // Long enough to see whether a collection has to wait for the end.
			Limits: limits(3 * deadline),
		})
	}
	return append(list, waits()...)
}

// waits are what would block for ever if it were granted.
func waits() []Case {
	list := []Case{
		{
			Name:   "time/sleep",
			Module: module{Imports: wasi("poll_oneoff", "i32 i32 i32 i32"), Resolve: sleep}.build,
			Want:   rows(),
		},
		{
			Name: "time/poll-stdin",
			Module: module{Imports: wasi("poll_oneoff", "i32 i32 i32 i32"), Resolve: `
    (i32.store8 (i32.const 65544) (i32.const 1))        ;; readable
    (i32.store (i32.const 65552) (i32.const 0))         ;; standard input
    (drop (call $poll_oneoff (i32.const 65536) (i32.const 65600) (i32.const 1) (i32.const 65700)))`}.build,
			Want: rows(),
		},
		{
			Name: "time/read-stdin",
			Module: module{Imports: wasi("fd_read", "i32 i32 i32 i32"), Resolve: `
    (i32.store (i32.const 65536) (i32.const 65600)) (i32.store (i32.const 65540) (i32.const 1000))
    (drop (call $fd_read (i32.const 0) (i32.const 65536) (i32.const 1) (i32.const 65548)))
    (if (i32.load (i32.const 65548)) (then (unreachable)))   ;; there is nothing to read`}.build,
			Want: rows(),
		},
		{
			Name: "time/poll-10000-clocks",
			Module: module{Imports: wasi("poll_oneoff", "i32 i32 i32 i32"), Pages: 30, Resolve: `
    (loop $l
      (i64.store (i32.add (i32.const 200024) (i32.mul (local.get $i) (i32.const 48))) (i64.const 3600000000000))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 10000))))
    (drop (call $poll_oneoff (i32.const 200000) (i32.const 700000) (i32.const 10000) (i32.const 1100000)))`}.build,
			Want: ends(Ready, Deadline),
		},
		{
			Name: "time/two-at-once", Within: 2*deadline + 2*grace,
			// Two endless resolvers of one module, on two CPUs.
			Module: module{
				Resolve:     `(loop $l (br $l))`,
				Description: `{"abi":1,"name":"hostile","version":"1.0.0","resolvers":[{"name":"a","kinds":["skill"],"reads":[]},{"name":"b","kinds":["skill"],"reads":[]}]}`,
			}.build,
			Want: ends(Deadline),
		},
		{
			Name: "time/patterns", Within: 3 * time.Second,
			// Patterns are matched by the host, which no deadline stops.
			Module: module{Description: `{"abi":1,"name":"hostile","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":["` +
				strings.Repeat("**/*a*/", 100) + `b","` + strings.Repeat("*a", 400) + `b"]}]}`, Imports: kernel + files,
				Fields: `(data (i32.const 65536) "` + strings.Repeat("aaaaaaaa/", 400) + `x")`,
				Resolve: `(drop (call $fs_stat (call $text (i32.const 65536) (i32.const 3601))))
				          (drop (call $fs_stat (call $text (i32.const 65536) (i32.const 200))))`}.build,
			Want: ends(Ready, Rejected, Limit, Deadline),
		},
		{
			Name: "time/pattern-braces", Within: 3 * time.Second,
			Module: module{Description: `{"abi":1,"name":"hostile","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":["` +
				strings.Repeat("{a,aa}", 150) + `b","` + strings.Repeat("{", 300) + "a" + strings.Repeat(",b}", 300) + `"]}]}`, Imports: kernel + files,
				Fields:  `(data (i32.const 65536) "` + strings.Repeat("a", 240) + `x")`,
				Resolve: `(drop (call $fs_stat (call $text (i32.const 65536) (i32.const 241))))`}.build,
			Want: ends(Ready, Rejected, Limit, Deadline),
		},
	}
	for i := range list {
		list[i].Class, list[i].Limits = ClassTime, limits(deadline)
	}
	return list
}
