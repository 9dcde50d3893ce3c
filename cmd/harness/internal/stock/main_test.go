package stock_test

import (
	"os"
	"testing"

	"waymark/cmd/harness/internal/stock"
	"waymark/host/sandbox"
)

var (
	// child runs modules in processes of their own.
	child *stock.Child
	// ours is the host that the stock SDK is compared with.
	ours *sandbox.Host
)

func TestMain(m *testing.M) {
	child = stock.MaybeRun()
	ours = sandbox.New(sandbox.Options{Spares: 1})
	os.Exit(m.Run())
}
