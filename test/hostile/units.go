package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// units declares the memo_* functions.
const units = `
  (import "extism:host/user" "memo_begin" (func $memo_begin (param i64) (result i64)))
  (import "extism:host/user" "memo_end" (func $memo_end (param i64)))
  (import "extism:host/user" "block_copy" (func $block_copy (param i64 i64 i64)))`

// unitCases abuse units: the memory that a run leaves for the next.
func unitCases() []Case {
	// endless does the same for ever, with a new key each time if it uses
	// $key.
	endless := func(name, class, body string, want ...string) Case {
		return Case{
			Name: class + "/units-" + name, Class: class, Limits: limits(deadline), Want: ends(want...),
			Module: module{
				Imports: kernel + units,
				Fields: `
  (func $key (param $size i32) (result i64)
    (i32.store (i32.const 65536) (i32.add (i32.load (i32.const 65536)) (i32.const 1)))
    (call $text (i32.const 65536) (local.get $size)))`,
				Resolve: `(loop $l ` + body + ` (br $l))`,
			}.build,
		}
	}
	list := []Case{
		endless("begun-again", ClassTime, `
      (local.set $n (call $key (i32.const 8))) (drop (call $memo_begin (local.get $n))) (call $free (local.get $n))`, Deadline, Limit, Crashed),
		endless("never-begun", ClassTime, `(call $memo_end (i64.const 0))`, Deadline, Limit, Crashed),
		endless("without-a-key", ClassTime, `(drop (call $memo_begin (i64.const 0)))`, Deadline, Limit, Crashed),
		endless("many", ClassMemory, `
      (local.set $n (call $key (i32.const 4096))) (drop (call $memo_begin (local.get $n)))
      (call $memo_end (local.get $n)) (call $free (local.get $n))`, Deadline, Limit),
		endless("with-a-key-of-a-mebibyte", ClassMemory, `
      (local.set $n (call $alloc (i64.const 1048576))) (drop (call $memo_begin (local.get $n))) (call $free (local.get $n))`, Deadline, Limit, Crashed),
		endless("of-a-mebibyte-each", ClassMemory, `
      (local.set $n (call $key (i32.const 8))) (drop (call $memo_begin (local.get $n))) (call $free (local.get $n))
      (local.set $n (call $alloc (i64.const 1048576))) (call $memo_end (local.get $n)) (call $free (local.get $n))`, Deadline, Limit),
	}
	list = append(list, Case{
		Name: "time/units-copied", Class: ClassTime, Limits: limits(deadline), Want: ends(Deadline),
		Module: module{Imports: kernel + units, Resolve: `
      (local.set $n (call $alloc (i64.const 4194304)))
      (loop $l
        (call $block_copy (local.get $n) (i64.add (local.get $n) (i64.const 1)) (i64.const 4194303))
        (br $l))`}.build,
	}, Case{
		Name: "answers/units-copied-over-the-kernel", Class: ClassAnswers, Want: ends(Ready, Crashed, Answer, Guest),
		Module: module{Imports: kernel + units, Resolve: `
      (local.set $n (call $alloc (i64.const 60000)))
      (call $block_copy (i64.const 0) (local.get $n) (i64.const 60000))`}.build,
	})
	for _, handle := range []string{"1", "-1", "0x7fffffffffffffff", "0xffffffff"} {
		list = append(list, Case{
			Name: fmt.Sprintf("answers/units-handle=%s", handle), Class: ClassAnswers, Want: ends(Ready, Crashed),
			Module: module{Imports: units, Resolve: fmt.Sprintf(
				`(drop (call $memo_begin (i64.const %s))) (call $memo_end (i64.const %s))`, handle, handle)}.build,
		})
	}
	return append(list, unitsOfRoots())
}

// unitsOfRoots: what is remembered of one root is not given to another, nor
// when its file has changed. The module traps when a value isn't what the file
// holds.
func unitsOfRoots() Case {
	return Case{
		Name: "state/units", Class: ClassState, Memo: true, Roots: 2, Within: 5 * time.Second, Want: rows(),
		Module: module{
			Imports: kernel + files + units,
			Fields:  `(data (i32.const 65536) "file" "turn" "k")`,
			Resolve: `
      (drop (call $fs_read (call $text (i32.const 65540) (i32.const 4)) (i64.const 0) (i64.const 8)))
      (local.set $n (call $memo_begin (call $text (i32.const 65544) (i32.const 1))))
      (local.set $m (call $fs_read (call $text (i32.const 65536) (i32.const 4)) (i64.const 0) (i64.const 8)))
      (if (i64.eqz (local.get $n))
        (then (call $memo_end (local.get $m)))
        (else (if (i64.ne (call $load_u64 (local.get $n)) (call $load_u64 (local.get $m))) (then (unreachable)))))`,
		}.build,
		Drive: func(ctx context.Context, b *Bench) error {
			h, err := b.open(ctx)
			if err != nil {
				return err
			}
			defer b.close(h)
			for turn := range 6 {
				for i, dir := range b.Dirs.roots(2) {
					text := fmt.Sprintf("%d of %d..", turn/3, i)
					if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
						return err
					}
					if err := os.WriteFile(filepath.Join(dir, "turn"), []byte(fmt.Sprint(turn)), 0o600); err != nil {
						return err
					}
				}
				if err := b.refresh(ctx, h); err != nil {
					return err
				}
				if len(b.res.Warnings) > 0 { // a second try, which remembers nothing
					b.wrong("turn %d: %q", turn, b.res.Warnings)
				}
			}
			return nil
		},
	}
}
