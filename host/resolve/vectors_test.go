package resolve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/resolve"
	"waymark/host/resolve/resolvetest"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/wasmtest"
)

// TestRowVectors: in each of these responses the first row is bad and the
// second good; the bad one alone is dropped, and said.
func TestRowVectors(t *testing.T) {
	const folder = "../../abi/testdata/v1/response/invalid/"
	text, err := os.ReadFile(folder + "index.json")
	if err != nil {
		t.Fatal(err)
	}
	var index map[string]struct{ Outcome string }
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"AGENTS.md", "x.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# Text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := sandbox.New(sandbox.Options{})
	tried := 0
	for name, entry := range index {
		if entry.Outcome != "row_dropped" {
			continue
		}
		tried++
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) {
			answer, err := os.ReadFile(folder + name)
			if err != nil {
				t.Fatal(err)
			}
			o := resolveAnswer(t, host, dir, string(answer))
			if o.Err != nil || len(o.Candidates) != 1 || filepath.Base(o.Candidates[0].Source) != "AGENTS.md" {
				t.Errorf("candidates %+v, error %v", o.Candidates, o.Err)
			}
			if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], "dropped ") {
				t.Errorf("warnings %q", o.Warnings)
			}
		})
	}
	if tried == 0 {
		t.Error("no vectors found")
	}
}

// resolveAnswer runs a resolver that gives a fixed answer.
func resolveAnswer(t *testing.T, host *sandbox.Host, dir, answer string) resolve.Outcome {
	t.Helper()
	m, err := host.Load(t.Context(), wasmtest.File{
		Describe: `{"abi":1,"name":"m","version":"1","resolvers":[{"name":"r","kinds":["instruction_file","skill"],"reads":["**"]}]}`,
		Resolve:  answer,
	}.Bytes(), sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(); _ = root.Close() })
	resolver := resolve.Resolver{Module: resolvetest.Module(m), Info: m.Description().Resolvers[0]}
	outcomes, err := resolve.New(resolve.Options{}).Resolve(t.Context(), []resolve.Resolver{resolver}, []resolve.Root{{FS: root}})
	if err != nil {
		t.Fatal(err)
	}
	return outcomes[0]
}
