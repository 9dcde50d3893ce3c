package authors_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestOwner is the walk of one who has a repository and a coding agent: from connecting it
// until nothing is left, with the commands of the README and docs/chats.md.
func TestOwner(t *testing.T) {
	h := newHome(t)
	testscript.Run(t, testscript.Params{
		Files: []string{filepath.Join("testdata", "owner.txtar")},
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, h.env...)
			env.Defer(func() {
				stop := h.command(t.Context(), filepath.Join(env.WorkDir, "shop"), "agent", "stop")
				_ = stop.Run() // an agent that the script hasn't come to stop
			})
			return nil
		},
	})
}
