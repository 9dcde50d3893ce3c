package text_test

import (
	"sync"
	"testing"

	"waymark/internal/text"
)

func TestNew(t *testing.T) {
	word := text.Lazy(`^[a-z]+$`)
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
	wrong := text.Lazy(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wrong()
}
