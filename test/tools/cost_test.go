//go:build linux

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// TestOurBudgets: the tables that CI prints have budgets.
func TestOurBudgets(t *testing.T) {
	for _, column := range []string{"short", "all"} {
		allowed, err := budgets("../../CONTRIBUTING.md", column)
		if err != nil {
			t.Fatal(err)
		}
		for _, pkg := range []string{"cmd/agent", "internal/no-such-package"} {
			if seconds, ok := allowed(pkg); !ok || seconds <= 0 {
				t.Errorf("%s: the budget of %s is %g", column, pkg, seconds)
			}
		}
	}
}
