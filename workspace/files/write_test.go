package files_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/access"
	"waymark/workspace/files"
)

// writeCases are paths with the code that writing "new" has, where it ends up, or
// a part of the error.
var writeCases = []struct {
	path string
	code int
	want string
}{
	{"$ROOT/a.txt", 200, "$ROOT/a.txt"}, {"$ROOT/fresh", 200, "$ROOT/fresh"}, {"$ROOT/m/n/o", 200, "$ROOT/m/n/o"}, {"$ROOT/none/../fresh2", 200, "$ROOT/fresh2"},
	{"$ROOT/chain", 200, "$ROOT/a.txt"}, {"$ROOT/abs", 200, "$ROOT/a.txt"}, {"$ROOT/deep/b.go", 200, "$ROOT/sub/b.go"}, {"$ROOT/deep/x/y", 200, "$ROOT/sub/x/y"},
	{"$ROOT/dangling", 200, "$ROOT/none"}, {"$ROOT/newdir", 200, "$ROOT/x/y"}, {"$OUT/plain", 200, "$OUT/plain"}, {"$OUT/p/q", 200, "$OUT/p/q"}, {"$OUT/intoroot/r", 200, "$ROOT/r"},
	{"$ROOT/.mcp.json", 200, "$ROOT/.mcp.json"}, {"$ROOT/twin", 200, "$ROOT/twin"},
	{"", 400, "path"}, {"a.txt", 400, "absolute"}, {"$ROOT", 400, "directory"}, {"$ROOT/dir", 400, "directory"}, {"/", 400, "directory"}, {"$ROOT/a\x00", 400, "NUL"}, {"$ROOT/page.html/x", 400, "not a directory"},
	{"$ROOT/loop", 400, "links"}, {"$ROOT/pipe", 400, "regular"}, {"$ROOT/sock", 400, "regular"}, {"/dev/null", 400, "regular"}, {"$ROOT/" + strings.Repeat("x", 256), 400, "too long"},
	{"$ROOT/out", 403, "leads out"}, {"$ROOT/outnone", 403, "leads out"}, {"$ROOT/outdir/x", 403, "leads out"}, {"$ROOT/outdir/x/y", 403, "leads out"},
	{"$ROOT/.env", 403, "secret list"}, {"$ROOT/sub/.env.new", 403, "secret list"}, {"$ROOT/n/.git/hooks/x", 403, "secret list"}, {"$ROOT/togit/hooks/x", 403, "secret list"}, {"$ROOT/hard", 403, "hard link"},
	{"$ROOT/.GIT/hooks/x", 403, "secret list"}, {"$OUT/agent/x", 403, "agent's own"}, {"$OUT/LATER/x/y", 403, "agent's own"}, {"$OUT/toagent/x", 403, "agent's own"}, {"$OUT/ofsecret", 403, "secret list"},
	{"/proc/self/comm", 403, "kernel"}, {"/proc/self/none", 403, "kernel"},
}

func TestWriteFile(t *testing.T) {
	s := serve(t, tree)
	outside(t, s)
	for _, c := range writeCases {
		path := s.at(c.path)
		code, body := s.write(t, path, "new "+c.path)
		touched := s.told()
		if code != c.code || code != 200 && !strings.Contains(body, c.want) {
			t.Errorf("%q: %d %s, want %d %q", c.path, code, body, c.code, c.want)
			continue
		}
		if code != 200 {
			if touched != nil {
				t.Errorf("%q: touched %q", c.path, touched)
			}
			continue
		}
		if got := content(t, s.at(c.want)); got != "new "+c.path || len(touched) != 1 || touched[0] != s.at(c.want) {
			t.Errorf("%q: %q, touched %q", c.path, got, touched)
		}
		if !strings.Contains(body, "Successfully wrote to") {
			t.Errorf("%q: %s", c.path, body)
		}
	}
	for _, link := range []string{"chain", "abs", "dangling", "newdir", "out"} {
		if info, err := os.Lstat(s.in(link)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more", link)
		}
	}
	if got := content(t, s.in(".env")); got != "TOKEN" {
		t.Errorf("the secret is %q", got)
	}
	if _, err := os.Lstat(s.in("n")); err == nil {
		t.Error("a directory was made for what was refused")
	}
	noTemps(t, s.root, s.out)
}

// TestWriteFileModes: what is replaced keeps what it had; what is new has what the
// umask leaves.
func TestWriteFileModes(t *testing.T) {
	umask := unix.Umask(0o027)
	defer unix.Umask(umask)
	s := serve(t, []string{"script = old", "script ! 751", "tight = old", "tight ! 600", "setuid = old", "setuid ! 755"})
	if err := os.Chmod(s.in("setuid"), 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	xattr := unix.Setxattr(s.in("script"), "user.test", []byte("kept"), 0)
	if os.Geteuid() == 0 {
		if err := os.Chown(s.in("script"), 1234, 4321); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]os.FileMode{"script": 0o751, "tight": 0o600, "setuid": 0o755, "new": 0o640, "d/e/new": 0o640, "d": os.ModeDir | 0o750, "d/e": os.ModeDir | 0o750} {
		if want.IsRegular() {
			if code, body := s.write(t, s.in(name), "new"); code != 200 {
				t.Fatalf("%s: %d %s", name, code, body)
			}
		}
		if want.IsRegular() && name != "new" && name != "d/e/new" {
			if code, body := s.edit(t, "new", "newer", s.in(name)); code != 200 {
				t.Fatalf("%s: %d %s", name, code, body)
			}
		}
	}
	for name, want := range map[string]os.FileMode{"script": 0o751, "tight": 0o600, "setuid": 0o755, "new": 0o640, "d/e/new": 0o640, "d": os.ModeDir | 0o750, "d/e": os.ModeDir | 0o750} {
		info, err := os.Lstat(s.in(name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	info, err := os.Lstat(s.in("script"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); os.Geteuid() == 0 && (st.Uid != 1234 || st.Gid != 4321) {
		t.Errorf("its owner is %d:%d", st.Uid, st.Gid)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(s.in("script"), "user.test", value); xattr == nil && (err != nil || string(value[:n]) != "kept") {
		t.Errorf("its attribute is %q, %v", value[:max(n, 0)], err)
	}
}

// slowBody gives a part of a body, and then what is wrong.
type slowBody struct {
	part string
	err  error
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.part == "" {
		return 0, b.err
	}
	n := copy(p, b.part)
	b.part = b.part[n:]
	return n, nil
}

// TestBodyBreaksOff: what was there stays, and nothing else is left.
func TestBodyBreaksOff(t *testing.T) {
	s := serve(t, []string{"a = old"}, func(o *files.Options) { o.MaxWrite = 1000 })
	for _, path := range []string{"a", "new", "d/e/f"} {
		for _, length := range []int64{-1, 900} {
			r := s.request(t, "POST", query(agentapi.PathWriteFile, s.in(path)), &slowBody{strings.Repeat("x", 500), errors.New("broken")})
			r.ContentLength = length
			if resp, err := s.Client().Do(r); err == nil {
				resp.Body.Close()
				if resp.StatusCode != 400 {
					t.Errorf("%s, %d announced: %s", path, length, resp.Status)
				}
			}
		}
		for _, length := range []int64{-1, 1001} { // too much, without and with saying so
			r := s.request(t, "POST", query(agentapi.PathWriteFile, s.in(path)), io.LimitReader(zeros{}, 1001))
			r.ContentLength = length
			if code, _, body := s.send(t, r); code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %d announced: %d %s", path, length, code, body)
			}
		}
	}
	s.Close() // waits for handlers
	if got := content(t, s.in("a")); got != "old" {
		t.Errorf("it is %q", got)
	}
	if list, err := os.ReadDir(s.root); err != nil || len(list) != 1 {
		t.Errorf("%v, %v are left", list, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestWriteFileStreams: a body isn't held in memory, nor bounded as JSON is.
func TestWriteFileStreams(t *testing.T) {
	s := serve(t, nil)
	const size = 100 << 20
	r := s.request(t, "POST", query(agentapi.PathWriteFile, s.in("big")), io.LimitReader(zeros{}, size))
	took := allocated(func() {
		if code, _, body := s.send(t, r); code != 200 {
			t.Errorf("%d %s", code, body)
		}
	})
	info, err := os.Lstat(s.in("big"))
	if err != nil || info.Size() != size || took > 32<<20 {
		t.Errorf("%v, %v, with %d MiB of memory", info, err, took>>20)
	}
}

func TestTokens(t *testing.T) {
	s := serve(t, []string{"a = old"})
	for _, c := range []struct {
		grant *access.Grant
		want  int
	}{{nil, 401}, {&access.Grant{Scopes: []access.Scope{access.ScopeProcesses}}, 403}, {acting(), 200}} {
		s.as(c.grant)
		if code, _ := s.write(t, s.in("a"), "new"); code != c.want {
			t.Errorf("writing with %+v: %d", c.grant, code)
		}
		if code, _ := s.edit(t, "new", "newer", s.in("a")); code != c.want {
			t.Errorf("editing with %+v: %d", c.grant, code)
		}
		if code, _ := s.read(t, s.in("a")); code != 200 {
			t.Errorf("reading with %+v: %d", c.grant, code)
		}
	}
}

// TestFence: with a plan, one file can be written, by whatever path, and no other.
func TestFence(t *testing.T) {
	s := serve(t, []string{"plans/p.md = plan", "plans/other.md = other", "link -> plans/p.md", "toplans -> plans", "a = old", "hard => plans/p.md"})
	if err := os.Symlink(s.in("plans/p.md"), s.out+"/toplan"); err != nil {
		t.Fatal(err)
	}
	s.as(&access.Grant{Scopes: acting().Scopes, Plan: s.in("plans/p.md")})
	for path, want := range map[string]int{
		"plans/p.md": 200, "link": 200, "toplans/p.md": 200, "plans/../toplans/./p.md": 200, "../out/toplan": 200,
		"plans/P.md": 403, "plans/other.md": 403, "a": 403, "new": 403, "plans/p.md.new": 403, "plans": 403, "plans/p.md/../other.md": 403, "toplans/../a": 403, "hard": 403, "../out/x": 403, "../out/secret.txt": 403,
	} {
		before, _ := os.ReadFile(s.in(path))
		code, body := s.write(t, s.in(path), "plan")
		if after, _ := os.ReadFile(s.in(path)); code != want || code != 200 && !bytes.Equal(before, after) {
			t.Errorf("writing %s: %d %s", path, code, body)
		}
		if _, err := os.Lstat(s.in(path)); err != nil {
			want = min(want, 403)
		}
		if code, body := s.edit(t, "plan", "plans", s.in(path)); code != want {
			t.Errorf("editing %s: %d %s", path, code, body)
		}
		if code, body := s.write(t, s.in("plans/p.md"), "plan"); code != 200 {
			t.Fatalf("restoring the plan: %d %s", code, body)
		}
		if code, _ := s.edit(t, "plan", "PLAN", s.in("plans/p.md"), s.in(path)); want == 403 && (code != 403 || content(t, s.in("plans/p.md")) != "plan") {
			t.Errorf("editing %s with it: %d", path, code)
		}
	}
	// The plan becomes a link, or its directory does: then it is another file.
	for _, swap := range [][2]string{{"plans/p.md", "../a"}, {"plans", "."}} {
		if err := errors.Join(os.Rename(s.in(swap[0]), s.in("kept")), os.Symlink(swap[1], s.in(swap[0]))); err != nil {
			t.Fatal(err)
		}
		if code, body := s.write(t, s.in("plans/p.md"), "astray"); code != 403 {
			t.Errorf("with %s -> %s: %d %s", swap[0], swap[1], code, body)
		}
		if err := errors.Join(os.Remove(s.in(swap[0])), os.Rename(s.in("kept"), s.in(swap[0]))); err != nil {
			t.Fatal(err)
		}
	}
	// One that isn't there yet is made.
	s.as(&access.Grant{Scopes: acting().Scopes, Plan: s.in("x/y/plan.md")})
	if code, body := s.write(t, s.in("x/y/plan.md"), "plan"); code != 200 {
		t.Errorf("a new plan: %d %s", code, body)
	}
	if code, body := s.write(t, s.in("x/y/other"), "x"); code != 403 {
		t.Errorf("beside it: %d %s", code, body)
	}
	if code, _ := s.read(t, s.in("a")); code != 200 {
		t.Errorf("reading: %d", code)
	}
}

// TestPermissions: files and directories that this user may not read or write.
func TestPermissions(t *testing.T) {
	testenv.RunOrdinary(t, func(t *testing.T) {
		s := serve(t, []string{"readonly = a", "readonly ! 444", "unread = a", "unread ! 222", "shut/f = a", "shut ! 000", "fixed/f = a", "fixed ! 555"})
		defer func() { _ = os.Chmod(s.in("shut"), 0o755); _ = os.Chmod(s.in("fixed"), 0o755) }()
		for _, c := range []struct {
			path              string
			read, write, edit int
		}{
			{"readonly", 200, 403, 403}, {"unread", 403, 200, 403}, {"shut/f", 403, 403, 403}, {"shut/none", 403, 403, 403}, {"fixed/f", 200, 403, 403}, {"fixed/new", 404, 403, 404}, {"fixed/d/new", 404, 403, 404},
		} {
			if code, body := s.read(t, s.in(c.path)); code != c.read {
				t.Errorf("reading %s: %d %s", c.path, code, body)
			}
			if got := s.lines(t, s.in(c.path)); got.Success != (c.read == 200) {
				t.Errorf("lines of %s: %+v", c.path, got)
			}
			if code, body := s.edit(t, "a", "b", s.in(c.path)); code != c.edit {
				t.Errorf("editing %s: %d %s", c.path, code, body)
			}
			if code, body := s.write(t, s.in(c.path), "new"); code != c.write {
				t.Errorf("writing %s: %d %s", c.path, code, body)
			}
		}
		if code, _ := s.post(t, agentapi.PathListDirectory, agentapi.ListDirectory{Path: []string{s.in("shut")}, Relativity: "root"}); code != 403 {
			t.Errorf("listing: %d", code)
		}
		noTemps(t, s.root)
		if info, err := os.Lstat(s.in("unread")); err != nil || info.Mode() != 0o222 {
			t.Errorf("its mode is %v", info.Mode())
		}
	})
}

// TestChats: for whom it was done is handed on, and a header that is no chat's is
// an error before anything is done.
func TestChats(t *testing.T) {
	s := serve(t, []string{"a = old"})
	for _, c := range []struct {
		chat, ancestors string
		want            int
	}{{"", "", 200}, {chatID, "", 200}, {chatID, `["` + chatID + `"]`, 200}, {"x", "", 400}, {chatID, "x", 400}} {
		put(t, s.in("a"), "old")
		s.chats = nil
		for _, r := range []*http.Request{
			s.request(t, "POST", query(agentapi.PathWriteFile, s.in("a")), strings.NewReader("old")),
			s.request(t, "POST", agentapi.PathEditFiles, strings.NewReader(fmt.Sprintf(`{"files":[{"path":%q,"edits":[{"search":"old","replace":"new"}]}]}`, s.in("a")))),
		} {
			if c.chat != "" {
				r.Header.Set(agentapi.HeaderChat, c.chat)
				r.Header.Set(agentapi.HeaderAncestors, c.ancestors)
			}
			if code, _, body := s.send(t, r); code != c.want {
				t.Errorf("%s %s: %d %s", r.URL.Path, c.chat, code, body)
			}
		}
		if want := map[int]string{200: "new", 400: "old"}[c.want]; content(t, s.in("a")) != want {
			t.Errorf("%q: it is %s", c.chat, content(t, s.in("a")))
		}
		for _, who := range s.chats {
			if who.Scoped() != (c.chat != "") || who.Scoped() && who.Chat.String() != c.chat || len(who.Ancestors) != strings.Count(c.ancestors, chatID) {
				t.Errorf("%q: touched for %+v", c.chat, who)
			}
		}
	}
}

// records are what the audit log is told.
type records struct {
	mu   sync.Mutex // guards list
	list []access.Record
}

func (r *records) Admit(string) (func(), error) { return func() {}, nil }

func (r *records) Record(one access.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

// TestAudit: which files were written and edited is told, also where nothing came
// of it, and no content.
func TestAudit(t *testing.T) {
	s := serve(t, []string{"a = old"})
	log := &records{}
	s.audit = log
	s.write(t, s.in("a"), "CONTENT")
	s.edit(t, "none", "CONTENT", s.in("a"), s.in("b"))
	s.read(t, s.in("a"))
	s.Close() // waits for handlers
	if len(log.list) != 2 {
		t.Fatalf("%+v", log.list)
	}
	for i, want := range []access.Record{{On: []string{s.in("a")}, Code: 200}, {On: []string{s.in("a"), s.in("b")}, Code: 404}} {
		if got := log.list[i]; !slices.Equal(got.On, want.On) || got.Code != want.Code || got.Digest == "" || strings.Contains(fmt.Sprintf("%+v", got), "CONTENT") {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestWriting: who is told of what is about to be written is so before any of it is, and
// not of what is refused.
func TestWriting(t *testing.T) {
	var s *server
	var told []string
	s = serve(t, append([]string{"b.txt = one", "c.txt = two"}, tree...), func(o *files.Options) {
		o.Writing = func(paths ...string) {
			for _, path := range paths {
				text, _ := os.ReadFile(path)
				told = append(told, strings.TrimPrefix(path, s.root)+"="+string(text))
			}
		}
	})
	both := []agentapi.FileEdits{
		{Path: s.in("b.txt"), Edits: []agentapi.Edit{{Search: "one", Replace: "new"}}}, {Path: s.in("c.txt"), Edits: []agentapi.Edit{{Search: "two", Replace: "new"}}},
	}
	wrong := []agentapi.FileEdits{both[0], {Path: s.in("c.txt"), Edits: []agentapi.Edit{{Search: "none", Replace: "new"}}}}
	for _, c := range []struct {
		do   func() (int, string)
		want string
	}{
		{func() (int, string) { return s.write(t, s.in(".env"), "new") }, ""},
		{func() (int, string) { return s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{Files: wrong}) }, ""},
		{func() (int, string) { return s.post(t, agentapi.PathEditFiles, agentapi.EditFiles{Files: both}) }, "/b.txt=one /c.txt=two"},
		{func() (int, string) { return s.write(t, s.in("m/fresh"), "new") }, "/m/fresh="},
		{func() (int, string) { return s.write(t, s.in("chain"), "new") }, "/a.txt=hello"},
	} {
		told = nil
		if code, body := c.do(); (code == 200) != (c.want != "") || strings.Join(told, " ") != c.want {
			t.Errorf("%d %s: told of %q, want %q", code, body, told, c.want)
		}
	}
}
