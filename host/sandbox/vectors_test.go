package sandbox_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// vectors returns the documents of one folder of the ABI's vectors.
func vectors(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../abi/testdata/v1/" + folder + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s (%v)", folder, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// invalidVectors returns those whose outcome is the given one.
func invalidVectors(t *testing.T, folder, outcome string) map[string]string {
	t.Helper()
	texts := vectors(t, folder+"/invalid")
	var index map[string]struct{ Outcome string }
	if err := json.Unmarshal([]byte(texts["index.json"]), &index); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for name, entry := range index {
		if entry.Outcome == outcome {
			found[name] = texts[name]
		}
	}
	if len(found) == 0 {
		t.Fatalf("no vector of %s is %s", folder, outcome)
	}
	return found
}

// TestDescriptionVectors holds the host to the vectors that the SDK is held
// to as well.
func TestDescriptionVectors(t *testing.T) {
	h := newHost(t)
	for name, text := range vectors(t, "description") {
		if m, err := h.Load(t.Context(), describing(text).Bytes(), sandbox.Limits{Time: time.Minute}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, text := range invalidVectors(t, "description", "module_rejected") {
		_, err := h.Load(t.Context(), describing(text).Bytes(), sandbox.Limits{Time: time.Minute})
		if !errors.Is(err, sandbox.ErrRejected) {
			t.Errorf("%s: error %v, want %v", name, err, sandbox.ErrRejected)
		}
	}
}

func TestResponseVectors(t *testing.T) {
	h := newHost(t)
	resolve := func(text string) (*sandbox.Result, error) {
		f := good()
		f.Resolve = text
		m := load(t, h, f.Bytes(), sandbox.Limits{})
		return m.Resolve(t.Context(), &abi.Request{ABI: 1, Resolver: "r"}, openRun(t, t.TempDir(), vfs.Limits{}))
	}
	for name, text := range vectors(t, "response") {
		res, err := resolve(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want struct{ Resources []any }
		if err := json.Unmarshal([]byte(text), &want); err != nil || len(res.Response.Resources) != len(want.Resources) {
			t.Errorf("%s: %d resources, want %d (%v)", name, len(res.Response.Resources), len(want.Resources), err)
		}
	}
	for name, text := range invalidVectors(t, "response", "run_fails") {
		if _, err := resolve(text); !errors.Is(err, sandbox.ErrAnswer) {
			t.Errorf("%s: error %v, want %v", name, err, sandbox.ErrAnswer)
		}
	}
}
