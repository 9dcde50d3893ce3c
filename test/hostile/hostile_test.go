package hostile_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/test/built"
	"waymark/test/hostile"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	hostile.Child()
	testenv.UseMemory()
	os.Exit(m.Run())
}

// TestCorpus: every case comes out as stated, in the short form some of each class. Times
// are for `make hostile`; here deadlines are long, but for the cases that end by them.
func TestCorpus(t *testing.T) {
	builtin, err := built.Guest(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	opts := hostile.PoolOptions{Builtin: builtin, Cache: built.CodeCache(), Rounds: 20, Grace: 3 * time.Minute, Settle: time.Minute}
	quick := newPool(t, opts)
	opts.Stretch = 100
	slow := newPool(t, opts)
	opts.Fresh = true
	fresh := newPool(t, opts)
	cases := hostile.Cases()
	if testing.Short() {
		cases = some(testenv.Rand(t), cases)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			pool := slow
			if c.Timed() {
				pool = quick
			}
			res, err := pool.Run(t.Context(), &c)
			if err == nil && pool == quick && busy(res) {
				t.Logf("once more, with more time: %q (outcome %s: %s)", res.Wrong, res.Outcome, res.Error)
				res, err = slow.Run(t.Context(), &c)
			}
			if err == nil && large(res) {
				t.Logf("once more, in a process of its own: %q", res.Wrong)
				res, err = fresh.Run(t.Context(), &c)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range res.Wrong {
				t.Errorf("%s (outcome %s: %s)", wrong, res.Outcome, res.Error)
			}
		})
	}
}

// some takes, of each class, a third of what is attacked, and of each of those one case:
// the others attack the same at other moments, or by other numbers.
func some(r *rand.Rand, cases []hostile.Case) (list []hostile.Case) {
	attacks := map[string]map[string][]hostile.Case{}
	variant := regexp.MustCompile(`/(resolve|describe|initialize|start|procs=1)$|-[0-9]+(/[a-z]+)?$`)
	for _, c := range cases {
		if attacks[c.Class] == nil {
			attacks[c.Class] = map[string][]hostile.Case{}
		}
		attack := variant.ReplaceAllString(c.Name, "")
		attacks[c.Class][attack] = append(attacks[c.Class][attack], c)
	}
	for _, class := range slices.Sorted(maps.Keys(attacks)) {
		names := slices.Sorted(maps.Keys(attacks[class]))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:(len(names)+2)/3] {
			variants := attacks[class][name]
			list = append(list, variants[r.IntN(len(variants))])
		}
	}
	return list
}

// busy reports whether a result that isn't as stated may be the machine's
// fault: where the deadline is short, whatever comes before the attack, and the
// victim beside it, has to be quick as well.
func busy(res *hostile.Result) bool {
	return slices.ContainsFunc(res.Wrong, func(wrong string) bool {
		return strings.Contains(wrong+res.Error, "deadline exceeded") || strings.HasPrefix(wrong, "the victim's rows")
	})
}

// large reports whether a result is as stated but for the memory. The height of a
// process has garbage in it that wasn't collected yet, more of it the longer a
// collection waits for a processor, and what earlier cases have left to be reused:
// the smaller of two figures says more about the case.
func large(res *hostile.Result) bool {
	return len(res.Wrong) > 0 && !slices.ContainsFunc(res.Wrong, func(wrong string) bool { return !strings.HasPrefix(wrong, "the process grew by ") })
}

// TestNames: cases are told apart, and chosen, by their names.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	pattern := regexp.MustCompile(`^[a-z]+(/[a-z0-9=_-]+)+$`)
	for _, c := range hostile.Cases() {
		if seen[c.Name] || !pattern.MatchString(c.Name) {
			t.Errorf("the name %q is there twice or not made of words", c.Name)
		}
		seen[c.Name] = true
	}
	if len(seen) < 300 {
		t.Errorf("only %d cases", len(seen))
	}
}
