package files_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/files"
)

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// one is an edit of one file.
func one(path, search, replace string) agentapi.FileEdits {
	return agentapi.FileEdits{Path: path, Edits: []agentapi.Edit{{Search: search, Replace: replace}}}
}

func TestEditFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files []agentapi.FileEdits
		code  int
		want  string            // of the answer
		after map[string]string // what files are then; all others are as they were
	}{
		"one":               {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "bye")}, 200, `{}`, map[string]string{"a.txt": "bye"}},
		"several":           {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "bye"), one("$ROOT/b.txt", "one", "1")}, 200, `{}`, map[string]string{"a.txt": "bye", "b.txt": "1 two"}},
		"through a link":    {[]agentapi.FileEdits{one("$ROOT/chain", "hello", "bye")}, 200, `{}`, map[string]string{"a.txt": "bye"}},
		"in a directory":    {[]agentapi.FileEdits{one("$ROOT/deep/b.go", "b", "c")}, 200, `{}`, map[string]string{"sub/b.go": "package c"}},
		"in order":          {[]agentapi.FileEdits{{Path: "$ROOT/a.txt", Edits: []agentapi.Edit{{Search: "hello", Replace: "a"}, {Search: "a", Replace: "b"}}}}, 200, `{}`, map[string]string{"a.txt": "b"}},
		"outside":           {[]agentapi.FileEdits{one("$OUT/plain", "outside", "beside")}, 200, `{}`, nil},
		"A right, B missed": {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "bye"), one("$ROOT/b.txt", "none", "1"), one("$ROOT/c.txt", "three", "3")}, 400, "b.txt", nil},
		"a second edit":     {[]agentapi.FileEdits{{Path: "$ROOT/a.txt", Edits: []agentapi.Edit{{Search: "hello", Replace: "a"}, {Search: "hello", Replace: "b"}}}}, 400, "not found", nil},
		"403 and 404":       {[]agentapi.FileEdits{one("$ROOT/.env", "TOKEN", "x"), one("$ROOT/none", "a", "b"), one("$ROOT/a.txt", "hello", "bye")}, 404, "secret list", nil},
		"400 and 403":       {[]agentapi.FileEdits{one("$ROOT/a.txt", "none", "b"), one("$ROOT/out", "a", "b")}, 403, "leads out", nil},
		"404 alone":         {[]agentapi.FileEdits{one("$ROOT/none", "a", "b")}, 404, "no such file", nil},
		"twice":             {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "a"), one("$ROOT/a.txt", "a", "b")}, 400, "twice", nil},
		"twice by a link":   {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "a"), one("$ROOT/chain", "hello", "b")}, 400, "twice", nil},
		"twice otherwise":   {[]agentapi.FileEdits{one("$ROOT/sub/b.go", "b", "a"), one("$ROOT/deep/./b.go", "b", "c")}, 400, "twice", nil},
		"by a hard link":    {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "a"), one("$ROOT/twin", "hello", "b")}, 400, "twice", nil},
		"empty search":      {[]agentapi.FileEdits{one("$ROOT/a.txt", "", "a")}, 400, "empty", nil},
		"no edits":          {[]agentapi.FileEdits{{Path: "$ROOT/a.txt"}}, 400, "no edits", nil},
		"no path":           {[]agentapi.FileEdits{one("", "a", "b")}, 400, "path", nil},
		"relative":          {[]agentapi.FileEdits{one("a.txt", "a", "b")}, 400, "absolute", nil},
		"a directory":       {[]agentapi.FileEdits{one("$ROOT/dir", "a", "b")}, 400, "directory", nil},
		"a FIFO":            {[]agentapi.FileEdits{one("$ROOT/pipe", "a", "b")}, 400, "regular", nil},
		"a secret by link":  {[]agentapi.FileEdits{one("$ROOT/tosecret", "TOKEN", "b")}, 403, "secret list", nil},
		"a hard link to it": {[]agentapi.FileEdits{one("$ROOT/hard", "TOKEN", "b")}, 403, "hard link", nil},
		"the agent's own":   {[]agentapi.FileEdits{one("$OUT/agent/control.token", "TOKEN", "b")}, 403, "agent's own", nil},
		"no files":          {nil, 400, "at least one", nil},
		"too many":          {make([]agentapi.FileEdits, 101), 400, "at most", nil},
		"nothing changes":   {[]agentapi.FileEdits{one("$ROOT/a.txt", "hello", "hello")}, 400, "search and replace are the same", nil},
		"UTF-16":            {[]agentapi.FileEdits{one("$ROOT/utf16.txt", "h", "hello")}, 400, "the file is UTF-16", nil},
		"binary":            {[]agentapi.FileEdits{one("$ROOT/tool.bin", "ELF", "elf")}, 400, "the file is binary", nil},
		"typographic quote": {[]agentapi.FileEdits{one("$ROOT/quote.md", "it's", "it is")}, 400, "U+2019", nil},
		"matches several":   {[]agentapi.FileEdits{one("$ROOT/b.txt", "o", "0")}, 400, "matches 2 occurrences", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, append([]string{"b.txt = one two", "c.txt = three", "utf16.txt = \xff\xfeh\x00", "tool.bin = \x7fELF\x00", "quote.md = it’s"}, tree...))
			outside(t, s)
			was := map[string]string{"a.txt": "hello", "b.txt": "one two", "c.txt": "three", ".env": "TOKEN", "sub/b.go": "package b"}
			var files []agentapi.FileEdits
			for _, f := range c.files {
				f.Path = s.at(f.Path)
				files = append(files, f)
			}
			code, body := s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{Files: files})
			if code != c.code || !strings.Contains(body, c.want) || strings.Contains(body, "TOKEN") {
				t.Errorf("%d %s, want %d %q", code, body, c.code, c.want)
			}
			for path, want := range was {
				if after, ok := c.after[path]; ok {
					want = after
				}
				if got := content(t, s.in(path)); got != want {
					t.Errorf("%s is %q, want %q", path, got, want)
				}
			}
			if touched := s.told(); code == 200 && len(touched) != len(files) || code != 200 && touched != nil {
				t.Errorf("touched %q", touched)
			}
			noTemps(t, s.root, s.out)
			if info, err := os.Lstat(s.in("chain")); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Error("the link is no link any more")
			}
		})
	}
}

// TestEditFilesDiff: in order, with the caller's paths, and with what didn't
// change.
func TestEditFilesDiff(t *testing.T) {
	s := serve(t, append([]string{"b.txt = one two"}, tree...))
	body := agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{
		one(s.in("b.txt"), "one", "1"), one(s.in("sub/../link"), "hello", "bye"), {Path: s.in("page.html"), Edits: []agentapi.Edit{{Search: "<b>", Replace: "<i>"}, {Search: "<i>", Replace: "<b>"}}},
	}}
	code, text := s.post(t, agentapi.PathEditFiles, body)
	var got agentapi.EditedFiles
	decode(t, text, &got)
	if code != 200 || len(got.Files) != 3 {
		t.Fatalf("%d %s", code, text)
	}
	for i, want := range []string{"-one two\n", "-hello\n", ""} {
		f := got.Files[i]
		if f.Path != body.Files[i].Path || (want == "") != (f.Diff == "") || !strings.Contains(f.Diff, want) {
			t.Errorf("%s: %s", f.Path, f.Diff)
		}
	}
}

func TestEditFilesLimits(t *testing.T) {
	s := serve(t, []string{"small = abc", "at = 1000*x", "over = 1001*x", "a1 = 900*x", "a2 = 900*y", "a3 = 900*z", "a4 = 900*u", "a5 = 900*v"}, func(o *files.Options) { o.MaxEdit = 1000 })
	for _, c := range []struct {
		files []agentapi.FileEdits
		code  int
	}{
		{[]agentapi.FileEdits{{Path: s.in("at"), Edits: []agentapi.Edit{{Search: "x", Replace: "y", ReplaceAll: true}}}}, 200},
		{[]agentapi.FileEdits{one(s.in("small"), "abc", "abd"), one(s.in("over"), "x", "y")}, 400},
		{[]agentapi.FileEdits{one(s.in("small"), "abc", strings.Repeat("x", 4001))}, 400},
		{[]agentapi.FileEdits{{Path: s.in("at"), Edits: []agentapi.Edit{{Search: "x", Replace: strings.Repeat("x", 1<<20), ReplaceAll: true}}}}, 400},
		{[]agentapi.FileEdits{one(s.in("a1"), "xx", "x"), one(s.in("a2"), "yy", "y"), one(s.in("a3"), "zz", "z"), one(s.in("a4"), "uu", "u"), one(s.in("a5"), "vv", "v")}, 400},
	} {
		took := allocated(func() {
			if code, body := s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{Files: c.files}); code != c.code {
				t.Errorf("%d %.300s", code, body)
			}
		})
		if took > 64<<20 {
			t.Errorf("it took %d MiB", took>>20)
		}
	}
	if got := content(t, s.in("small")); got != "abc" {
		t.Errorf("it is %.10q", got)
	}
	for _, bad := range []string{`{`, `{"files":1}`, `{"files":[{"path":"/a","edits":[],"ed_script":"1d"}]}`, `{"files":[],"files":[]}`, "{\"files\":[{\"path\":\"\xff\"}]}"} {
		if code, _, _ := s.send(t, s.request(t, "POST", agentapi.PathEditFiles, strings.NewReader(bad))); code != 400 {
			t.Errorf("%q: %d", bad, code)
		}
	}
	if code, _, _ := s.send(t, s.request(t, "POST", agentapi.PathEditFiles, strings.NewReader(strings.Repeat(" ", 16<<20+1)))); code != 413 {
		t.Errorf("too much: %d", code)
	}
	if code, _, _ := s.send(t, s.request(t, "POST", agentapi.PathEditFiles+"?x=1", strings.NewReader(`{}`))); code != 400 {
		t.Errorf("an unknown parameter: %d", code)
	}
}

// TestConcurrentEdits: of edits to one file none is lost, by whatever name it is
// edited, also when they are of several files in different orders, and somebody
// writes the files meanwhile.
func TestConcurrentEdits(t *testing.T) {
	const n = 24
	var marks strings.Builder
	for i := range n {
		fmt.Fprintf(&marks, "mark %d.\n", i)
	}
	s := serve(t, []string{"link -> a", "dir/", "dirlink -> dir"})
	put(t, s.in("a"), marks.String())
	put(t, s.in("dir/b"), marks.String())
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			paths := []string{s.in("a"), s.in("dir/b")}
			if i%2 == 1 {
				paths = []string{s.in("dirlink/b"), s.in("link")}
			}
			if code, body := s.edit(t, fmt.Sprintf("mark %d.", i), fmt.Sprintf("done %d.", i), paths...); code != 200 {
				t.Errorf("%d: %d %s", i, code, body)
			}
		})
		if i%6 == 5 {
			wait.Go(func() { s.write(t, s.in("dir/c"), "x") })
		}
	}
	wait.Wait()
	want := strings.ReplaceAll(marks.String(), "mark", "done")
	if a, b := content(t, s.in("a")), content(t, s.in("dir/b")); a != want || b != want {
		t.Errorf("lost:\n%s\n%s", a, b)
	}
	noTemps(t, s.root)
}

// TestEditsAndSaves: what somebody else saves while edits are made is there
// afterwards, whichever comes first.
func TestEditsAndSaves(t *testing.T) {
	s := serve(t, nil)
	after := 0
	for i := range testenv.Rounds(50, 200, 5000) {
		put(t, s.in("a"), "ours\n")
		put(t, s.in("new"), fmt.Sprintf("ours\ntheirs %d\n", i))
		var wait sync.WaitGroup
		start := make(chan struct{})
		wait.Go(func() {
			<-start
			for begin := time.Now(); time.Since(begin) < time.Duration(i%60)*100*time.Microsecond; {
				runtime.Gosched() // so that it comes at every moment
			}
			if err := os.Rename(s.in("new"), s.in("a")); err != nil {
				t.Error(err)
			}
		})
		close(start)
		if code, body := s.edit(t, "ours\n", "mine\n", s.in("a")); code != 200 {
			t.Errorf("%d %s", code, body)
		}
		wait.Wait()
		switch got := content(t, s.in("a")); {
		case !strings.HasSuffix(got, fmt.Sprintf("\ntheirs %d\n", i)):
			t.Fatalf("round %d: the save is lost: %q", i, got)
		case strings.HasPrefix(got, "mine"):
			after++
		}
	}
	t.Logf("%d edits after the save", after)
	noTemps(t, s.root)
}

// TestEditFilesEndings: a file keeps its line endings, whatever the edit is written with.
func TestEditFilesEndings(t *testing.T) {
	for name, c := range map[string]struct{ file, search, replace, want string }{
		"several lines into one":       {"a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"},
		"several lines for several":    {"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"},
		"from within a line":           {"f(a,\r\n  b)\r\nc\r\n", "a,\n  b", "a,\n  x,\n  b", "f(a,\r\n  x,\r\n  b)\r\nc\r\n"},
		"from the end of a line":       {"a\r\nb\r\n", "\nb", "\nx\nb", "a\r\nx\r\nb\r\n"},
		"lines joined":                 {"a\r\nb\r\n", "\nb", " b", "a b\r\n"},
		"everywhere a line end":        {"a\r\n", "\n", "\n\n", "a\r\n\r\n"},
		"CRLF into LF":                 {"a\nb\n", "b", "x\r\ny", "a\nx\ny\n"},
		"several lines of CRLF in LF":  {"f(a,\nb)\n", "a,\r\nb", "a,\r\nx,\r\nb", "f(a,\nx,\nb)\n"},
		"old Mac":                      {"a\rb\r", "b", "x\ny", "a\rx\ry\r"},
		"a CR by itself":               {"a\rb\r\nc\r\n", "c", "x\ny", "a\rb\r\nx\r\ny\r\n"},
		"BOM":                          {"\ufeffa\r\nb\r\n", "a\nb", "a\nx\nb", "\ufeffa\r\nx\r\nb\r\n"},
		"no final newline":             {"a\r\nb", "b", "b\nc", "a\r\nb\r\nc"},
		"both":                         {"a\r\nb\r\nc\nd\r\n", "c", "x\ny", "a\r\nb\r\nx\r\ny\nd\r\n"},
		"endings are what is replaced": {"a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"},
		"replacement with both":        {"a\r\nb\r\n", "b", "x\ny\r\nz", "a\r\nx\r\ny\r\nz\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tree)
			path := s.in("ends.txt")
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			code, body := s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{Files: []agentapi.FileEdits{one(path, c.search, c.replace)}})
			if got := content(t, path); code != 200 || got != c.want {
				t.Errorf("%q is %q, want %q: %d %s", c.file, got, c.want, code, body)
			}
		})
	}
}
