package text_test

import (
	"testing"

	"waymark/internal/text"
)

// TestNatural: the list is in order, so each comes before all that follow it.
func TestNatural(t *testing.T) {
	t.Parallel()
	list := []string{"", "a", "a01", "a1", "a1b", "a2", "a10", "a10b2", "a10b11", "ab", "s-2", "s-10", "s-99999999999999999999", "s-100000000000000000000", "sa", "é"}
	for i, a := range list {
		for j, b := range list {
			if got := text.Natural(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q, %q: %d", a, b, got)
			}
			if x, y := text.NaturalKey(a), text.NaturalKey(b); i < j && x >= y && (a != "a01" || b != "a1") {
				t.Errorf("keys of %q, %q: %q, %q", a, b, x, y)
			}
		}
	}
}
