package hostile

import "time"

// stateCases look for what an earlier run, or a run on another root, has left.
// Each answers what it found, in letters, and must answer the same in every
// round and for every root; or it traps when it meets itself.
func stateCases() []Case {
	// once traps when the condition is true, and then makes it so.
	once := func(name, fields, imports, body string) Case {
		return Case{Name: name, Module: module{Imports: imports, Fields: fields, Resolve: body}.build}
	}
	// tells answers the value that the body leaves in $i.
	tells := func(name, imports, fields, body string) Case {
		return Case{Name: name, Module: module{Imports: imports, Fields: fields, Response: `{"warnings":["????????"]}`, Resolve: body + spell}.build}
	}
	list := []Case{
		once("global", `(global $seen (mut i32) (i32.const 0))`, "", `(if (global.get $seen) (then (unreachable))) (global.set $seen (i32.const 1))`),
		once("memory", "", "", `(if (i32.load (i32.const 65536)) (then (unreachable))) (i32.store (i32.const 65536) (i32.const 1))`),
		once("memory-grown", "", "", `(if (i32.gt_u (memory.size) (i32.const 3)) (then (unreachable))) (drop (memory.grow (i32.const 10)))`),
		once("table", `(table $t 1 10 funcref) (elem declare func $f) (func $f)`, "",
			`(if (i32.eqz (ref.is_null (table.get $t (i32.const 0)))) (then (unreachable))) (table.set $t (i32.const 0) (ref.func $f))`),
		once("data-dropped", `(data $d "x")`, "", `(memory.init $d (i32.const 65536) (i32.const 0) (i32.const 1)) (data.drop $d)`),
		once("kernel-memory", "", kernel, `
      (local.set $n (call $alloc (i64.const 60000)))
      (loop $l
        (if (i64.ne (call $load_u64 (i64.add (local.get $n) (i64.extend_i32_u (local.get $i)))) (i64.const 0)) (then (unreachable)))
        (call $store_u64 (i64.add (local.get $n) (i64.extend_i32_u (local.get $i))) (i64.const -1))
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.const 59992))))`),
		tells("kernel-handles", kernel, "", `(local.set $i (i32.wrap_i64 (call $alloc (i64.const 100000))))`),
		tells("error-left-behind", kernel+"\n"+`(import "extism:host/env" "error_get" (func $error_get (result i64)))`, "",
			`(local.set $i (i32.wrap_i64 (call $error_get))) (call $error_set (call $text (i32.const 131072) (i32.const 10))) (call $error_set (i64.const 0))`),
		tells("random", wasi("random_get", "i32 i32"), "", `(drop (call $random_get (i32.const 65536) (i32.const 8))) (local.set $i (i32.load (i32.const 65536)))`),
		tells("random-used-up", wasi("random_get", "i32 i32"), "", `(drop (call $random_get (i32.const 65536) (i32.const 40000)))
			(drop (call $random_get (i32.const 65536) (i32.const 8))) (local.set $i (i32.load (i32.const 65536)))`),
		tells("clock", wasi("clock_time_get", "i32 i64 i32"), "", `(drop (call $clock_time_get (i32.const 0) (i64.const 1) (i32.const 65536)))
			(local.set $i (i32.load (i32.const 65536)))`),
		tells("clock-after-a-sleep", wasi("poll_oneoff", "i32 i32 i32 i32")+wasi("clock_time_get", "i32 i64 i32"), "", sleep+`
			(drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 65536))) (local.set $i (i32.load (i32.const 65536)))`),
		tells("descriptors", wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), `(data (i32.const 65536) "VICTIM.md")`, `
			(drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 9) (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600)))
			(local.set $i (i32.load (i32.const 65600)))`),
		tells("preopen-closed", wasi("fd_close", "i32"), "", `(local.set $i (call $fd_close (i32.const 3)))`),
		tells("stderr-closed", wasi("fd_close", "i32"), "", `(local.set $i (call $fd_close (i32.const 2)))`),
		tells("descriptor-rights", wasi("fd_fdstat_set_flags", "i32 i32"), "", `(local.set $i (call $fd_fdstat_set_flags (i32.const 3) (i32.const 4)))`),
		tells("inode-of-the-root", wasi("fd_filestat_get", "i32 i32"), "", `(drop (call $fd_filestat_get (i32.const 3) (i32.const 65536))) (local.set $i (i32.load (i32.const 65544)))`),
	}
	for i := range list {
		c := &list[i]
		c.Class, c.Name = ClassState, "state/"+c.Name
		c.Rounds, c.Roots, c.Within = 4, 2, time.Second
		c.Want = rows()
	}
	return list
}

// spell writes $i into the answer, a letter for four bits.
const spell = `
    (loop $digits
      (i32.store8 (i32.add (i32.const 131086) (local.get $j)) (i32.add (i32.const 97) (i32.and (local.get $i) (i32.const 15))))
      (local.set $i (i32.shr_u (local.get $i) (i32.const 4)))
      (br_if $digits (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 8))))`
