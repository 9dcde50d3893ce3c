package meter_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"waymark/host/sandbox/meter"
)

func BenchmarkRewrite(b *testing.B) {
	code := build(b, builtin)
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	var res *meter.Result
	for b.Loop() {
		res = rewrite(b, code)
	}
	b.ReportMetric(100*float64(res.Stats.BytesAfter)/float64(res.Stats.BytesBefore)-100, "%growth")
	b.ReportMetric(float64(res.Stats.DataSegmentsAfter), "segments")
}

// median of what f took.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2])
}

// BenchmarkOverhead compares a module before, after, and with wazero's own
// interruption. The three take turns, so that a machine that slows down slows
// all of them. The ratios are of medians, and of the best rounds, which
// differ when the machine has other work.
func BenchmarkOverhead(b *testing.B) {
	guest := build(b, busy)
	fib := samples()["fibonacci"]
	memory := one(tt(i32), tt(i32), list(join(1, i32)),
		loop, void, localGet, 1, localGet, 1, i32Load, 2, 0, i32Const, 1, i32Add, i32Store, 2, 0,
		localGet, 0, i32Const, 1, i32Sub, localTee, 0, if_, void, br, 1, end, end, localGet, 0)
	empty := one(tt(i32), tt(i32), none, loop, void, localGet, 0, i32Const, 1, i32Sub, localTee, 0, brIf, 0, end, localGet, 0)
	for _, c := range []struct {
		name, export string
		code         []byte
		arg          uint64
	}{
		{"go-spin", "spin", guest, 2_000_000},
		{"go-json", "encode", guest, 500},
		{"go-sort", "order", guest, 1000},
		{"calls", "fib", fib, 27},
		{"tight-loop", "run", memory, 3_000_000},
		{"empty-loop", "run", empty, 3_000_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			bank := &bank{slice: 2_000_000}
			variants := []api.Module{
				load(b, wazero.NewRuntimeConfig(), c.code, newBank()),
				load(b, wazero.NewRuntimeConfig(), rewrite(b, c.code).Wasm, bank),
				load(b, wazero.NewRuntimeConfig().WithCloseOnContextDone(true), c.code, newBank()),
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			times := make([][]time.Duration, len(variants))
			ticks := bank.ticks
			for b.Loop() {
				for i, m := range variants {
					began := time.Now()
					if _, err := m.ExportedFunction(c.export).Call(ctx, c.arg); err != nil {
						b.Fatal(err)
					}
					times[i] = append(times[i], time.Since(began))
				}
			}
			ticks = bank.ticks - ticks
			plain, metered := median(times[0]), median(times[1])
			best := float64(slices.Min(times[1])) / float64(slices.Min(times[0]))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(plain/1e6, "ms-plain")
			b.ReportMetric(metered/plain, "x-metered")
			b.ReportMetric(best, "x-metered-best")
			b.ReportMetric(median(times[2])/plain, "x-close-on-done")
			b.ReportMetric(metered*float64(b.N)/float64(ticks)/1e3, "µs/tick")
		})
	}
}

// BenchmarkSlice measures how long hostile modules run on a slice of two
// million: the time for which nothing can stop them.
func BenchmarkSlice(b *testing.B) {
	for name, code := range hostile() {
		b.Run(name, func(b *testing.B) {
			res, err := meter.Rewrite(code, meter.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			longest, total := time.Duration(0), time.Duration(0)
			count := 0
			for b.Loop() {
				r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig())
				bank := &bank{slice: 2_000_000, limit: 100_000_000}
				last := time.Time{}
				bank.granting = func() {
					if !last.IsZero() {
						longest = max(longest, time.Since(last))
						total += time.Since(last)
						count++
					}
					last = time.Now()
				}
				bank.provide(ctx, b, r)
				if mod, err := start(ctx, b, r, res); err == nil {
					_, _ = mod.ExportedFunction("run").Call(ctx)
				}
				_ = r.Close(ctx)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(longest)/1e6, "ms-longest")
			b.ReportMetric(float64(total)/float64(count)/1e6, "ms-mean")
		})
	}
}

// BenchmarkInstantiate shows what merging data segments is good for.
func BenchmarkInstantiate(b *testing.B) {
	code := build(b, busy)
	ctx := context.Background()
	for _, c := range []struct {
		name string
		code []byte
	}{{"as-built", code}, {"rewritten", rewrite(b, code).Wasm}} {
		b.Run(c.name, func(b *testing.B) {
			r := wazero.NewRuntime(ctx)
			defer func() { _ = r.Close(ctx) }()
			newBank().provide(ctx, b, r)
			wasi_snapshot_preview1.MustInstantiate(ctx, r)
			compiled, err := r.CompileModule(ctx, c.code)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
				if err != nil {
					b.Fatal(err)
				}
				_ = m.Close(ctx)
			}
		})
	}
}
