package clients_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"waymark/agent/connect"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/test/built"
	"waymark/test/testenv"
)

func compared(t *testing.T, start string, home user) *codingagents.Comparison {
	t.Helper()
	var clients []*codingagents.Client
	for i := range codingagents.Clients {
		clients = append(clients, &codingagents.Clients[i])
	}
	c, err := host.CompareClients(context.WithoutCancel(t.Context()), host.Options{
		Builtin: module, Shared: &loaded, CacheDir: codeDir, KeyDir: keyDir, Home: home.dir,
	}, clients, start)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMends: in random trees, each change that is proposed helps those whom it is said to
// help, when it is made, and is taken back without a trace. In the long form the programs
// themselves are asked.
func TestMends(t *testing.T) {
	t.Parallel()
	seed, made := testenv.Seed(t), 0
	defer func() { t.Logf("%d changes were made", made) }()
	for i := range testenv.Rounds(3, 8, 100) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			tr, _ := randomMarked(seed + uint64(i)).marked()
			start, home := tr.place(t)
			c := compared(t, start, home)
			p := connect.ProjectIn(c.Project, filepath.Join(t.TempDir(), "state"))
			for i := range c.Differences {
				d := &c.Differences[i]
				for j := range d.Mends {
					m := &d.Mends[j]
					if err := p.Make(t.Context(), m); err != nil {
						if strings.Contains(err.Error(), "committed") {
							continue
						}
						t.Fatalf("%s: %v\n%s", m.Command, err, tr)
					}
					made++
					now := compared(t, start, home)
					for _, client := range m.Clients {
						if !sees(now, client, d) {
							t.Errorf("%s doesn't let %s see %s\n%s", m.Command, client, d.Name, tr)
						}
						if testenv.Long() {
							asked(t, client, d, start, home)
						}
					}
					if path, err := p.Undo(); err != nil || path == "" {
						t.Fatalf("%s: %q, %v", m.Command, path, err)
					}
				}
			}
			if again := compared(t, start, home); len(again.Differences) != len(c.Differences) || !reflect.DeepEqual(again.Rows, c.Rows) {
				t.Errorf("after all was taken back there are %d differences, not %d", len(again.Differences), len(c.Differences))
			}
		})
	}
}

// sees reports whether a coding agent sees what a difference is about.
func sees(c *codingagents.Comparison, client string, d *codingagents.Difference) bool {
	return slices.ContainsFunc(c.Rows, func(row codingagents.Row) bool {
		return row.Kind == d.Kind && slices.Contains(d.Paths, row.Path) && row.Seen[client].Included
	})
}

// asked asks the program itself.
func asked(t *testing.T, client string, d *codingagents.Difference, start string, home user) {
	t.Helper()
	for _, r := range runners {
		if r.id != client {
			continue
		}
		text, err := os.ReadFile(d.Paths[0])
		if err != nil {
			t.Fatal(err)
		}
		argv := r.command(t, built.NodeModules(t, filepath.Join("testdata", r.pinned)), home)
		home.env = append(append(slices.Clone(home.env), r.env...), modelScript+"=[]")
		var first string
		if r.prints {
			first = texts(run(t, home, "plain", start, argv...))
		} else {
			first, _ = requestsOf(t, run(t, home, "ask", start, argv...))
		}
		for _, mark := range marksOf(string(text)) {
			if !strings.Contains(first, mark) {
				t.Errorf("%s itself doesn't see %s", client, d.Name)
			}
		}
	}
}
