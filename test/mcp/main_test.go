package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"waymark/test/built"
	"waymark/test/e2e"
	"waymark/test/testenv"
)

// timeout ends what hangs; nothing is measured with it.
const timeout = 2 * time.Minute

// common is what the tests of this binary share.
var common shared

type shared struct {
	dir  string
	once sync.Once // builds

	programs e2e.Programs
	// servers is a directory with programs of servers, hostile that of package hostile.
	servers, hostile string
	err              error
}

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" { // of the conformance suite
		if err := runClient(context.Background(), os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var err error
	if common.dir, err = os.MkdirTemp("", "wm"); err == nil { // a short path, for sockets
		common.dir, err = filepath.EvalSymlinks(common.dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := testenv.RunParallel(m)
	_ = os.RemoveAll(common.dir)
	os.Exit(code)
}

// programs builds the programs, once.
func programs(t testing.TB) *shared {
	t.Helper()
	common.once.Do(func() { common.err = common.build() })
	if common.err != nil {
		t.Fatal(common.err)
	}
	return &common
}

// fromNPM is what npm installs of a package-lock.json. The short form needs nothing that
// isn't Go.
func fromNPM(t *testing.T, dir string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs npm")
	}
	return built.NodeModules(t, dir)
}

func (s *shared) build() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*timeout)
	defer cancel()
	if s.programs, err = e2e.Build(ctx, s.dir, testenv.Race && testenv.Long()); err != nil {
		return err
	}
	s.servers = filepath.Join(s.dir, "servers")
	s.hostile = filepath.Join(s.servers, "hostile")
	if err := os.Mkdir(s.servers, 0o700); err != nil {
		return err
	}
	return errors.Join(
		built.Programs(ctx, s.dir, false, "waymark/cmd/supervisor"),
		built.Programs(ctx, s.servers, false, "waymark/test/mcp/servers/mcpserver"),
		os.Link(filepath.Join(s.servers, "mcpserver"), s.hostile),
	)
}
