//go:build !wasip1

package assemblyscript_test

import (
	"runtime"
	"testing"

	"waymark/host/sandbox/imagetest"
	"waymark/test/built"
)

// TestImages: what asc makes begins with an image, and does the same as without.
func TestImages(t *testing.T) {
	wasm, err := probeWasm()
	built.Need(t, err)
	how := imagetest.Compare(t, wasm, imagetest.Options{})
	if how == nil || !how.Image && runtime.GOOS == "linux" {
		t.Errorf("got %+v", how)
	}
}
