package git_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/launch"
)

// both are the two ways to run git.
func both(t *testing.T) map[string]*launch.Program {
	t.Helper()
	return map[string]*launch.Program{"confined": confined(t), "unconfined": nil}
}

// TestRevert: an edit is told, and that it is undone; in between nothing is.
func TestRevert(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "a", "a\n")
	s := p.serve("", confined(t))
	if err := s.Unconfined(); err != nil {
		t.Errorf("it isn't confined: %v", err)
	}
	c := s.dial("")
	if d := c.only().UnifiedDiff; d != "" {
		t.Errorf("nothing has changed: %s", d)
	}
	p.write("a", "b\n")
	c.until("the edit", func() bool { return strings.Contains(c.only().UnifiedDiff, "+b") })
	told := 0
	for range 2 {
		c.say(`{"type":"refresh"}`)
		told += len(c.answer().Repositories)
	}
	if told != 0 {
		t.Errorf("what hasn't changed is told %d times", told)
	}
	p.write("a", "a\n")
	c.until("the end of the edit", func() bool { return c.only().UnifiedDiff == "" })
	p.git("", "checkout", "-q", "-b", "other")
	s.Touched(agentapi.Caller{}, p.at("a")) // without being asked
	for c.only().Branch != "other" {
		c.next()
	}
}

// TestChats: a chat sees what it and the chats that it started have touched.
func TestChats(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{"one", "two", "three"} {
		p.repo(name, "f", "f\n")
		p.write(name+"/f", name+"\n")
	}
	p.repo("one/inner", "f", "f\n")
	p.write("notgit/x", "x")
	s := p.serve("", confined(t))
	parent, child, other := chat(1), chat(2), chat(3)
	watch := func(n byte) *client { return s.dial("?chat_id=" + chat(n).String()) }
	before := watch(1)
	if len(before.repos) != 0 {
		t.Errorf("it has touched nothing: %v", before.repos)
	}
	s.Touched(agentapi.Caller{Chat: parent}, p.at("one/f"), "relative/f", "", "one/f", p.at("notgit/x"), p.at("one/new/dir/file"), "/")
	s.Touched(agentapi.Caller{Chat: parent}, p.at("one/f"))
	for len(before.repos) == 0 {
		before.next() // without being asked
	}
	var many []string
	for i := range 500 {
		many = append(many, p.at(fmt.Sprintf("two/dir%d/f", i)))
	}
	s.Touched(agentapi.Caller{Chat: child, Ancestors: []uuid.UUID{parent}}, many...)
	s.Touched(agentapi.Caller{Chat: child, Ancestors: []uuid.UUID{parent}}, p.at("one/inner/f"))
	s.Touched(agentapi.Caller{Chat: other}, p.at("three/f"))
	s.Touched(agentapi.Caller{}, p.at("three/f"))
	for n, want := range map[byte][]string{1: {"one", "one/inner", "two"}, 2: {"one/inner", "two"}, 3: {"three"}, 4: nil} {
		c := watch(n)
		if len(c.repos) != len(want) {
			t.Errorf("chat %d sees %v", n, c.repos)
		}
		for _, name := range want {
			if c.repos[p.at(name)].Branch != "main" {
				t.Errorf("chat %d doesn't see %s", n, name)
			}
		}
	}
	before.until("the child's", func() bool { return len(before.repos) == 3 })
	if d := before.repos[p.at("one")].UnifiedDiff; !strings.Contains(d, "+one") {
		t.Errorf("got %s", d)
	}
}

// TestGone: a repository that is deleted while it is watched is told once, and
// once more when it is back.
func TestGone(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(p *place){
		"whole":    func(p *place) { p.remove("repo") },
		".git":     func(p *place) { p.remove("repo/.git") },
		"worktree": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if remove == nil {
				p.repo("main", "f", "f\n")
				p.git("main", "worktree", "add", "-q", "../repo")
				remove = func(p *place) { p.remove("main") }
			} else {
				p.repo("repo", "f", "f\n")
			}
			s := p.serve("", confined(t))
			s.Touched(agentapi.Caller{Chat: chat(1)}, p.at("repo/f"))
			c := s.dial("?chat_id=" + chat(1).String())
			c.only()
			remove(p)
			c.until("its end", func() bool { return len(c.repos) == 0 })
			for range 2 {
				c.say(`{"type":"refresh"}`)
				c.answer()
			}
			if len(c.removed) != 1 || c.removed[0] != p.at("repo") || len(c.warnings) != 0 {
				t.Errorf("told are %q, warnings %q", c.removed, c.warnings)
			}
			p.remove("repo")
			p.repo("repo", "f", "f\n")
			c.until("its return", func() bool { return len(c.repos) == 1 })
		})
	}
}

// TestDamaged: what is damaged is said, isn't taken for gone, and recovers.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content string }{
		"HEAD":          {".git/HEAD", "nonsense\x00\n"},
		"empty HEAD":    {".git/HEAD", ""},
		"foreign HEAD":  {".git/HEAD", strings.Repeat("1", 40) + "\n"},
		"branch":        {".git/refs/heads/main", "nonsense\n"},
		"configuration": {".git/config", "[core\nnonsense"},
		"index":         {".git/index", "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.repo("", "f", "f\n")
			good, err := os.ReadFile(p.at(c.file))
			if err != nil {
				t.Fatal(err)
			}
			w := p.look("", confined(t))
			w.only()
			p.write(c.file, c.content)
			w.until("the warning", func() bool { return len(w.warnings) > 0 })
			if !strings.HasPrefix(w.warnings[0], p.dir+": ") {
				t.Errorf("the warning is %q", w.warnings[0])
			}
			w.say(`{"type":"refresh"}`)
			w.answer()
			if len(w.removed) > 0 || len(w.warnings) != 1 {
				t.Errorf("removed are %q, warnings %q", w.removed, w.warnings)
			}
			p.write(c.file, string(good))
			p.write("f", "g\n")
			w.until("that it has recovered", func() bool { return strings.Contains(w.only().UnifiedDiff, "+g") })
		})
	}
}

// TestDamagedInside: a repository that is damaged isn't taken for a part of the one
// around it.
func TestDamagedInside(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"inner", "in:ner"} {
		p := newPlace(t)
		p.repo("", "outer", "o\n")
		p.repo(dir, "f", "f\n")
		p.write(dir+"/.git/HEAD", "nonsense\n")
		if c := p.look(dir, confined(t)); len(c.repos) > 0 || len(c.warnings) != 1 {
			t.Errorf("%s: shown are %v, warnings %q", dir, c.repos, c.warnings)
		}
	}
}

// TestProtocol: what a client says that isn't known is answered, a chat that
// isn't one is refused, and two clients don't disturb each other.
func TestProtocol(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "f", "f\n")
	s := p.serve("", nil)
	if s.Unconfined() == nil {
		t.Error("it doesn't say that git isn't confined")
	}
	for _, bad := range []string{"x", "00000000-0000-0000-0000-000000000000", "1&chat_id=2"} {
		_, resp, err := websocket.Dial(t.Context(), s.url+"?chat_id="+bad, nil)
		if err == nil || resp == nil || resp.StatusCode != 400 {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		if e := problem.Read(resp, "agent"); e.Message == "" {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	one, two := s.dial(""), s.dial("")
	for _, text := range []string{`{"type":"subscribe","paths":["/"]}`, `{}`, `nonsense`, `[]`, `{"type":"` + strings.Repeat("x", 3<<20) + `"}`} {
		one.say(text)
		m := one.next()
		for m.Type == agentapi.GitChanges {
			m = one.next()
		}
		if m.Type != agentapi.GitError || m.Message != "unknown message type" || m.ScannedAt != nil {
			t.Errorf("%.20s: got %+v", text, m)
		}
	}
	p.write("f", "g\n")
	one.until("the edit", func() bool { return one.only().UnifiedDiff != "" })
	_ = one.socket.CloseNow()
	two.until("the edit", func() bool { return two.only().UnifiedDiff != "" })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := two.socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the end it reads %v", err)
	}
}

// TestStopsWhileSending: a client that is about to take a message when the service ends gets
// it, and is told.
func TestStopsWhileSending(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repo("", "f", "f\n")
	p.write("big", strings.Repeat(strings.Repeat("\"\\", 40)+"\n", 1700<<10/81))
	s := p.serve("", nil)
	narrow := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(64 << 10) // so that what isn't read waits at the server
		}
		return conn, err
	}}
	socket, _, err := websocket.Dial(t.Context(), s.url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: narrow}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	socket.SetReadLimit(4 << 20)
	rest := readLarge(t, socket)
	ended := make(chan error, 1)
	go func() { ended <- s.Close() }()
	time.Sleep(50 * time.Millisecond) // nothing tells that it stops
	if n, err := io.Copy(io.Discard, rest); err != nil {
		t.Errorf("%d bytes more were read: %v", n, err)
	}
	for err = nil; err == nil; {
		_, _, err = socket.Read(t.Context())
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the end it reads %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readLarge reads messages until one is large, and returns the rest of it.
func readLarge(t *testing.T, socket *websocket.Conn) io.Reader {
	t.Helper()
	for {
		_, message, err := socket.Reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch _, err := io.ReadFull(message, make([]byte, 64<<10)); {
		case err == nil:
			return message
		case err != io.EOF && err != io.ErrUnexpectedEOF:
			t.Fatal(err)
		}
	}
}

// TestLarge: a diff that is too large gives way to a sentence, and a message is
// never larger than what clients read.
func TestLarge(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	line := strings.Repeat("\"\\", 40) + "\n" // twice as long in JSON
	for i, size := range []int{4 << 20, 2 << 20, 1 << 20, 2900 << 10} {
		name := fmt.Sprint("r", i)
		p.repo(name, "f", "f\n")
		p.write(name+"/big", strings.Repeat(line, size/len(line)))
	}
	p.repo("none", "f", "f\n")
	p.write("huge/x", strings.Repeat("0123456789abcde\n", 5<<20))
	p.git("huge", "init", "-q", "-b", "main")
	s := p.serve("", nil)
	s.Touched(agentapi.Caller{Chat: chat(1)}, p.at("r0"), p.at("r1"), p.at("r2"), p.at("r3"), p.at("none"), p.at("huge"))
	c := s.dial("?chat_id=" + chat(1).String()) // which reads 4 MiB
	c.until("all", func() bool { return len(c.repos) == 6 })
	for name, r := range c.repos {
		if r.Branch != "main" {
			t.Errorf("%s has no branch", name)
		}
	}
	has(t, c.repos[p.at("r0")].UnifiedDiff, "Total diff too large to show. Size: 4.")
	has(t, c.repos[p.at("huge")].UnifiedDiff, "Size: more than 6")
	small := s.dial("") // the root is no repository
	if len(small.repos) != 0 {
		t.Errorf("got %v", small.repos)
	}
	for _, m := range c.all {
		size := 0
		for _, r := range m.Repositories {
			size += len(r.UnifiedDiff)
		}
		if size > 3<<20 {
			t.Errorf("a message has %d bytes of diff", size)
		}
	}
}
