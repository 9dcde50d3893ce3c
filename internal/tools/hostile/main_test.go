package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"waymark/internal/hostile"
)

func TestMain(m *testing.M) {
	hostile.Child()
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-run", "^answers/(null|cut)$", "-count", "1", "-json"}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	var list []hostile.Summary
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list) != 2 || !list[0].OK || list[0].Case != "answers/cut" {
		t.Errorf("%v: %s", err, out.String())
	}
	if !strings.Contains(progress.String(), "answers/null") {
		t.Errorf("progress %q", progress.String())
	}
	out.Reset()
	if err := run(t.Context(), []string{"-run", "nothing at all"}, &out, &progress); err != nil || !strings.Contains(out.String(), "0 cases") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := run(t.Context(), []string{"-run", "("}, &out, &progress); err == nil || errors.Is(err, errBad) {
		t.Errorf("a bad pattern: %v", err)
	}
}
