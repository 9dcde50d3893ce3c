package builtin_test

import (
	"testing"

	"waymark/host/builtin"
)

// TestRelease: what was embedded is the same afterwards.
func TestRelease(t *testing.T) {
	before, err := builtin.Module()
	if err != nil {
		t.Skipf("SKIPPED: nothing is embedded before make has built it: %v", err)
	}
	builtin.Release()
	after, err := builtin.Module()
	if err != nil || string(after) != string(before) {
		t.Errorf("%d bytes before, %d after, %v", len(before), len(after), err)
	}
}
