package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"waymark/test/e2e"
	"waymark/test/testenv"
)

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
	if len(os.Args) == 2 && os.Args[1] == serverArg {
		if err := serve(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var err error
	if common.dir, err = os.MkdirTemp("", "wm"); err != nil { // a short path, for sockets
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(common.dir)
	os.Exit(code)
}

// ready builds the programs, once.
func ready(t *testing.T) *setup {
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
