package why_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"waymark/host/why"
)

// ask is a question about a path in a tree, and its answer.
type ask struct {
	path   string // in the tree; $OUT is the directory next to it
	reason why.Reason
	found  bool
	id     string // relative to the tree
	detail string // what the detail holds, relative to the tree
}

// questions are asked about one world.
type questions struct {
	name string
	world
	asks []ask
}

// secret stands in trees for what may never get out.
const secret = "s3cr3t-t0ken"

func TestExplain(t *testing.T) {
	n := 0
	for _, q := range allQuestions() {
		n += len(q.asks)
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			dir, in := q.build(t)
			for _, a := range q.asks {
				a.check(t, dir, in)
			}
			if t.Failed() {
				t.Logf("in the context: %q", ids(in, dir))
			}
		})
	}
	if n < 60 {
		t.Errorf("only %d questions", n)
	}
}

func (a ask) check(t *testing.T, dir string, in why.Input) {
	t.Helper()
	path := a.path
	switch {
	case strings.HasPrefix(path, "$OUT"):
		path = filepath.Join(filepath.Dir(dir), "out") + strings.TrimPrefix(path, "$OUT")
	case !strings.HasPrefix(path, "/"):
		path = dir + "/" + path
	}
	got := why.Explain(in, path)
	detail := relative(got.Detail, dir)
	if got.Path != path || got.Reason != a.reason || got.Found != a.found || relative(got.ResourceID, dir) != a.id || !strings.Contains(detail, a.detail) {
		t.Errorf("%s:\n\tgot  %s %v %q %q\n\twant %s %v %q %q", a.path,
			got.Reason, got.Found, relative(got.ResourceID, dir), detail, a.reason, a.found, a.id, a.detail)
	}
	checkAnswer(t, in, got)
}

// checkAnswer holds an answer to what every answer must be.
func checkAnswer(t testing.TB, in why.Input, a why.Answer) {
	t.Helper()
	switch {
	case a.Reason == "" || a.Detail == "":
		t.Errorf("%.200q: no reason, or no detail: %+v", a.Path, a)
	case len(a.Detail) > 1000 || strings.ContainsFunc(a.Detail, func(r rune) bool { return !unicode.IsPrint(r) }):
		t.Errorf("%.200q: not one line for a person: %.2000q", a.Path, a.Detail)
	case strings.Contains(a.Detail, secret):
		t.Errorf("%.200q: the secret got out: %q", a.Path, a.Detail)
	case a.Found && a.Reason != why.ReasonFound && a.Reason != why.ReasonCollapsedInto, !a.Found && a.Reason == why.ReasonFound:
		t.Errorf("%.200q: found is %v, but %s", a.Path, a.Found, a.Reason)
	case a.Found && (in.Snapshot.Find(a.ResourceID) == nil || in.Snapshot.Find(a.ResourceID).Status != "ok"):
		t.Errorf("%.200q: found as %q, which is not in the snapshot", a.Path, a.ResourceID)
	}
}

// TestJSON: the form that the command and the local API show.
func TestJSON(t *testing.T) {
	data, err := json.Marshal(why.Answer{Path: "/a", Found: true, ResourceID: "i", Resolver: "m/r", Root: "/", Reason: why.ReasonFound, Detail: "d"})
	const want = `{"path":"/a","found":true,"resource_id":"i","resolver":"m/r","root":"/","reason":"found","detail":"d"}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}
