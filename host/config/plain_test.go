package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waymark/host/config"
	"waymark/internal/errtext"
	"waymark/test/goisms"
)

// TestPlainErrors gives every key of the annotated configuration a value of
// every type: what is said of the wrong ones is for people.
func TestPlainErrors(t *testing.T) {
	text, err := os.ReadFile("../../plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	section, keys := "", 0
	header, key := regexp.MustCompile(`^#?\s*(\[+[a-z._-]+\]+)`), regexp.MustCompile(`^#?\s*([a-z_]+)\s*=\s`)
	path := filepath.Join(t.TempDir(), "plugin.toml")
	for line := range strings.Lines(string(text)) {
		if m := header.FindStringSubmatch(line); m != nil {
			section = m[1]
		}
		m := key.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		keys++
		for _, value := range []string{
			"3", "-1", "9223372036854775808", "1.5", `"x"`, `""`, "true", "[]", "[3]", `["x", 3]`, "{}", "{ x = 1 }", "1979-05-27T07:32:00Z", "", "'", `"\uD800"`, "nonsense",
		} {
			content := fmt.Sprintf("%s\n%s = %s\n", section, m[1], value)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load(path)
			if found := goisms.Find(errtext.Of(err)); found != "" {
				t.Errorf("%q says %q: %s", content, found, errtext.Of(err))
			}
		}
	}
	if keys < 20 {
		t.Errorf("only %d keys were found", keys)
	}
}
