package lazyregexp_test

import (
	"sync"
	"testing"

	"waymark/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	word := lazyregexp.New(`^[a-z]+$`)
	first := word()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if again := word(); again != first || !again.MatchString("abc") || again.MatchString("ab1") {
				t.Errorf("%v, want %v", again, first)
			}
		})
	}
	all.Wait()
}

// TestWrong: what is wrong with an expression is told where it is used.
func TestWrong(t *testing.T) {
	wrong := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wrong()
}
