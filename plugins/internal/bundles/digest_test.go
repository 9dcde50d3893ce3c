package bundles_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"waymark/plugins/internal/bundles"
	"waymark/test/testenv"
)

func TestHex(t *testing.T) {
	r := testenv.Rand(t)
	check := func(text []byte) {
		t.Helper()
		want := sha256.Sum256(text)
		if got := bundles.Digest(text); got != hex.EncodeToString(want[:]) {
			t.Fatalf("%q: %s, want %x", text, got, want)
		}
	}
	for n := range 300 {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(r.IntN(256))
		}
		check(text)
	}
	check([]byte(strings.Repeat("waymark ", 100_000)))
}
