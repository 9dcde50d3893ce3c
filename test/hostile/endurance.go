package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// enduranceCases do the same a thousand times, a fiftieth of that in tests, and
// look at what is left.
func enduranceCases() []Case {
	kills := func(name string, m module, limits Case, want ...string) Case {
		c := limits
		c.Name, c.Class, c.Module = "endurance/kills-"+name, ClassEndurance, m.build
		c.Within, c.Memory, c.Want = 5*time.Minute, 128, ends(want...)
		c.Drive = func(ctx context.Context, b *Bench) error {
			h, err := b.open(ctx)
			if err != nil {
				return err
			}
			defer b.close(h)
			return b.flat(ctx, func() error {
				// Another root of the same name: in the old one the resolver
				// would soon be in quarantine.
				if err := b.exchangeRoot(); err != nil {
					return err
				}
				if err := b.refresh(ctx, h); err != nil {
					return err
				}
				h.Settle(ctx)
				return nil
			})
		}
		return c
	}
	quarantined := Case{
		Name: "endurance/quarantined", Class: ClassEndurance, Module: module{Resolve: `(loop $l (br $l))`}.build,
		Limits: limits(deadline), Within: 5 * time.Minute, Want: ends(Deadline).saying("quarantined"),
		Drive: func(ctx context.Context, b *Bench) error {
			h, err := b.open(ctx)
			if err != nil {
				return err
			}
			defer b.close(h)
			runs := 0
			start := time.Now()
			for range 30 {
				if err := b.refresh(ctx, h); err != nil {
					return err
				}
				if !strings.Contains(b.res.Error, "quarantined") {
					runs++
				}
			}
			// A quarantine takes half a minute, which this does on no machine but
			// a very slow one.
			if ended := int(time.Since(start) / (30 * time.Second)); runs > 3+ended {
				b.wrong("%d of 30 refreshes run it: a hopeless resolver is run again and again", runs)
			}
			return nil
		},
	}
	short := Case{Limits: limits(10 * time.Millisecond)}
	reload := Case{
		Name: "endurance/reloads", Class: ClassEndurance, Module: module{Resolve: `(unreachable)`}.build,
		Within: 5 * time.Minute, Memory: 128, Want: ends(Crashed),
		Drive: func(ctx context.Context, b *Bench) error {
			return b.flat(ctx, func() error {
				h, err := b.open(ctx)
				if err != nil {
					return err
				}
				defer b.close(h)
				return b.refresh(ctx, h)
			})
		},
	}
	refused := reload
	refused.Name, refused.Module, refused.Want = "endurance/reloads-refused", module{Describe: `(unreachable)`}.build, rejected("unreachable")
	return []Case{
		kills("deadline", module{Resolve: `(loop $l (br $l))`}, short, Deadline),
		kills("trap", module{Resolve: `(unreachable)`}, Case{}, Crashed),
		kills("memory", module{Resolve: `(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)`}, Case{}, Crashed, Limit),
		kills("files", module{
			Imports: wasi("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"), Fields: `(data (i32.const 65536) "VICTIM.md")`,
			Resolve: `(loop $l (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 9) (i32.const 0)
			  (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65600))) (br $l))`,
		}, Case{Limits: limits(time.Second), FileLimits: fewOpens}, Limit),
		kills("bad-answer", module{Response: "nothing"}, Case{}, Answer),
		quarantined,
		reload,
		refused,
	}
}

// exchangeRoot puts another directory in the root's place, by turns.
func (b *Bench) exchangeRoot() error {
	other, tmp := filepath.Join(b.Dirs.Base, "other"), filepath.Join(b.Dirs.Base, "tmp")
	if err := treeLine(other, "VICTIM.md = innocent\n"); err != nil {
		return err
	}
	return errors.Join(os.Rename(b.Dirs.Root, tmp), os.Rename(other, b.Dirs.Root), os.Rename(tmp, other))
}

// flat does something rounds times, after a tenth of that to warm up, and
// reports what grew.
func (b *Bench) flat(ctx context.Context, step func() error) error {
	warm := max(b.rounds/10, 3)
	var before usage
	for i := range warm + b.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i == warm {
			before = settledUsage(usage{}, 0)
		}
		if err := step(); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	// A runtime may map arenas, and keep some pages; it may not do so in
	// proportion to the rounds.
	grown := func(u usage) bool {
		return u.mappings > before.mappings+8 || u.resident > before.resident+(16<<20)
	}
	after := settledUsage(before, b.set.Settle)
	// What a collection has found unused is unmapped some time after it.
	for end := time.Now().Add(b.set.Settle); grown(after) && time.Now().Before(end); {
		after = settledUsage(before, b.set.Settle)
	}
	b.res.Endurance = fmt.Sprintf("%d rounds: %s", b.rounds, after.since(before))
	if after.goroutines > before.goroutines || after.descriptors > before.descriptors || grown(after) {
		b.wrong("%d rounds leave %s", b.rounds, after.since(before))
	}
	return nil
}
