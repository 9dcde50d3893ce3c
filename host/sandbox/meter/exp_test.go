package meter_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func TestExp(t *testing.T) {
	guest := build(t, busy)
	modes := []string{"plain", "1000000 1000000", "4000 1000", "2000 250", "2000 500", "1000 100"}
	for _, c := range []struct {
		export string
		code   []byte
		arg    uint64
	}{{"spin", guest, 1_000_000}, {"encode", guest, 200}, {"order", guest, 500}} {
		var mods []api.Module
		var banks []*bank
		for _, m := range modes {
			var x, y int
			fmt.Sscan(m, &x, &y)
			os.Setenv("RM", fmt.Sprint(x))
			os.Setenv("PM", fmt.Sprint(y))
			b := &bank{slice: 1 << 50}
			code := c.code
			if m != "plain" {
				r := rewrite(t, c.code)
				code = r.Wasm
				if c.export == "spin" { fmt.Println(m, r.Stats.BytesAfter) }
			}
			mods = append(mods, load(t, wazero.NewRuntimeConfig(), code, b))
			banks = append(banks, b)
		}
		best := make([]time.Duration, len(mods))
		fuel := make([]int64, len(mods))
		for range 100 {
			for i, m := range mods {
				l := banks[i].left
				s := time.Now()
				if _, err := m.ExportedFunction(c.export).Call(context.Background(), c.arg); err != nil {
					t.Fatal(err)
				}
				if d := time.Since(s); best[i] == 0 || d < best[i] {
					best[i] = d
				}
				fuel[i] = l-banks[i].left
			}
		}
		fmt.Print(c.export, " ")
		for i, m := range modes {
			fmt.Printf(" [%s] %.3f %.1f/ns", m, float64(best[i])/float64(best[0]), float64(fuel[i])/float64(best[0]))
		}
		fmt.Println(best[0])
	}
}
