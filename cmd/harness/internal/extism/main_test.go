package extism_test

import (
	"os"
	"testing"

	"waymark/cmd/harness/internal/extism"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/test/built"
)

var (
	program *reexec.Program
	// child runs modules in processes of their own.
	child *extism.Child
	// ours is the host that the stock SDK is compared with.
	ours *sandbox.Host
)

func TestMain(m *testing.M) {
	program = reexec.Main(extism.Role())
	child = extism.NewChild(program)
	ours = sandbox.New(sandbox.Options{CacheDir: built.CodeCache()})
	os.Exit(m.Run())
}
