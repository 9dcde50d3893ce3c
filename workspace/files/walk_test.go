package files_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/access"
	"waymark/workspace/files"
)

// ignoring is what tree has, and ignored files.
var ignoring = append([]string{
	".gitignore = *.log\n", "sub/.gitignore = !keep.log\n", ".git/info/exclude = /excluded\n", "excluded = hello", "x.log = hello", "sub/x.log = hello", "sub/keep.log = hello",
	"inner/.git/HEAD = x", "inner/y.log = hello", "inner/.gitignore = z\n", "inner/z = hello", "big # 40000000", "bin = \x00hello", "sub/c.txt = hello you", ".github/ci.yml = hello",
}, tree...)

// find returns what find-files finds.
func (s *server) find(t *testing.T, ask agentapi.FindFiles) (code int, got string) {
	t.Helper()
	code, body := s.post(t, agentapi.PathFindFiles, ask)
	var found agentapi.FoundFiles
	if code != 200 {
		return code, body
	}
	decode(t, body, &found)
	return code, strings.Join(found.Files, " ")
}

// search returns the lines that search-files finds.
func (s *server) search(t *testing.T, ask agentapi.SearchFiles) (code int, got string, all agentapi.SearchedFiles) {
	t.Helper()
	code, body := s.post(t, agentapi.PathSearchFiles, ask)
	if code != 200 {
		return code, body, all
	}
	decode(t, body, &all)
	var list []string
	for _, f := range all.Files {
		list = append(list, f.Path+"|"+f.Text)
	}
	return code, strings.Join(list, ""), all
}

// TestFindFiles: which files there are for a caller, and which are ignored.
func TestFindFiles(t *testing.T) {
	s := serve(t, ignoring)
	outside(t, s)
	for _, c := range []struct {
		ask  agentapi.FindFiles
		code int
		want string
	}{
		{agentapi.FindFiles{Query: "*.txt"}, 200, "a.txt sub/c.txt"},
		{agentapi.FindFiles{Query: "*.log"}, 200, "inner/y.log sub/keep.log"},
		{agentapi.FindFiles{Query: "*.log", Ignored: true}, 200, "x.log sub/x.log inner/y.log sub/keep.log"},
		{agentapi.FindFiles{Query: "excluded"}, 200, ""},
		{agentapi.FindFiles{Query: "excluded", Ignored: true}, 200, "excluded"},
		{agentapi.FindFiles{Query: "z"}, 200, ""},
		{agentapi.FindFiles{Query: "z", Path: "$ROOT/inner", Ignored: true}, 200, "z"},
		{agentapi.FindFiles{Query: "*", Path: "$ROOT/sub"}, 200, "b.go c.txt keep.log .gitignore"},
		{agentapi.FindFiles{Query: "*", Path: "$ROOT/deep"}, 200, "b.go c.txt keep.log .gitignore"}, // by a link
		{agentapi.FindFiles{Query: "*", Path: "$ROOT/sub", Limit: 1}, 200, "b.go"},
		{agentapi.FindFiles{Query: "ci"}, 200, ".github/ci.yml"},
		// What can't be read isn't found: secrets, links, special files.
		{agentapi.FindFiles{Query: "env"}, 200, ""}, {agentapi.FindFiles{Query: "config", Ignored: true}, 200, ""}, {agentapi.FindFiles{Query: "HEAD", Ignored: true}, 200, ""},
		{agentapi.FindFiles{Query: "link"}, 200, ""}, {agentapi.FindFiles{Query: "pipe"}, 200, ""}, {agentapi.FindFiles{Query: "key"}, 200, "hardkey"},
		{agentapi.FindFiles{Query: "token", Path: "$OUT"}, 200, ""}, {agentapi.FindFiles{Query: "plain", Path: "$OUT"}, 200, "plain"}, {agentapi.FindFiles{Query: "id", Path: "$OUT"}, 200, ""},
		{agentapi.FindFiles{Query: "x", Path: "$OUT/agent"}, 403, "agent's own"}, {agentapi.FindFiles{Query: "x", Path: "$ROOT/.git"}, 403, "secret list"},
		{agentapi.FindFiles{Query: "x", Path: "$ROOT/outdir"}, 403, "leads out"}, {agentapi.FindFiles{Query: "x", Path: "/proc/self"}, 403, "kernel"},
		{agentapi.FindFiles{Query: "x", Path: "$ROOT/none"}, 404, "no such"}, {agentapi.FindFiles{Query: "x", Path: "$ROOT/a.txt"}, 400, "not a directory"},
		{agentapi.FindFiles{Query: "x", Path: "sub"}, 400, "absolute"}, {agentapi.FindFiles{}, 400, "query"}, {agentapi.FindFiles{Query: "[a"}, 400, "glob"}, {agentapi.FindFiles{Query: "a", Limit: 201}, 400, "limit"},
	} {
		c.ask.Path = s.at(c.ask.Path)
		if code, got := s.find(t, c.ask); code != c.code || code == 200 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %d %s, want %d %s", c.ask, code, got, c.code, c.want)
		}
	}
}

// TestSearchFiles: lines of files that the caller may read, and no others.
func TestSearchFiles(t *testing.T) {
	s := serve(t, append([]string{"sub/n.txt = one\ntwo\nthree"}, ignoring...))
	outside(t, s)
	for _, c := range []struct {
		ask  agentapi.SearchFiles
		code int
		want string
	}{
		{agentapi.SearchFiles{Pattern: "hello"}, 200, ".github/ci.yml|1:hello\na.txt|1:hello\ninner/y.log|1:hello\nsub/c.txt|1:hello you\nsub/keep.log|1:hello\ntwin|1:hello\n"},
		{agentapi.SearchFiles{Pattern: "HELLO", IgnoreCase: true, Glob: "*.txt"}, 200, "a.txt|1:hello\nsub/c.txt|1:hello you\n"},
		{agentapi.SearchFiles{Pattern: `^h\w+o$`, Regexp: true, Path: "$ROOT/sub", Ignored: true}, 200, "keep.log|1:hello\nx.log|1:hello\n"},
		{agentapi.SearchFiles{Pattern: "two", Context: 1}, 200, "sub/n.txt|1-one\n2:two\n3-three\n"},
		{agentapi.SearchFiles{Pattern: "t", Path: "$ROOT/sub/n.txt"}, 200, "|2:two\n3:three\n"},
		{agentapi.SearchFiles{Pattern: "t", Path: "$ROOT/sub/n.txt", Output: "files"}, 200, "|"},
		{agentapi.SearchFiles{Pattern: "hello", Path: "$ROOT/link"}, 200, "|1:hello\n"},
		{agentapi.SearchFiles{Pattern: "TOKEN", Ignored: true}, 200, ""},
		{agentapi.SearchFiles{Pattern: "TOKEN", Path: "$OUT"}, 200, ""}, {agentapi.SearchFiles{Pattern: "yours", Path: "$OUT"}, 200, "plain|1:outside, and yours\n"},
		{agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/.env"}, 403, "secret list"}, {agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/tosecret"}, 403, "secret list"},
		{agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/hard"}, 403, "hard link"}, {agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/hardagent"}, 403, "another name"},
		{agentapi.SearchFiles{Pattern: "T", Path: "$OUT/agent"}, 403, "agent's own"}, {agentapi.SearchFiles{Pattern: "T", Path: "/proc/self/environ"}, 403, "kernel"},
		{agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/pipe"}, 400, "regular"}, {agentapi.SearchFiles{Pattern: "T", Path: "$ROOT/none"}, 404, "no such"},
		{agentapi.SearchFiles{Pattern: ""}, 400, "pattern"}, {agentapi.SearchFiles{Pattern: "(", Regexp: true}, 400, "RE2"}, {agentapi.SearchFiles{Pattern: "a", Glob: "[a"}, 400, "glob"},
	} {
		c.ask.Path = s.at(c.ask.Path)
		if code, got, _ := s.search(t, c.ask); code != c.code || code == 200 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %d %s, want %d %s", c.ask, code, got, c.code, c.want)
		}
	}
	_, _, all := s.search(t, agentapi.SearchFiles{Pattern: "hello"})
	if all.Path != s.root || all.Matches != 6 || all.Matching != 6 || all.Binary != 1 || all.Large != 1 || all.Unread != 3 || all.Incomplete != "" {
		t.Errorf("of everything: %+v", all)
	}
	s.as(&access.Grant{Secrets: []string{"*"}})
	if _, got, _ := s.search(t, agentapi.SearchFiles{Pattern: "TOKEN"}); !strings.Contains(got, ".env|1:TOKEN") || !strings.Contains(got, "hard|1:TOKEN") || strings.Contains(got, "hardagent|") {
		t.Errorf("with all secrets granted: %s", got)
	}
	within := serve(t, ignoring, func(o *files.Options) { o.Within = true })
	outside(t, within)
	for _, dir := range []string{within.out, "/", "/etc"} {
		if code, got, _ := within.search(t, agentapi.SearchFiles{Pattern: "x", Path: dir}); code != 403 {
			t.Errorf("within the workspace, %s: %d %s", dir, code, got)
		}
	}
	nowhere := serve(t, nil, func(o *files.Options) { o.Root = nil })
	if code, got := nowhere.find(t, agentapi.FindFiles{Query: "x"}); code != 400 || !strings.Contains(got, "no directory yet") {
		t.Errorf("without a workspace: %d %s", code, got)
	}
}

// TestIgnoredAbove: patterns of the directories above count, unless they ignore the directory
// that was asked for.
func TestIgnoredAbove(t *testing.T) {
	s := serve(t, []string{".git/HEAD = x", ".gitignore = *.log\n/build\n/src/gen\n", "src/a.log = x", "src/a.go = x", "src/gen/b.go = x", "build/c.log = x", "build/d/e.log = x"})
	for path, want := range map[string]string{"src": "a.go", "build": "c.log d/e.log", "build/d": "e.log", "src/gen": "b.go"} {
		if _, got := s.find(t, agentapi.FindFiles{Query: "*", Path: s.in(path)}); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	line := strings.Repeat("func handle(w http.ResponseWriter, r *http.Request) { return }\n", 100)
	for i := range 10_000 {
		at := fmt.Sprintf("%s/d%d/e%d", dir, i%50, i%7)
		if err := os.MkdirAll(at, 0o755); err != nil {
			b.Fatal(err)
		}
		put(b, fmt.Sprintf("%s/f%d.go", at, i), line)
	}
	s := serve(b, nil, func(o *files.Options) { o.Root = func() string { return dir } })
	for name, ask := range map[string]any{
		"find": agentapi.FindFiles{Query: "f77"}, "text": agentapi.SearchFiles{Pattern: "nothing"}, "expression": agentapi.SearchFiles{Pattern: `not\w+g`, Regexp: true},
		"all": agentapi.SearchFiles{Pattern: "handle"},
	} {
		b.Run(name, func(b *testing.B) {
			route := agentapi.PathSearchFiles
			if name == "find" {
				route = agentapi.PathFindFiles
			}
			for b.Loop() {
				if code, body := s.post(b, route, ask); code != 200 {
					b.Fatal(body)
				}
			}
		})
	}
}
