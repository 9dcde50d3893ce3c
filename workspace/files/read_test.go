package files_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/workspace/access"
	"waymark/workspace/files"
)

// tree is a workspace with one of everything.
var tree = []string{
	"a.txt = hello", "empty = ", "page.html = <b>", "noext = x", "sub/b.go = package b", "dir/",
	"link -> a.txt", "deep -> sub", "abs -> $ROOT/a.txt", "back -> sub/../a.txt", "chain -> link", "loop -> loop", "dangling -> none", "newdir -> x/y",
	"out -> ../out/secret.txt", "outabs -> $OUT/secret.txt", "outdir -> ../out", "outnone -> ../out/none", "updown -> ../out/../root/a.txt",
	".env = TOKEN", "sub/.ENV.local = TOKEN", ".git/config = TOKEN", "tosecret -> .env", "togit -> .git", "hard => .env", "twin => a.txt", "key.pem = TOKEN",
	"pipe |", "sock ^", ".mcp.json = {}",
}

func outside(t *testing.T, s *server) {
	t.Helper()
	put(t, s.out+"/plain", "outside, and yours")
	put(t, s.out+"/agent/control.token", "TOKEN")
	put(t, s.out+"/.ssh/id", "TOKEN")
	put(t, s.out+"/home/notes", "x")
	put(t, s.out+"/home/.aws/credentials", "TOKEN")
	for name, of := range map[string]string{"hardagent": "/agent/control.token", "hardkey": "/home/.aws/credentials"} {
		if err := os.Link(s.out+of, filepath.Join(s.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"toagent": "agent", "intoroot": s.root, "viaroot": s.root + "/out", "tokey": ".ssh/id", "ofsecret": ".ssh/none"} {
		if err := os.Symlink(target, filepath.Join(s.out, link)); err != nil {
			t.Fatal(err)
		}
	}
}

// readCases are paths with the code that reading them has, and the content or a
// part of the error. $ROOT and $OUT are the workspace and what is beside it.
var readCases = []struct {
	path string
	code int
	want string
}{
	{"$ROOT/a.txt", 200, "hello"}, {"$ROOT/empty", 200, ""}, {"$ROOT/./sub/../a.txt", 200, "hello"}, {"$ROOT/none/../a.txt", 200, "hello"}, {"$ROOT//a.txt", 200, "hello"},
	{"$ROOT/link", 200, "hello"}, {"$ROOT/chain", 200, "hello"}, {"$ROOT/abs", 200, "hello"}, {"$ROOT/back", 200, "hello"}, {"$ROOT/deep/b.go", 200, "package b"},
	{"$ROOT/updown", 403, "leads out"}, // by way of a place outside that isn't looked at
	{"$ROOT/twin", 200, "hello"}, {"$ROOT/.mcp.json", 200, "{}"},
	{"", 400, "path"}, {"a.txt", 400, "absolute"}, {"$ROOT", 400, "directory"}, {"$ROOT/dir", 400, "directory"}, {"/", 400, "directory"}, {"$ROOT/a\x00b", 400, "NUL"}, {"$ROOT/\xff", 400, "UTF-8"},
	{"$ROOT/" + strings.Repeat("x/", 2500), 400, "less than 4096"}, {"$ROOT/" + strings.Repeat("x", 256), 400, "too long"},
	{"$ROOT/none", 404, "no such file"}, {"$ROOT/none/x", 404, "no such file"}, {"$ROOT/dangling", 404, "no such file"}, {"$ROOT/a.txt/x", 400, "not a directory"}, {"$ROOT/loop", 400, "links"},
	{"$ROOT/out", 403, "leads out"}, {"$ROOT/outabs", 403, "leads out"}, {"$ROOT/outdir/secret.txt", 403, "leads out"}, {"$ROOT/outnone", 403, "leads out"},
	{"$ROOT/.env", 403, "secret list"}, {"$ROOT/.ENV", 403, "secret list"}, {"$ROOT/sub/.env.local", 403, "secret list"}, {"$ROOT/.git/config", 403, "secret list"}, {"$ROOT/.git", 403, "secret list"},
	{"$ROOT/.Git/none", 403, "secret list"}, {"$ROOT/GIT~1/config", 403, "secret list"}, {"$ROOT/tosecret", 403, "secret list"}, {"$ROOT/togit/config", 403, "secret list"},
	{"$ROOT/sub/../.env", 403, "secret list"}, {"$ROOT/.envrc", 403, "secret list"}, {"$ROOT/hard", 403, "hard link"}, {"$ROOT/key.pem", 403, "secret list"}, {"$ROOT/.en\u200bv", 403, "secret list"},
	{"$ROOT/pipe", 400, "regular"}, {"$ROOT/sock", 400, "regular"}, {"/dev/null", 400, "regular"}, {"/dev/zero", 400, "regular"},
	{"/proc/self/environ", 403, "kernel"}, {"/proc/1/cmdline", 403, "kernel"}, {"/sys/kernel/notes", 403, "kernel"}, {"/proc/self/root$ROOT/a.txt", 200, "hello"},
	{"$OUT/plain", 200, "outside, and yours"}, {"$OUT/secret.txt", 200, "outside"}, {"$OUT/intoroot/a.txt", 200, "hello"}, {"$OUT/intoroot/out", 403, "leads out"}, {"$OUT/viaroot", 403, "leads out"},
	{"$ROOT/hardagent", 403, "another name of"}, {"$ROOT/hardkey", 403, "another name of"},
	{"$OUT/agent/control.token", 403, "agent's own"}, {"$OUT/agent", 403, "agent's own"}, {"$OUT/Agent/none", 403, "agent's own"}, {"$OUT/toagent/control.token", 403, "agent's own"}, {"$OUT/later/x", 403, "agent's own"},
	{"$OUT/.ssh/id", 403, "secret list"}, {"$OUT/.ssh/none", 403, "secret list"}, {"$OUT/tokey", 403, "secret list"}, {"$OUT/ofsecret", 403, "secret list"},
}

func (s *server) at(path string) string {
	return strings.NewReplacer("$ROOT", s.root, "$OUT", s.out).Replace(path)
}

func TestReadFile(t *testing.T) {
	s := serve(t, tree)
	outside(t, s)
	s.as(nil) // who opens the socket may read
	for _, c := range readCases {
		code, body := s.read(t, s.at(c.path))
		if code != c.code || code == 200 && body != c.want || !strings.Contains(body, c.want) || strings.Contains(body, "TOKEN") {
			t.Errorf("%q: %d %s, want %d %q", c.path, code, body, c.code, c.want)
		}
		// By lines it is the same, but for the code.
		if c.path == "" {
			continue
		}
		lines := s.lines(t, s.at(c.path))
		want := "1\t" + c.want
		if c.want == "" {
			want = ""
		}
		if lines.Success != (c.code == 200) || lines.Success && lines.Content != want || !lines.Success && !strings.Contains(lines.Error, c.want) {
			t.Errorf("%q by lines: %+v, want %d %q", c.path, lines, c.code, c.want)
		}
	}
	if s.told() != nil {
		t.Error("reading touches nothing")
	}
}

func TestReadFilePart(t *testing.T) {
	s := serve(t, []string{"a.txt = hello", "page.html = <b>", "noext = x", "x.json = {}"})
	for _, c := range []struct {
		more []string
		code int
		want string
	}{
		{nil, 200, "hello"}, {[]string{"offset", "2"}, 200, "llo"}, {[]string{"limit", "2"}, 200, "he"}, {[]string{"offset", "1", "limit", "3"}, 200, "ell"},
		{[]string{"offset", "5"}, 200, ""}, {[]string{"offset", "9"}, 200, ""}, {[]string{"limit", "99"}, 200, "hello"}, {[]string{"limit", "0"}, 200, "hello"},
		{[]string{"offset", "4", "limit", "9223372036854775807"}, 200, "o"},
		{[]string{"offset", "-1"}, 400, "offset"}, {[]string{"limit", "x"}, 400, "limit"}, {[]string{"limit", "9223372036854775808"}, 400, "limit"},
		{[]string{"bytes", "1"}, 400, "unknown parameter"}, {[]string{"max_file_size", "1"}, 400, "unknown parameter"},
	} {
		if code, body := s.read(t, s.in("a.txt"), c.more...); code != c.code || !strings.Contains(body, c.want) || code == 200 && body != c.want {
			t.Errorf("%q: %d %q", c.more, code, body)
		}
	}
	for name, want := range map[string]string{"page.html": "text/html; charset=utf-8", "noext": "application/octet-stream", "x.json": "application/json"} {
		for _, method := range []string{"GET", "HEAD"} {
			code, header, _ := s.send(t, s.request(t, method, query(agentapi.PathReadFile, s.in(name)), nil))
			if code != 200 || header.Get("Content-Type") != want || header.Get("Content-Length") == "" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %d %v", method, name, code, header)
			}
		}
	}
	if code, _, _ := s.send(t, s.request(t, "GET", query(agentapi.PathReadFile, s.in("a.txt"))+"&path=/x", nil)); code != 400 {
		t.Errorf("two paths: %d", code)
	}
	if code, _, _ := s.send(t, s.request(t, "GET", query(agentapi.PathReadFile, s.in("a.txt")), strings.NewReader("body"))); code != 400 {
		t.Errorf("a body: %d", code)
	}
	if code, _, _ := s.send(t, s.request(t, "GET", query(agentapi.PathReadFileLines, s.in("a.txt"), "lines", "1"), nil)); code != 400 {
		t.Errorf("an unknown parameter: %d", code)
	}
	if code, _, _ := s.send(t, s.request(t, "GET", agentapi.PathReadFileLines, nil)); code != 400 {
		t.Errorf("no path: %d", code)
	}
}

func TestReadFileLines(t *testing.T) {
	s := serve(t, []string{"dir/"})
	long := strings.Repeat("é", 600) // 1,200 bytes
	many := strings.Repeat("x\n", 2000)
	for _, c := range []struct {
		content string
		more    []string
		want    agentapi.FileLines
	}{
		{"", nil, agentapi.FileLines{Success: true}},
		{"a", nil, agentapi.FileLines{Success: true, FileSize: 1, TotalLines: 1, LinesRead: 1, Content: "1\ta"}},
		{"a\n", nil, agentapi.FileLines{Success: true, FileSize: 2, TotalLines: 2, LinesRead: 2, Content: "1\ta\n2\t"}},
		{"\n", nil, agentapi.FileLines{Success: true, FileSize: 1, TotalLines: 2, LinesRead: 2, Content: "1\t\n2\t"}},
		{"a\r\nb", nil, agentapi.FileLines{Success: true, FileSize: 4, TotalLines: 2, LinesRead: 2, Content: "1\ta\r\n2\tb"}},
		{"a\nb\nc", []string{"offset", "2"}, agentapi.FileLines{Success: true, FileSize: 5, TotalLines: 3, LinesRead: 2, Content: "2\tb\n3\tc"}},
		{"a\nb\nc", []string{"offset", "2", "limit", "1"}, agentapi.FileLines{Success: true, FileSize: 5, TotalLines: 3, LinesRead: 1, Content: "2\tb"}},
		{"a\nb\nc", []string{"offset", "0", "limit", "0"}, agentapi.FileLines{Success: true, FileSize: 5, TotalLines: 3, LinesRead: 3, Content: "1\ta\n2\tb\n3\tc"}},
		{"a\nb", []string{"offset", "3"}, agentapi.FileLines{Error: "offset 3 is beyond the file's end: it has 2 lines"}},
		{"a\n", []string{"offset", "2"}, agentapi.FileLines{Success: true, FileSize: 2, TotalLines: 2, LinesRead: 1, Content: "2\t"}},
		{"abcdef\nx", []string{"max_line_bytes", "3"}, agentapi.FileLines{Success: true, FileSize: 8, TotalLines: 2, LinesRead: 2, Content: "1\tabc... [truncated]\n2\tx"}},
		{"abc\nx", []string{"max_line_bytes", "3"}, agentapi.FileLines{Success: true, FileSize: 5, TotalLines: 2, LinesRead: 2, Content: "1\tabc\n2\tx"}},
		{"aéb", []string{"max_line_bytes", "2"}, agentapi.FileLines{Success: true, FileSize: 4, TotalLines: 1, LinesRead: 1, Content: "1\ta... [truncated]"}},
		{long, nil, agentapi.FileLines{Success: true, FileSize: 1200, TotalLines: 1, LinesRead: 1, Content: "1\t" + long[:1024] + "... [truncated]"}},
		{many[:len(many)-1], nil, agentapi.FileLines{Success: true, FileSize: 3999, TotalLines: 2000, LinesRead: 2000}},
		{many, nil, agentapi.FileLines{Error: "output would exceed 2000 lines. Read less at a time using offset and limit parameters."}},
		{many, []string{"limit", "2000"}, agentapi.FileLines{Success: true, FileSize: 4000, TotalLines: 2001, LinesRead: 2000}},
		{many, []string{"offset", "2"}, agentapi.FileLines{Success: true, FileSize: 4000, TotalLines: 2001, LinesRead: 2000}},
		{"a\nb\nc", []string{"max_response_lines", "2"}, agentapi.FileLines{Error: "output would exceed 2 lines. Read less at a time using offset and limit parameters."}},
		{"a\nb\nc", []string{"max_response_bytes", "10"}, agentapi.FileLines{Error: "output would exceed 10 bytes. Read less at a time using offset and limit parameters."}},
		{"a\nb\nc", []string{"max_response_bytes", "11"}, agentapi.FileLines{Success: true, FileSize: 5, TotalLines: 3, LinesRead: 3, Content: "1\ta\n2\tb\n3\tc"}},
		{strings.Repeat(strings.Repeat("y", 99)+"\n", 400), nil, agentapi.FileLines{Error: "output would exceed 32768 bytes. Read less at a time using offset and limit parameters."}},
		{"abc", []string{"max_file_size", "2"}, agentapi.FileLines{Error: "the file has 3 bytes, and at most 2 are read: find what you need with grep, sed or awk, or raise max_file_size and use offset and limit"}},
		{strings.Repeat("z", 1<<20+1), nil, agentapi.FileLines{Error: "the file has 1048577 bytes, and at most 1048576 are read: find what you need with grep, sed or awk, or raise max_file_size and use offset and limit"}},
		{strings.Repeat("z", 1<<20), nil, agentapi.FileLines{Success: true, FileSize: 1 << 20, TotalLines: 1, LinesRead: 1, Content: "1\t" + strings.Repeat("z", 1024) + "... [truncated]"}},
	} {
		put(t, s.in("f"), c.content)
		got := s.lines(t, s.in("f"), c.more...)
		if c.want.Success && c.want.LinesRead == 2000 {
			c.want.Content = got.Content
		}
		if got != c.want {
			t.Errorf("%.20q %q: got %.200s", c.content, c.more, fmt.Sprintf("%+v, want %+v", got, c.want))
		}
	}
}

// TestReadFileStreams: a file of a gigabyte takes no memory, and one that gets
// shorter meanwhile isn't taken for whole.
func TestReadFileStreams(t *testing.T) {
	s := serve(t, []string{"big # 1073741824", "lines # 1073741824"})
	resp, err := s.Client().Do(s.request(t, "GET", query(agentapi.PathReadFile, s.in("big")), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.CopyN(io.Discard, resp.Body, 1<<29)
	runtime.ReadMemStats(&during)
	if took := during.TotalAlloc - before.TotalAlloc; err != nil || took > 64<<20 {
		t.Errorf("%d bytes, %v, with %d MiB of memory", n, err, took>>20)
	}
	if err := os.Truncate(s.in("big"), 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the rest came, though it isn't there any more")
	}
	// One line of a gigabyte is kept as far as it is shown.
	runtime.ReadMemStats(&before)
	got := s.lines(t, s.in("lines"), "max_file_size", "9999999999")
	runtime.ReadMemStats(&during)
	if took := during.TotalAlloc - before.TotalAlloc; took > 64<<20 || !got.Success || len(got.Content) != 2+1024+len("... [truncated]") {
		t.Errorf("%d MiB of memory for %v, %s", took>>20, got.Success, got.Error)
	}
}

// TestNothingBlocks: a FIFO without a writer, whatever is done with it.
func TestNothingBlocks(t *testing.T) {
	s := serve(t, []string{"pipe |", "dir/"})
	s.Client().Timeout = time.Minute
	for _, do := range []func() (int, string){
		func() (int, string) { return s.read(t, s.in("pipe")) },
		func() (int, string) { return s.write(t, s.in("pipe"), "x") },
		func() (int, string) { return s.edit(t, "a", "b", s.in("pipe")) },
		func() (int, string) {
			return s.post(t, agentapi.PathListDirectory, agentapi.ListDirectory{Path: []string{s.in("pipe")}, Relativity: "root"})
		},
	} {
		if code, body := do(); code != 400 {
			t.Errorf("%d %s", code, body)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(s.in("pipe"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		t.Error("the FIFO is gone")
	}
}

func TestListDirectory(t *testing.T) {
	s := serve(t, append([]string{"dir/b = x", "dir/a = x", "dir/Z = x", "dir/c/x = x", "dir/l -> a", "dir/.env = TOKEN"}, tree...))
	outside(t, s)
	s.as(nil)
	for _, c := range []struct {
		body  agentapi.ListDirectory
		query string
		code  int
		want  string
	}{
		{agentapi.ListDirectory{Path: []string{"$ROOT", "dir"}, Relativity: "root"}, "", 200, "c/ .env Z a b l"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/dir/c"}, Relativity: "root"}, "", 200, "x"},
		{agentapi.ListDirectory{Relativity: "home"}, "", 200, ".aws/ notes"},
		{agentapi.ListDirectory{Path: []string{"..", "home"}, Relativity: "home"}, "", 200, ".aws/ notes"},
		{agentapi.ListDirectory{}, "$ROOT/dir/c", 200, "x"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/deep"}, Relativity: "root"}, "", 200, "b.go .ENV.local"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/none"}, Relativity: "root"}, "", 404, "no such"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/a.txt"}, Relativity: "root"}, "", 400, "not a directory"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/outdir"}, Relativity: "root"}, "", 403, "leads out"},
		{agentapi.ListDirectory{Path: []string{"$ROOT/.git"}, Relativity: "root"}, "", 403, "secret list"},
		{agentapi.ListDirectory{Path: []string{"$OUT/agent"}, Relativity: "root"}, "", 403, "agent's own"},
		{agentapi.ListDirectory{Path: []string{"/proc/self"}, Relativity: "root"}, "", 403, "kernel"},
		{agentapi.ListDirectory{Path: []string{"a\x00"}, Relativity: "root"}, "", 400, "NUL"},
		{agentapi.ListDirectory{Path: []string{"$ROOT"}, Relativity: "here"}, "", 400, "root or home"},
		{agentapi.ListDirectory{}, "", 400, "root or home"}, {agentapi.ListDirectory{}, "dir", 400, "absolute"},
	} {
		for i := range c.body.Path {
			c.body.Path[i] = s.at(c.body.Path[i])
		}
		route := agentapi.PathListDirectory
		if c.query != "" {
			route = query(route, s.at(c.query))
		}
		code, body := s.post(t, route, c.body)
		if code != c.code || code != 200 && !strings.Contains(body, c.want) {
			t.Errorf("%+v %s: %d %s", c.body, c.query, code, body)
			continue
		}
		if code == 200 {
			compareListing(t, s, body, c.want)
		}
	}
	// Coder's clients send JSON without saying so.
	code, _, body := s.send(t, s.request(t, "POST", agentapi.PathListDirectory, strings.NewReader(`{"path":[],"relativity":"root"}`)))
	if code != 200 || !strings.Contains(body, `"absolute_path":[],"absolute_path_string":"/"`) {
		t.Errorf("the top: %d %s", code, body)
	}
	for _, bad := range []string{`{"path":[],"relativity":"root","x":1}`, `{`, ``} {
		if code, _, _ := s.send(t, s.request(t, "POST", agentapi.PathListDirectory, strings.NewReader(bad))); code != 400 {
			t.Errorf("%s: %d", bad, code)
		}
	}
}

func compareListing(t *testing.T, s *server, body, want string) {
	t.Helper()
	var dir agentapi.Directory
	decode(t, body, &dir)
	var got []string
	for _, e := range dir.Contents {
		name := e.Name
		if e.IsDir {
			name += "/"
		}
		got = append(got, name)
		if e.AbsolutePathString != dir.AbsolutePathString+"/"+e.Name {
			t.Errorf("%s in %s is at %s", e.Name, dir.AbsolutePathString, e.AbsolutePathString)
		}
	}
	names := strings.Split(want, " ")
	if want != "" && strings.Join(sortedListing(names), " ") != strings.Join(got, " ") {
		t.Errorf("%s: %q, want %q", dir.AbsolutePathString, got, want)
	}
	if "/"+strings.Join(dir.AbsolutePath, "/") != dir.AbsolutePathString {
		t.Errorf("%q and %s", dir.AbsolutePath, dir.AbsolutePathString)
	}
	_ = s
}

// TestGrants: what a token grants of the secret list, and no more.
func TestGrants(t *testing.T) {
	s := serve(t, tree)
	for _, c := range []struct {
		granted []string
		path    string
		want    int
	}{
		{nil, ".env", 403}, {[]string{".env*"}, ".env", 200}, {[]string{".env*"}, "tosecret", 200}, {[]string{".env*"}, "hard", 200}, {[]string{".env*"}, ".git/config", 403},
		{[]string{"*"}, ".git/config", 200}, {[]string{"*"}, "togit/config", 200}, {[]string{"*"}, "key.pem", 200}, {[]string{"*"}, "out", 403},
	} {
		s.as(&access.Grant{Scopes: acting().Scopes, Secrets: c.granted})
		if code, body := s.read(t, s.in(c.path)); code != c.want {
			t.Errorf("%s with %q: %d %s", c.path, c.granted, code, body)
		}
	}
	s.as(&access.Grant{Secrets: []string{".env*"}})
	if code, _ := s.edit(t, "TOKEN", "OTHER", s.in(".env")); code != 403 {
		t.Errorf("without the scope: %d", code)
	}
	s.as(&access.Grant{Scopes: acting().Scopes, Secrets: []string{"*"}})
	if code, body := s.edit(t, "TOKEN", "OTHER", s.in("tosecret")); code != 200 || content(t, s.in(".env")) != "OTHER" {
		t.Errorf("with everything: %d %s", code, body)
	}
}

// TestWithin: narrowed to the workspace, nothing outside of it exists.
func TestWithin(t *testing.T) {
	s := serve(t, tree, func(o *files.Options) { o.Within = true })
	outside(t, s)
	for path, want := range map[string]int{"$ROOT/a.txt": 200, "$OUT/intoroot/a.txt": 200, "$OUT/plain": 403, "$OUT/none": 403, "/etc/passwd": 403, "$ROOT/../out/plain": 403, "$ROOT": 400} {
		if code, body := s.read(t, s.at(path)); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := s.write(t, s.out+"/new", "x"); code != http.StatusForbidden {
		t.Errorf("writing outside: %d", code)
	}
	nowhere := serve(t, nil, func(o *files.Options) { o.Within, o.Root = true, nil })
	if code, _ := nowhere.read(t, nowhere.in("a.txt")); code != http.StatusForbidden {
		t.Errorf("while there is no workspace: %d", code)
	}
}
