package files_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/files"
)

var codes = []int{200, 400, 403, 404, 409, 413}

// FuzzPath reads and writes whatever path below a workspace that may not be left,
// and reads it as it is: nothing outside changes, and nothing goes wrong inside of
// the agent.
func FuzzPath(f *testing.F) {
	for _, c := range readCases {
		f.Add(c.path)
	}
	f.Add("/proc/self/mem")
	// One workspace for all: what has been written in it changes nothing of this.
	s := serve(f, tree, func(o *files.Options) { o.Within = true })
	before := snapshotOf(f, s.out)
	f.Fuzz(func(t *testing.T, path string) {
		path = s.at(path)
		for _, p := range []string{path, s.root + "/" + path} {
			code, body := s.read(t, p)
			if !slices.Contains(codes, code) || strings.Contains(body, "TOKEN") || strings.Contains(body, "outside") && code == 200 {
				t.Errorf("reading %q: %d %q", p, code, body)
			}
			if code, body := s.write(t, p, "x"); !slices.Contains(codes, code) {
				t.Errorf("writing %q: %d %q", p, code, body)
			}
			if code, body := s.edit(t, "x", "y", p); !slices.Contains(codes, code) {
				t.Errorf("editing %q: %d %q", p, code, body)
			}
		}
		compareSnapshots(t, path, snapshotOf(t, s.out), before)
		for _, secret := range []string{".env", ".git/config", "key.pem"} {
			if got := content(t, s.in(secret)); got != "TOKEN" {
				t.Errorf("%q: %s is %q", path, secret, got)
			}
		}
		if info, err := os.Lstat(s.in("out")); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%q: the link is gone", path)
		}
	})
}

// FuzzBody sends whatever body, in a workspace that may not be left.
func FuzzBody(f *testing.F) {
	f.Add(`{"files":[{"path":"$ROOT/a.txt","edits":[{"search":"hello","replace":"x"}]}],"include_diff":true}`)
	f.Add(`{"files":[{"path":"$ROOT/.env","edits":[{"search":"T","replace":"x","replace_all":true}]}]}`)
	f.Add(`{"path":["$ROOT"],"relativity":"root"}`)
	f.Add(`{"path":[".."],"relativity":"home"}`)
	s := serve(f, tree, func(o *files.Options) { o.Within = true })
	before := snapshotOf(f, s.out)
	f.Fuzz(func(t *testing.T, body string) {
		for _, route := range []string{agentapi.PathEditFiles, agentapi.PathListDirectory} {
			r := s.request(t, http.MethodPost, route, strings.NewReader(s.at(body)))
			code, _, got := s.send(t, r)
			if !slices.Contains(codes, code) || strings.Contains(got, "TOKEN") {
				t.Errorf("%s: %d %q", route, code, got)
			}
		}
		compareSnapshots(t, "outside", snapshotOf(t, s.out), before)
		if got := content(t, s.in(".env")); got != "TOKEN" {
			t.Errorf("the secret is %q", got)
		}
	})
}
