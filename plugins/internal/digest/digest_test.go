package digest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"waymark/plugins/internal/digest"
	"waymark/test/randtest"
)

func TestHex(t *testing.T) {
	r := randtest.Rand(t)
	check := func(text []byte) {
		t.Helper()
		want := sha256.Sum256(text)
		if got := digest.Hex(text); got != hex.EncodeToString(want[:]) {
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
