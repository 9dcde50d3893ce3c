package hostile_test

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"waymark/internal/guestbuild"
	"waymark/internal/hostile"
)

func TestMain(m *testing.M) {
	hostile.Child()
	os.Exit(m.Run())
}

// TestCorpus: every case comes out as stated. Times are for `make hostile`;
// here a case that takes ten times as long as it may counts as hung.
func TestCorpus(t *testing.T) {
	builtin, err := guestbuild.Build(context.Background(), "waymark/plugins/builtin")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := hostile.NewPool(hostile.PoolOptions{Builtin: builtin, Rounds: 20, Grace: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range hostile.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			res, err := pool.Run(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range res.Wrong {
				t.Errorf("%s (outcome %s: %s)", wrong, res.Outcome, res.Error)
			}
		})
	}
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
