package meter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/sandbox/meter"
)

// FuzzRewrite: whatever the bytes, an error, or a module that is valid if and
// only if the original is, and that does the same.
func FuzzRewrite(f *testing.F) {
	for _, code := range samples() {
		f.Add(code)
	}
	for _, code := range hostile() {
		if len(code) < 1000 {
			f.Add(code)
		}
	}
	for _, segments := range [][][]byte{{at(2, "bbbb"), at(0, "aaaa")}, {at(0, "a"), join(1, "b")}, {at(65535, "ab")}} {
		f.Add(withData(segments...))
	}
	f.Add(trapping(nameSection(0, "imported", 1, "caller", 2, "callee")))
	if code := kernel(); code != nil {
		f.Add(code)
	}
	limits := meter.Limits{MaxModule: 1 << 16, MaxBody: 4 << 10, MaxTableElements: 1 << 12, MaxEffort: 50_000, MaxFunctions: 200}
	f.Fuzz(func(t *testing.T, code []byte) {
		same(t, code, meter.Options{Wrap: wrapAll, Limits: limits})
		same(t, code, meter.Options{Wrap: wrapAll, Limits: limits, Guard: guardSome})
	})
}

// kernel is extism's own module, the smallest real one at hand; nil if the
// module cache doesn't have it.
func kernel() []byte {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		return nil
	}
	code, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "extism-runtime.wasm"))
	if err != nil {
		return nil
	}
	return code
}

func TestKernel(t *testing.T) {
	t.Parallel()
	code := kernel()
	if code == nil {
		t.Skip("not in the module cache")
	}
	if !same(t, code, meter.Options{}) {
		t.Error("was not run")
	}
}
