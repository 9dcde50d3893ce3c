package clienttest

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// content reads a file by the API.
func (s *suite) content(c client.Client, name string, part client.FileRange) (string, error) {
	r, err := c.ReadFile(s.ctx, name, part)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	return string(data), err
}

// link makes a symbolic link, where there are any.
func (s *suite) link(target, name string) {
	if s.has.Links {
		s.env.Link(s, target, name)
	}
}

// linked reports whether a path leads over a link that couldn't be made.
func (s *suite) linked(name string) bool {
	return !s.has.Links && slices.Contains([]string{"link", "link.md", "loop", "out", "in", "to-nothing", "z"}, path.Base(name))
}

// read: the bytes of files.
func (s *suite) read() {
	root := s.env.Root()
	s.env.Write(s, root+"/f.bin", "0123\x00\xff6789")
	s.env.Write(s, root+"/empty", "")
	s.env.Mkdir(s, root+"/dir")
	s.link("f.bin", root+"/link")
	s.link("loop", root+"/loop")
	s.env.Write(s, s.env.Outside()+"/there", "outside")
	s.link(s.env.Outside()+"/there", root+"/out")
	s.link(root+"/f.bin", s.env.Outside()+"/in")
	for _, c := range []struct {
		name string
		part client.FileRange
		want string
		code int
	}{
		{root + "/f.bin", client.FileRange{}, "0123\x00\xff6789", 0},
		{root + "/f.bin", client.FileRange{Offset: 3, Limit: 4}, "3\x00\xff6", 0},
		{root + "/f.bin", client.FileRange{Offset: 8, Limit: 100}, "89", 0},
		{root + "/f.bin", client.FileRange{Offset: 100}, "", 0},
		{root + "/f.bin", client.FileRange{Offset: -1}, "", 400},
		{root + "/f.bin", client.FileRange{Limit: -1}, "", 400},
		{root + "/dir/../link", client.FileRange{}, "0123\x00\xff6789", 0},
		{root + "/empty", client.FileRange{}, "", 0},
		{s.env.Outside() + "/there", client.FileRange{}, "outside", 0},
		{s.env.Outside() + "/in", client.FileRange{}, "0123\x00\xff6789", 0},
		{root + "/out", client.FileRange{}, "", 403},
		{root + "/none", client.FileRange{}, "", 404},
		{root + "/none/none", client.FileRange{}, "", 404},
		{root + "/dir", client.FileRange{}, "", 400},
		{root + "/f.bin/x", client.FileRange{}, "", 400},
		{"f.bin", client.FileRange{}, "", 400},
		{"", client.FileRange{}, "", 400},
	} {
		if s.linked(c.name) {
			continue
		}
		got, err := s.content(s.c, c.name, c.part)
		s.code("read "+c.name, err, c.code)
		if got != c.want {
			s.Errorf("%s %+v: got %q, want %q", c.name, c.part, got, c.want)
		}
	}
	if _, err := s.content(s.c, root+"/loop", client.FileRange{}); client.CodeOf(err)/100 != 4 { // without links it isn't there
		s.Errorf("a link to itself: %v", err)
	}
}

// lines: files with numbers.
func (s *suite) lines() {
	file := s.env.Root() + "/f"
	long := strings.Repeat("ä", 600)
	for _, c := range []struct {
		name    string
		content string
		want    agentapi.LineRange
		total   int
		text    string // or what the error says
	}{
		{"all", "a\n\nc", agentapi.LineRange{}, 3, "1\ta\n2\t\n3\tc"},
		{"a final newline", "a\n", agentapi.LineRange{}, 2, "1\ta\n2\t"},
		{"nothing", "", agentapi.LineRange{}, 0, ""},
		{"some", "a\nb\nc\nd", agentapi.LineRange{Offset: 2, Limit: 2}, 4, "2\tb\n3\tc"},
		{"some of the last", "a\nb\nc\nd", agentapi.LineRange{Offset: 4, Limit: 20}, 4, "4\td"},
		{"beyond the end", "a\nb", agentapi.LineRange{Offset: 3}, 0, "error: beyond"},
		{"a long line", "x\n" + long + "\ny", agentapi.LineRange{}, 3, "1\tx\n2\t" + long[:1024] + "... [truncated]\n3\ty"},
		{"a longer limit", long, agentapi.LineRange{MaxLineBytes: 2000}, 1, "1\t" + long},
		{"half a rune", "ää", agentapi.LineRange{MaxLineBytes: 3}, 1, "1\tä... [truncated]"},
		{"as many lines as may be", strings.Repeat("x\n", 1999), agentapi.LineRange{Limit: 1}, 2000, "1\tx"},
		{"too many lines", strings.Repeat("x\n", 2000), agentapi.LineRange{}, 0, "error: offset and limit"},
		{"too many bytes", strings.Repeat(strings.Repeat("x", 1000)+"\n", 40), agentapi.LineRange{}, 0, "error: offset and limit"},
		{"lines of one's own limit", "a\nb\nc", agentapi.LineRange{MaxResponseLines: 2}, 0, "error: offset and limit"},
		{"bytes of one's own limit", "a\nb\nc", agentapi.LineRange{MaxResponseBytes: 10}, 0, "error: offset and limit"},
		{"a large file", strings.Repeat("x", 1<<20+1), agentapi.LineRange{}, 0, "error: offset and limit"},
		{"a small limit of size", "abc", agentapi.LineRange{MaxFileSize: 2}, 0, "error: offset and limit"},
	} {
		s.env.Write(s, file, c.content)
		got, err := s.c.ReadFileLines(s.ctx, file, c.want)
		s.must(err)
		if text, wrong := strings.CutPrefix(c.text, "error: "); wrong {
			if got.Success || !strings.Contains(got.Error, text) || got.Content != "" {
				s.Errorf("%s: got %.100q, error %q", c.name, got.Content, got.Error)
			}
			continue
		}
		read := strings.Count(c.text, "\n") + 1
		if c.text == "" {
			read = 0
		}
		if !got.Success || got.Error != "" || got.Content != c.text || got.TotalLines != c.total || got.LinesRead != read || got.FileSize != int64(len(c.content)) {
			s.Errorf("%s: got %.100q, want %.100q: %d of %d lines, %d bytes, %q", c.name, got.Content, c.text, got.LinesRead, got.TotalLines, got.FileSize, got.Error)
		}
	}
	for _, name := range []string{s.env.Root() + "/none", s.env.Root(), "relative"} {
		got, err := s.c.ReadFileLines(s.ctx, name, agentapi.LineRange{})
		s.must(err)
		if got.Success || got.Error == "" {
			s.Errorf("%s: %+v", name, got)
		}
	}
}

// write: files are made and replaced.
func (s *suite) write() {
	root := s.env.Root()
	s.env.Write(s, root+"/f", "old")
	s.env.Mkdir(s, root+"/dir")
	s.link("f", root+"/link")
	s.link("new", root+"/to-nothing")
	s.link(s.env.Outside(), root+"/out")
	for _, c := range []struct {
		name, reads string
		code        int
	}{
		{root + "/a/b/c", root + "/a/b/c", 0},
		{root + "/f", root + "/f", 0},
		{root + "/link", root + "/f", 0},
		{root + "/to-nothing", root + "/new", 0},
		{s.env.Outside() + "/x/y", s.env.Outside() + "/x/y", 0},
		{root + "/out/z", s.env.Outside() + "/z", 403},
		{root + "/dir", "", 400},
		{root + "/f/x", "", 400},
		{"relative", "", 400},
		{"", "", 400},
	} {
		if s.linked(c.name) {
			continue
		}
		text := "text of " + c.name + "\x00\xff"
		err := s.c.WriteFile(s.ctx, c.name, strings.NewReader(text))
		s.code("write "+c.name, err, c.code)
		switch got := s.env.Read(s, c.reads); {
		case err == nil && got != text:
			s.Errorf("%s: %s is %q", c.name, c.reads, got)
		case err != nil && c.reads != "" && got != "":
			s.Errorf("%s: %s is %q, and it was refused", c.name, c.reads, got)
		}
	}
	if got := s.env.Read(s, root+"/link"); s.has.Links && got != s.env.Read(s, root+"/f") {
		s.Error("the link is a link no more")
	}
	s.must(s.c.WriteFile(s.ctx, root+"/large", strings.NewReader(strings.Repeat("0123456789abcdef", 1<<17))))
	if got, err := s.content(s.c, root+"/large", client.FileRange{}); err != nil || len(got) != 2<<20 {
		s.Errorf("a large file has %d bytes, %v", len(got), err)
	}
	s.must(s.c.WriteFile(s.ctx, root+"/empty", strings.NewReader("")))
	if got, err := s.content(s.c, root+"/empty", client.FileRange{}); err != nil || got != "" {
		s.Errorf("an empty file has %q, %v", got, err)
	}
}

// directories: what is in one.
func (s *suite) directories() {
	for _, name := range []string{"b", "a", "z/x"} {
		s.env.Write(s, s.env.Home()+"/d/"+name, "")
	}
	s.env.Mkdir(s, s.env.Home()+"/d/.m")
	for _, ask := range []agentapi.ListDirectory{
		{Path: []string{"d"}, Relativity: "home"},
		{Path: append(strings.Split(s.env.Home()[1:], "/"), "d"), Relativity: "root"},
		{Path: []string{s.env.Home()[1:] + "/d/z/.."}, Relativity: "root"},
	} {
		got, err := s.c.ListDirectory(s.ctx, ask)
		s.must(err)
		dir := s.env.Home() + "/d"
		var names []string
		for _, e := range got.Contents {
			names = append(names, e.Name)
			if e.AbsolutePathString != dir+"/"+e.Name || e.IsDir != (e.Name == "z" || e.Name == ".m") {
				s.Errorf("%+v: an entry is %+v", ask, e)
			}
		}
		if strings.Join(names, " ") != ".m z a b" || got.AbsolutePathString != dir || "/"+path.Join(got.AbsolutePath...) != dir {
			s.Errorf("%+v: got %+v", ask, got)
		}
	}
	empty, err := s.c.ListDirectory(s.ctx, agentapi.ListDirectory{Path: []string{"d", ".m"}, Relativity: "home"})
	if err != nil || empty.Contents == nil || len(empty.Contents) != 0 {
		s.Errorf("an empty one: %+v, %v", empty, err)
	}
	for _, c := range []struct {
		ask  agentapi.ListDirectory
		code int
	}{
		{agentapi.ListDirectory{Path: []string{"none"}, Relativity: "home"}, 404},
		{agentapi.ListDirectory{Path: []string{"d", "a"}, Relativity: "home"}, 400},
		{agentapi.ListDirectory{Path: []string{"d"}, Relativity: "here"}, 400},
		{agentapi.ListDirectory{Path: []string{"d"}}, 400},
	} {
		_, err := s.c.ListDirectory(s.ctx, c.ask)
		s.code(strings.Join(c.ask.Path, "/")+" of "+c.ask.Relativity, err, c.code)
	}
}

// search: files are found by their names, and lines by their text.
func (s *suite) search() {
	dir := s.env.Home() + "/s"
	for name, content := range map[string]string{"a.go": "one\ntwo\n", "b/a.go": "two", "b/c.txt": "TWO\n", "b/bin": "two\x00"} {
		s.env.Write(s, dir+"/"+name, content)
	}
	for _, c := range []struct {
		ask  agentapi.FindFiles
		want string
		code int
	}{
		{agentapi.FindFiles{Path: dir, Query: "a.go"}, "a.go b/a.go", 0}, {agentapi.FindFiles{Path: dir, Query: "*.txt"}, "b/c.txt", 0}, {agentapi.FindFiles{Path: dir + "/b", Query: "*", Limit: 1}, "bin", 0},
		{agentapi.FindFiles{Path: dir, Query: "none"}, "", 0}, {agentapi.FindFiles{Path: dir}, "", 400}, {agentapi.FindFiles{Path: dir, Query: "["}, "", 400},
		{agentapi.FindFiles{Path: dir + "/none", Query: "a"}, "", 404}, {agentapi.FindFiles{Path: dir + "/a.go", Query: "a"}, "", 400}, {agentapi.FindFiles{Path: "s", Query: "a"}, "", 400},
	} {
		got, err := s.c.FindFiles(s.ctx, c.ask)
		s.code(c.ask.Query+" in "+c.ask.Path, err, c.code)
		if err == nil && (strings.Join(got.Files, " ") != c.want || got.Path != c.ask.Path || got.Files == nil) {
			s.Errorf("%+v: got %+v", c.ask, got)
		}
	}
	for _, c := range []struct {
		ask  agentapi.SearchFiles
		want string
		code int
	}{
		{agentapi.SearchFiles{Path: dir, Pattern: "two"}, "a.go:1 2:two\n b/a.go:1 1:two\n", 0}, {agentapi.SearchFiles{Path: dir, Pattern: "^TWO|ne$", Regexp: true, Context: 1}, "a.go:1 1:one\n2-two\n b/c.txt:1 1:TWO\n", 0},
		{agentapi.SearchFiles{Path: dir, Pattern: "two", IgnoreCase: true, Glob: "b/*", Output: "files"}, "b/a.go:1  b/c.txt:1 ", 0},
		{agentapi.SearchFiles{Path: dir}, "", 400}, {agentapi.SearchFiles{Path: dir, Pattern: "(", Regexp: true}, "", 400}, {agentapi.SearchFiles{Path: dir, Pattern: "a", Output: "x"}, "", 400}, {agentapi.SearchFiles{Path: dir + "/none", Pattern: "a"}, "", 404},
	} {
		got, err := s.c.SearchFiles(s.ctx, c.ask)
		s.code(c.ask.Pattern+" in "+c.ask.Path, err, c.code)
		if err != nil {
			continue
		}
		var list []string
		for _, f := range got.Files {
			list = append(list, fmt.Sprintf("%s:%d %s", f.Path, f.Matches, f.Text))
		}
		if strings.Join(list, " ") != c.want || got.Path != dir || got.Matching != len(list) || got.Binary > 1 {
			s.Errorf("%+v: got %+v", c.ask, got)
		}
	}
}

// edit: texts are replaced, all or none.
func (s *suite) edit() {
	root := s.env.Root()
	f, g := root+"/f", root+"/g"
	edits := func(files ...agentapi.FileEdits) agentapi.EditFiles {
		return agentapi.EditFiles{Files: files, IncludeDiff: true}
	}
	one := func(name, search, replace string) agentapi.FileEdits {
		return agentapi.FileEdits{Path: name, Edits: []agentapi.Edit{{Search: search, Replace: replace}}}
	}
	s.link("f", root+"/link")
	s.link(s.env.Outside()+"/there", root+"/out")
	for _, c := range []struct {
		name  string
		edits agentapi.EditFiles
		code  int
		says  string // the error
		f, g  string
	}{
		{"one", edits(one(f, "b", "B")), 0, "", "a\nB\nc\na\n", "x\n"},
		{"several of one", edits(agentapi.FileEdits{Path: f, Edits: []agentapi.Edit{{Search: "b", Replace: "d"}, {Search: "d\nc", Replace: "e"}}}), 0, "", "a\ne\na\n", "x\n"},
		{"all of them", edits(agentapi.FileEdits{Path: f, Edits: []agentapi.Edit{{Search: "a", Replace: "A", ReplaceAll: true}}}), 0, "", "A\nb\nc\nA\n", "x\n"},
		{"two files", edits(one(f, "b", "B"), one(g, "x", "y")), 0, "", "a\nB\nc\na\n", "y\n"},
		{"by a link", edits(one(root+"/link", "b", "B")), 0, "", "a\nB\nc\na\n", "x\n"},
		{"nothing changes", edits(one(f, "b", "b")), 400, "the same", "", ""},
		{"blanks differ", edits(one(f, "b  \n c", "B\nC")), 0, "", "a\nB\nC\na\n", "x\n"},
		{"an ambiguous one", edits(one(f, "a", "A")), 400, "2 occurrences", "", ""},
		{"which lines", edits(one(f, "a", "A")), 400, "4", "", ""},
		{"what isn't there", edits(one(f, "nothing", "A")), 400, "not found", "", ""},
		{"an empty search", edits(one(f, "", "A")), 400, "empty", "", ""},
		{"a missed one among good ones", edits(one(f, "b", "B"), one(g, "nothing", "y")), 400, "not found", "", ""},
		{"no file", edits(one(root+"/none", "a", "b")), 404, "", "", ""},
		{"the highest code", edits(one(f, "nothing", ""), one(root+"/none", "a", "b"), one(root+"/out", "a", "b")), 404, "", "", ""},
		{"out of the workspace", edits(one(f, "b", "B"), one(root+"/out", "a", "b")), 403, "", "", ""},
		{"a directory", edits(one(root, "a", "b")), 400, "", "", ""},
		{"a relative path", edits(one("f", "b", "B")), 400, "", "", ""},
		{"twice", edits(one(f, "b", "B"), one(f, "c", "C")), 400, "twice", "", ""},
		{"twice, by a link", edits(one(f, "b", "B"), one(root+"/link", "c", "C")), 400, "twice", "", ""},
		{"no edits", edits(agentapi.FileEdits{Path: f}), 400, "", "", ""},
		{"no files", edits(), 400, "", "", ""},
	} {
		if slices.ContainsFunc(c.edits.Files, func(e agentapi.FileEdits) bool { return s.linked(e.Path) }) {
			continue
		}
		s.env.Write(s, f, "a\nb\nc\na\n")
		s.env.Write(s, g, "x\n")
		s.env.Write(s, s.env.Outside()+"/there", "a")
		if c.code != 0 {
			c.f, c.g = "a\nb\nc\na\n", "x\n"
		}
		got, err := s.c.EditFiles(s.ctx, c.edits)
		s.code(c.name, err, c.code)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			s.Errorf("%s: %v doesn't say %q", c.name, err, c.says)
		}
		if gotF, gotG := s.env.Read(s, f), s.env.Read(s, g); gotF != c.f || gotG != c.g || s.env.Read(s, s.env.Outside()+"/there") != "a" {
			s.Errorf("%s: the files are %q and %q, want %q and %q", c.name, gotF, gotG, c.f, c.g)
		}
		if err == nil {
			s.diffs(c.name, c.edits, got)
		}
	}
	s.env.Write(s, f, "a\n")
	got, err := s.c.EditFiles(s.ctx, agentapi.EditFiles{Files: []agentapi.FileEdits{one(f, "a", "b")}})
	if err != nil || len(got.Files) != 0 {
		s.Errorf("without diffs: %+v, %v", got, err)
	}
}

// diffs looks at the diffs of edits that were made.
func (s *suite) diffs(name string, asked agentapi.EditFiles, got *agentapi.EditedFiles) {
	s.Helper()
	if len(got.Files) != len(asked.Files) {
		s.Errorf("%s: %d diffs", name, len(got.Files))
		return
	}
	for i, d := range got.Files {
		if d.Path != asked.Files[i].Path || !strings.Contains(d.Diff, "\n@@ ") || !strings.Contains(d.Diff, "\n-") || !strings.Contains(d.Diff, "\n+") {
			s.Errorf("%s: a diff is of %s: %q", name, d.Path, d.Diff)
		}
	}
}
