package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"waymark/test/e2e"
	"waymark/test/testenv"
)

// timeout ends a test that hangs; nothing is measured with it.
const timeout = 2 * time.Minute

// common is what the tests of this binary share.
var common setup

type setup struct {
	dir  string
	once sync.Once // builds

	programs e2e.Programs
	err      error

	turn  sync.Mutex // guards the home below: one clean resolve at a time
	clean e2e.Home
}

func TestMain(m *testing.M) {
	var err error
	if common.dir, err = os.MkdirTemp("", "wm"); err != nil { // a short path, for sockets
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(common.dir)
	os.Exit(code)
}

// built builds the programs, once.
func built(t *testing.T) *setup {
	t.Helper()
	common.once.Do(func() { common.err = common.build() })
	if common.err != nil {
		t.Fatal(common.err)
	}
	return &common
}

func (s *setup) build() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*timeout)
	defer cancel()
	if s.programs, err = e2e.Build(ctx, s.dir, testenv.Race && testenv.Long()); err != nil {
		return err
	}
	if s.clean, err = e2e.NewHome(filepath.Join(s.dir, "clean")); err != nil {
		return err
	}
	return s.clean.Configure(patientRuns)
}
