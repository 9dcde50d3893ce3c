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

// unitCases abuse units: the memory that a run leaves for the next. Others are
// text.
func unitCases() []Case {
	var list []Case
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
