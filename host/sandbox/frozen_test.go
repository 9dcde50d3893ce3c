package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

// frozenDir holds modules that were built once and must run in every host of
// ABI version 1.
const frozenDir = "../../abi/testdata/v1/modules"

// TestFrozenModules: what was built for version 1 loads, and gives the same
// result for ever.
func TestFrozenModules(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob(filepath.Join(frozenDir, "*", "module.wasm"))
	if err != nil || len(modules) < 5 {
		t.Fatalf("only %d modules in %s (%v)", len(modules), frozenDir, err)
	}
	h := newHost(t)
	for _, file := range modules {
		dir := filepath.Dir(file)
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			m := load(t, h, wasm, sandbox.Limits{Time: time.Minute})
			sameJSON(t, "the description", readFrozen(t, dir, "description.json"), m.Description())
			cases, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
			if err != nil || len(cases) == 0 {
				t.Fatalf("no cases (%v)", err)
			}
			for _, file := range cases {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runFrozen(t, m, file) })
			}
		})
	}
}

// TestFrozenFiles: nothing that is frozen has changed, and nothing has come
// without being listed.
func TestFrozenFiles(t *testing.T) {
	t.Parallel()
	sums := map[string]string{}
	for line := range strings.Lines(string(readFrozen(t, frozenDir, "SHA256SUMS"))) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("not a line of sha256sum: %q", line)
		}
		sums[name] = sum
	}
	files, err := filepath.Glob(filepath.Join(frozenDir, "*", "*"))
	if err != nil || len(files) != len(sums) {
		t.Errorf("%d files, %d are listed (%v)", len(files), len(sums), err)
	}
	for _, file := range files {
		name, err := filepath.Rel(frozenDir, file)
		if err != nil {
			t.Fatal(err)
		}
		data := readFrozen(t, frozenDir, name)
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sums[name] {
			t.Errorf("%s has changed: modules of ABI version 1 never do; undo it, or add another", name)
		}
		if filepath.Ext(name) == ".wasm" && len(data) > 50<<10 {
			t.Errorf("%s has %d bytes, more than 50 KiB", name, len(data))
		}
	}
}

func readFrozen(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runFrozen runs one case: tree and request in it lead to the response or the
// error, and to the log lines. A case with logs of a second run is run again,
// with what the first has left.
func runFrozen(t *testing.T, m *sandbox.Module, file string) {
	t.Helper()
	parts := map[string][]byte{}
	for _, f := range txtar.Parse(readFrozen(t, filepath.Dir(file), filepath.Base(file))).Files {
		parts[f.Name] = bytes.TrimSuffix(f.Data, []byte("\n"))
	}
	var request abi.Request
	if err := json.Unmarshal(parts["request.json"], &request); err != nil {
		t.Fatal(err)
	}
	root, err := vfs.OpenRoot(frozenTree(t, parts["tree"]), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	filter := frozenView(t, m, &request)
	var units *vfs.Units
	for _, suffix := range []string{"", "-again"} {
		logs, ok := parts["logs"+suffix]
		if !ok {
			if suffix == "" {
				t.Error("no part logs")
			}
			break
		}
		run := root.Begin(filter, vfs.Limits{})
		if units != nil {
			run.Recall(root.CheckUnits(filter, units).Units)
		}
		res, err := m.ResolveJSON(t.Context(), m.Description().Resolvers[0].Name, parts["request.json"], run)
		units = run.Units()
		_ = run.Close()
		compareFrozen(t, parts, res, err)
		var lines []string
		for _, l := range res.Logs {
			lines = append(lines, fmt.Sprintf("%s %s", l.Level, l.Text))
		}
		if got := strings.Join(lines, "\n"); got != string(logs) {
			t.Errorf("logs%s:\n%s\nwant:\n%s", suffix, got, logs)
		}
	}
}

func compareFrozen(t *testing.T, parts map[string][]byte, res *sandbox.Result, err error) {
	t.Helper()
	if want, fails := parts["error"]; fails {
		var run *sandbox.RunError
		if !errors.As(err, &run) || !errors.Is(err, sandbox.ErrGuest) || run.GuestText != string(want) {
			t.Errorf("error %v, want %s", err, want)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	sameJSON(t, "the response", parts["response.json"], res.Response)
}

// sameJSON compares what a module said with what it has to say, whatever the
// order of keys.
func sameJSON(t *testing.T, what string, want []byte, got any) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(want, &a), json.Unmarshal(text, &b)); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a) // sorted
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("%s is\n%s\nwant\n%s", what, y, x)
	}
}

// frozenTree makes the files of a case; "\n" in a line is a line break.
func frozenTree(t *testing.T, text []byte) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(string(text)) {
		line, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `"`, `\"`) + `"`)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return vfstest.Build(t, lines)
}

// frozenView is what the resolver of a request may see, as the host would have
// it.
func frozenView(t *testing.T, m *sandbox.Module, request *abi.Request) *vfs.Filter {
	t.Helper()
	var view vfs.View
	at := slices.IndexFunc(m.Description().Resolvers, func(r abi.Resolver) bool { return r.Name == request.Resolver })
	if at >= 0 {
		view.Reads = slices.Clone(m.Description().Resolvers[at].Reads)
	}
	var config map[string]any
	if err := json.Unmarshal(request.Config, &config); err != nil {
		t.Fatal(err)
	}
	if extra, ok := config["extra"].(string); ok {
		view.Reads = append(view.Reads, extra)
	}
	filter, err := view.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return filter
}
