package text_test

import (
	"os/exec"
	"testing"

	"waymark/internal/text"
)

func TestShellWord(t *testing.T) {
	for _, word := range []string{"", "a/b_c-d.e", "sqlite:/a b", "it's", `"$HOME"`, "`x`", "~", "a\nb", "?a=b&c", "#", "!", "\\", "é", "-n"} {
		out, err := exec.Command("sh", "-c", "printf %s "+text.ShellWord("x"+word)).Output()
		if err != nil || string(out) != "x"+word {
			t.Errorf("%q is %q for a shell (%v)", word, out, err)
		}
	}
	if got := text.ShellWord("sqlite:/a/hub.db"); got != "sqlite:/a/hub.db" {
		t.Error(got)
	}
}
