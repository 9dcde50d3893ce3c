//go:build !wasip1

package c_test

import (
	"runtime"
	"testing"

	"waymark/host/sandbox/guesttest"
)

// TestImages: what clang makes begins with an image, and does the same as without.
func TestImages(t *testing.T) {
	wasm, err := module()
	need(t, err)
	how := guesttest.Compare(t, wasm, guesttest.Options{})
	if how == nil || !how.Image && runtime.GOOS == "linux" {
		t.Errorf("got %+v", how)
	}
}
