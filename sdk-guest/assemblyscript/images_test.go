//go:build !wasip1

package assemblyscript_test

import (
	"runtime"
	"testing"

	"waymark/host/sandbox/guesttest"
)

// TestImages: what asc makes begins with an image, and does the same as without.
func TestImages(t *testing.T) {
	how := guesttest.Compare(t, probeWasm(t), guesttest.Options{})
	if how == nil || !how.Image && runtime.GOOS == "linux" {
		t.Errorf("got %+v", how)
	}
}
