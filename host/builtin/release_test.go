package builtin_test

import (
	"crypto/sha256"
	"fmt"
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

// TestDigest: it is that of the module.
func TestDigest(t *testing.T) {
	module, err := builtin.Module()
	if err != nil {
		if _, other := builtin.Digest(); other == nil || other.Error() != err.Error() {
			t.Errorf("got %v, want %v", other, err)
		}
		return
	}
	digest, err := builtin.Digest()
	if want := fmt.Sprintf("%x", sha256.Sum256(module)); err != nil || digest != want {
		t.Errorf("got %s, %v, want %s", digest, err, want)
	}
}
