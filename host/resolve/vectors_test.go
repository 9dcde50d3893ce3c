package resolve_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/sandbox/guesttest"
	"waymark/host/vfs"
	"waymark/snapshot"
	"waymark/test/built"
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
	host := sandbox.New(sandbox.Options{CacheDir: built.CodeCache()})
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
	resolver := resolve.Resolver{Module: guesttest.Module(m), Info: m.Description().Resolvers[0]}
	outcomes, err := resolve.New(resolve.Options{}).Resolve(t.Context(), []resolve.Resolver{resolver}, []resolve.Root{{FS: root}})
	if err != nil {
		t.Fatal(err)
	}
	return outcomes[0]
}

// TestFindings: of findings the order is the host's, and too many of them don't cost
// the row. What is withheld is hashed, and its text is nowhere.
func TestFindings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("# Text\u200b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	findings := strings.Repeat(`{"code":"a","severity":"info","message":"little"},`, 20) +
		`{"code":"b","severity":"later","message":"two\nlines"},{"code":"c","severity":"error","message":"much"}`
	o := resolveAnswer(t, sandbox.New(sandbox.Options{CacheDir: built.CodeCache()}), dir, `{"resources":[
		{"kind":"instruction_file","path":"AGENTS.md","content":{"file":"AGENTS.md"},"findings":[`+findings+`]},
		{"kind":"skill","path":"AGENTS.md","content":{"file":"AGENTS.md","withheld":true},"readers":["b","a","b"]}]}`)
	if o.Err != nil || len(o.Candidates) != 2 {
		t.Fatalf("%d candidates, %v", len(o.Candidates), o.Err)
	}
	list := o.Candidates[0].Findings
	var got []string
	for _, f := range list[:4] {
		got = append(got, f.Code+" "+string(f.Severity)+" "+f.Message)
	}
	want := "c error much|b warning two lines|invisible-characters warning contains 1 invisible characters|a info little"
	if strings.Join(got, "|") != want || len(list) != abi.MaxFindings {
		t.Errorf("%d findings, the first %s", len(list), strings.Join(got, "|"))
	}
	if len(o.Warnings) != 2 || o.Warnings[0] != "AGENTS.md: it has 22 findings; the first 16 are kept" {
		t.Errorf("warnings %q", o.Warnings)
	}
	held := o.Candidates[1]
	if held.Status != snapshot.StatusOK || held.Payload != nil || held.SizeBytes != 10 || !bytes.Equal(held.ContentHash, o.Candidates[0].ContentHash) {
		t.Errorf("withheld: %+v", held)
	}
	if strings.Join(held.Readers, " ") != "a b" {
		t.Errorf("readers %q", held.Readers)
	}
}
