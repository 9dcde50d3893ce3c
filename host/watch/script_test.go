package watch_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/host/watch"
)

var update = flag.Bool("update", false, "write what comes out into the scripts")

// TestScripts runs the scripts of testdata over the real notifier. Each line
// is one or more operations, separated by semicolons; below "Output:" stands
// each line with the owners who were woken to look again.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, want, found := strings.Cut(string(text), "\nOutput:\n")
			if !found && !*update {
				t.Fatal("the script has no Output: block")
			}
			got := runScript(t, script)
			if *update {
				if err := os.WriteFile(file, []byte(strings.TrimRight(script, "\n")+"\n\nOutput:\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got, -update accepts):\n%s", diff)
			}
		})
	}
}

func runScript(t *testing.T, script string) string {
	t.Helper()
	r := newLive(t, watch.Options{Quiet: time.Millisecond})
	var out strings.Builder
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		for _, op := range strings.Split(line, ";") {
			fields := strings.Fields(op)
			if err := r.do(fields[0], fields[1:]); err != nil {
				t.Fatalf("%s: %v", op, err)
			}
		}
		woken := strings.Join(r.settled(), " ")
		if woken == "" {
			woken = "nobody"
		}
		out.WriteString("\t" + line + strings.Repeat(" ", max(1, 60-len(line))) + woken + "\n")
	}
	return out.String()
}
