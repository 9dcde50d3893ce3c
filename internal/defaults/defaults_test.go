package defaults_test

import (
	"testing"
	"time"

	"waymark/internal/defaults"
)

type options struct {
	Time  time.Duration
	Count int
	Name  string
	Call  func() int
	List  []string
	own   int
}

func TestOr(t *testing.T) {
	other := options{Time: time.Second, Count: 7, Name: "other", Call: func() int { return 7 }, List: []string{"x"}, own: 7}
	if got := defaults.Or(options{Count: -1}, other); got.Time != time.Second || got.Count != 7 || got.Name != "other" || got.Call() != 7 || len(got.List) != 1 || got.own != 0 {
		t.Errorf("nothing is said: %+v", got)
	}
	said := options{Time: time.Hour, Count: 1, Name: "own", Call: func() int { return 1 }, List: []string{}, own: 1}
	if got := defaults.Or(said, other); got.Time != time.Hour || got.Count != 1 || got.Name != "own" || got.Call() != 1 || len(got.List) != 0 || got.own != 1 {
		t.Errorf("all is said: %+v", got)
	}
}

func BenchmarkOr(b *testing.B) {
	for b.Loop() {
		defaults.Or(options{Count: 1}, options{Time: time.Second, Name: "other"})
	}
}
