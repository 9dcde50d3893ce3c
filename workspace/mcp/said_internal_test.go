package mcp

import (
	"strings"
	"testing"

	"waymark/internal/text"
)

// TestSaidWithoutSecrets: wherever what is kept, or quoted, of a server's output is cut, no
// part of a secret stays at the cut.
func TestSaidWithoutSecrets(t *testing.T) {
	const secret = "s3cr3t-0123456789-abcdefghij"
	const part = 6 // letters that would be noticed
	hide := func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }
	for n := range 2 * len(secret) {
		for _, cut := range []int{maxSaid, maxKept - maxValue, maxKept} {
			var stderr tail
			_, _ = stderr.Write([]byte(secret + strings.Repeat("x", max(0, cut-n))))
			if said := stderr.said(hide); strings.Contains(said, secret[len(secret)-part:]) {
				t.Errorf("%d bytes behind it, standard error shows the end of a secret: %.40q", cut-n, said)
			}
			wrote := noise{head: text.Head{Max: maxKept}}
			wrote.add([]byte(strings.Repeat("x", max(0, cut-n)) + secret))
			if said := wrote.said(hide); strings.Contains(said, secret[:part]) {
				t.Errorf("behind %d bytes, noise shows the beginning of a secret: %.400q", cut-n, said)
			}
		}
	}
}
