package text_test

import (
	"strings"
	"testing"

	"waymark/internal/text"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"resolve", "resync", "run", "snapshot", "sources", "status", "version"}
	for word, want := range map[string]string{
		"resolv": "resolve", "snapshto": "snapshot", "STATUS": "status", "rn": "run", "ru": "run",
		"ver": "version", "snap": "snapshot",
		"s": "", "re": "", "": "", "x": "", "xy": "", "nonsense": "", "run": "run",
		strings.Repeat("r", 100): "",
	} {
		if got := text.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := text.Nearest("tmie", []string{"fuel", "time"}); got != "time" {
		t.Errorf("tmie: %q", got)
	}
}
