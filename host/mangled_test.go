package host_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/host"
	"waymark/test/testenv"
	"waymark/test/workspaces"
)

// TestMangled: the built-in module's parsers, in the sandbox, get through whatever the
// files of five agents become: no run fails, and nothing of what settings hold gets out.
func TestMangled(t *testing.T) {
	noLeaks(t)
	r := testenv.Rand(t)
	dir, logs := t.TempDir(), &logBuffer{}
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Roots: []host.RootSpec{{Path: dir}}, Logger: debugLogger(logs)})
	resources := 0
	for round := range testenv.Rounds(5, 60, 3000) {
		w, err := workspaces.Load(workspaces.FiveAgents)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Files {
			w.Files[i].Data = mangled(r, w.Files[i].Data)
		}
		if err := w.Write(dir); err != nil {
			t.Fatal(err)
		}
		report := refresh(t, h)
		for i := range report.Outcomes {
			if o := &report.Outcomes[i]; o.Err != nil {
				t.Fatalf("round %d: %s: %v", round, o.Resolver, o.Err)
			}
		}
		resources += len(report.Snapshot.Resources)
		shown, err := json.Marshal(report.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		for i := range report.Snapshot.Resources {
			shown = append(shown, report.Snapshot.Resources[i].Payload...)
		}
		if bytes.Contains(shown, []byte(workspaces.Token)) || strings.Contains(logs.String(), workspaces.Token) {
			t.Fatalf("round %d: a token is in the snapshot or the log", round)
		}
	}
	if resources == 0 {
		t.Error("nothing was ever found")
	}
}

// bits are what the formats of the files are made of.
var bits = []string{
	"{", "}", "[", "]", "[[", "\"", "\"\"\"", "'''", ":", ": ", "- ", "\n---\n", "---", "&a ", "*a", "<<: *a", "|\n", ">-\n", "#", "//", "/*", "=", ",", "\\u", "\\ud800",
	"\x00", "\xff", "\ufeff", "\u202e", "\r", "\t", "!!binary ", "? ", "%YAML 1.1\n", "@a.md ", "```\n", "<!--", "null", "-1e999", "9223372036854775808",
}

// mangled changes a text in some places. Half of the texts stay as they are.
func mangled(r *rand.Rand, text []byte) []byte {
	if r.IntN(2) == 0 {
		return text
	}
	text = bytes.Clone(text)
	for range 1 + r.IntN(6) {
		at := r.IntN(len(text) + 1)
		switch r.IntN(5) {
		case 0: // put something in
			text = insert(text, at, []byte(strings.Repeat(bits[r.IntN(len(bits))], 1<<r.IntN(10))))
		case 1:
			text = insert(text, at, []byte(bits[r.IntN(len(bits))]))
		case 2: // leave something out
			text = append(text[:at:at], text[min(at+1+r.IntN(8), len(text)):]...)
		case 3: // say a part of it again
			text = insert(text, at, bytes.Clone(text[at:min(at+r.IntN(60), len(text))]))
		default:
			text = text[:at:at]
		}
	}
	return text
}

func insert(text []byte, at int, part []byte) []byte {
	return append(append(text[:at:at], part...), text[at:]...)
}
