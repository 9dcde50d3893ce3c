package meter_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/host/sandbox/meter"
)

// withData is a module that shows its memory by its hash alone.
func withData(segments ...[]byte) []byte {
	return wasm(types(sig(tt(), tt())), functions(0), memory(1), exports("run", 0), code(fn(none)), data(segments...))
}

func TestMergeData(t *testing.T) {
	t.Parallel()
	drops := wasm(types(sig(tt(), tt())), functions(0), memory(1), exports("run", 0), section(12, 2),
		code(fn(none, misc, 9, 0)), data(at(0, "a"), at(1, "b")))
	for name, c := range map[string]struct {
		code []byte
		want int // segments
	}{
		"neighbors":              {withData(at(0, "a"), at(1, "b")), 1},
		"a small gap":            {withData(at(0, "a"), at(257, "b")), 1},
		"a larger gap":           {withData(at(0, "a"), at(258, "b")), 2},
		"out of order":           {withData(at(600, "c"), at(300, "b"), at(0, "a")), 3},
		"the last one wins":      {withData(at(0, "aaaa"), at(2, "bbbb"), at(1, "c")), 1},
		"the first one is later": {withData(at(2, "bbbb"), at(0, "aaaa")), 1},
		"one within another":     {withData(at(0, "aaaaaaaa"), at(2, "b"), at(300, "c"), at(0, "dd")), 2},
		"empty ones":             {withData(at(0, ""), at(5, ""), at(65536, "")), 0},
		"at the very end":        {withData(at(65535, "a"), at(65534, "b")), 1},
		"beyond the end":         {withData(at(0, "a"), at(65535, "ab"), at(1, "c")), 3},
		"an empty one beyond":    {withData(at(0, "a"), at(65537, ""), at(1, "c")), 3},
		"far beyond the end":     {withData(at(0, "a"), at(-1, "ab"), at(1, "c")), 3},
		"a passive one":          {withData(at(0, "a"), join(1, "b"), at(1, "c")), 3},
		"the long form":          {withData(join(2, 0, i32Const, 0, end, "a"), at(1, "c")), 1},
		"dropped in code":        {drops, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := meter.Rewrite(c.code, meter.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Stats.DataSegmentsAfter; got != c.want {
				t.Errorf("%d segments, want %d", got, c.want)
			}
			if !same(t, c.code, meter.Options{}) {
				t.Error("was not run")
			}
		})
	}
}

// A module that imports its memory can't know that it is zero.
func TestImportedMemoryIsNotMerged(t *testing.T) {
	t.Parallel()
	res, err := meter.Rewrite(wasm(imports(join("env", "m", 2, 0, 1)), data(at(0, "a"), at(2, "b"))), meter.Options{})
	if err != nil || res.Stats.DataSegmentsAfter != 2 {
		t.Error(res.Stats, err)
	}
}

func TestMergeRandomData(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var segments [][]byte
		for range 1 + r.IntN(60) {
			segments = append(segments, at(r.IntN(3000), strings.Repeat(fmt.Sprint(r.IntN(10)), r.IntN(200))))
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			if !same(t, withData(segments...), meter.Options{}) {
				t.Error("was not run")
			}
		})
	}
}
