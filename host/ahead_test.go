package host_test

import (
	"bytes"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"waymark/host"
	"waymark/host/config"
	"waymark/host/sandbox"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestAhead: under the configuration that an agent has by default, the image that a
// build makes of the built-in module is the one that its instances begin with.
func TestAhead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	if testenv.Race && !testenv.Long() {
		t.Skip("compiles for a minute")
	}
	wasm := builtin(t)
	var native bytes.Buffer
	if err := sandbox.Ahead(t.Context(), &native, wasm); err != nil {
		t.Fatal(err)
	}
	dir := vfstest.Build(t, []string{"AGENTS.md = one"})
	for name, logs := range map[string]config.Bytes{"default": 0, "other logs": 1000} {
		var said logBuffer
		c := config.Default()
		if logs != 0 {
			c.Limits.Logs = logs
		}
		opts := host.Options{
			Builtin: module(wasm), BuiltinNative: func() io.ReaderAt { return bytes.NewReader(native.Bytes()) },
			Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		opts.Configure(c)
		opts.Roots = []host.RootSpec{{Path: dir}}
		if got := refresh(t, newHost(t, opts)).Snapshot; len(got.Resources) != 1 {
			t.Errorf("%s: %d resources", name, len(got.Resources))
		}
		if other := strings.Contains(said.String(), "the image made ahead of time"); other != (logs != 0) {
			t.Errorf("%s: it says %s", name, said.String())
		}
	}
}
