package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"waymark/test/hostile"
)

func TestHostile(t *testing.T) {
	var out, progress bytes.Buffer
	err := runHostile(t.Context(), []string{"-run", "^answers/(null|cut)$", "-count", "1", "-json"}, &out, &progress)
	if err != nil && !errors.Is(err, errBad) {
		t.Fatal(err)
	}
	var list []hostile.Summary
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list) != 2 || list[0].Outcome != hostile.Answer || list[0].Case != "answers/cut" {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, s := range list {
		if s.OK != (len(s.Wrong) == 0) || !s.OK && err == nil {
			t.Errorf("%v: %+v", err, s)
		}
		for _, wrong := range s.Wrong { // a busy machine makes it slow
			if !regexp.MustCompile(`^(it|a garbage collection elsewhere) took `).MatchString(wrong) {
				t.Errorf("%s: %s", s.Case, wrong)
			}
		}
	}
	if !strings.Contains(progress.String(), "answers/null") {
		t.Errorf("progress %q", progress.String())
	}
	out.Reset()
	if err := runHostile(t.Context(), []string{"-run", "nothing at all"}, &out, &progress); err != nil || !strings.Contains(out.String(), "0 cases") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := runHostile(t.Context(), []string{"-run", "("}, &out, &progress); err == nil || errors.Is(err, errBad) {
		t.Errorf("a bad pattern: %v", err)
	}
}
