package extism_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"waymark/abi"
	"waymark/cmd/harness/internal/extism"
	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
)

const frozenDir = "../../../../abi/testdata/v1/modules"

// TestFrozen: the frozen modules of ABI version 1, which read the root in every
// way there is, say under the stock SDK what they have to say in every host.
func TestFrozen(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob(filepath.Join(frozenDir, "*", "module.wasm"))
	if err != nil || len(modules) < 5 {
		t.Fatalf("only %d modules in %s (%v)", len(modules), frozenDir, err)
	}
	for _, file := range modules {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			wasm := readFile(t, file)
			description := readFile(t, filepath.Join(filepath.Dir(file), "description.json"))
			files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.txtar"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no cases (%v)", err)
			}
			job, parts := extism.Job{Wasm: wasm}, []map[string]string{}
			for _, f := range files {
				p := map[string]string{}
				for _, f := range txtar.Parse(readFile(t, f)).Files {
					p[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
				}
				parts = append(parts, p)
				job.Questions = append(job.Questions, frozenQuestion(t, description, p))
			}
			answers, err := child.Run(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(anyJSON(t, description), anyJSON(t, answers[0].Output)); diff != "" {
				t.Errorf("describe (-want +got):\n%s", diff)
			}
			for i, a := range answers[1:] {
				compareFrozen(t, filepath.Base(files[i]), parts[i], &a)
			}
		})
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// frozenQuestion is a case of a module. As there is nobody to add an operator's
// paths to reads, they come from the request's config.
func frozenQuestion(t *testing.T, description []byte, parts map[string]string) extism.Question {
	t.Helper()
	var request abi.Request
	var d abi.Description
	if err := errors.Join(json.Unmarshal([]byte(parts["request.json"]), &request), json.Unmarshal(description, &d)); err != nil {
		t.Fatal(err)
	}
	var config struct{ Extra string }
	_ = json.Unmarshal(request.Config, &config) // another type is the module's to refuse
	var view vfs.View
	if at := slices.IndexFunc(d.Resolvers, func(r abi.Resolver) bool { return r.Name == request.Resolver }); at >= 0 {
		view.Reads = d.Resolvers[at].Reads
	}
	if config.Extra != "" {
		view.Reads = append(view.Reads, config.Extra)
	}
	var lines []string
	for line := range strings.Lines(parts["tree"]) {
		line, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `"`, `\"`) + `"`)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return extism.Question{Root: vfstest.Build(t, lines), View: view, Input: []byte(parts["request.json"])}
}

func compareFrozen(t *testing.T, name string, want map[string]string, a *extism.Answer) {
	t.Helper()
	var logs []string
	for _, l := range a.Logs {
		logs = append(logs, l.Level+" "+strings.TrimSpace(string(l.Text)))
	}
	if diff := cmp.Diff(strings.Split(want["logs"], "\n"), strings.Split(strings.Join(logs, "\n"), "\n")); diff != "" {
		t.Errorf("%s: logs (-want +got):\n%s", name, diff)
	}
	if text, fails := want["error"]; fails || a.Failed {
		if string(a.Error) != text || a.Crash != "" {
			t.Errorf("%s: error %q, %s, want %q", name, a.Error, a.Crash, text)
		}
		return
	}
	var r abi.Response // what a host understands of it
	if err := json.Unmarshal(a.Output, &r); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anyJSON(t, []byte(want["response.json"])), anyJSON(t, got)); diff != "" {
		t.Errorf("%s: response (-want +got):\n%s", name, diff)
	}
}

func anyJSON(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %.200q", err, data)
	}
	return v
}
