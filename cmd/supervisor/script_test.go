package main

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the command under test: it is supervisor when it
// is called so, and when it starts itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"supervisor": main})
}

func TestUsageWraps(t *testing.T) {
	for line := range strings.Lines(usage) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(env *testscript.Env) error {
		dir, err := os.MkdirTemp("", "wm") // a short path, for the socket
		env.Defer(func() { _ = os.RemoveAll(dir) })
		env.Setenv("SHORT", dir)
		return err
	}})
}
