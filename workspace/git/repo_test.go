package git_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/reexec"
	"waymark/test/built"
	"waymark/test/testenv"
	"waymark/workspace/git"
	"waymark/workspace/launch"
)

// self is this test binary, as the program that confines git where the small one that is
// installed with an agent isn't there.
var self *reexec.Program

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	self = reexec.Main(launch.Role())
	os.Exit(run(m))
}

// run runs the tests with the small program beside this one: starting this one takes ten
// times as long, and git is started a thousand times.
func run(m *testing.M) int {
	path, err := os.Executable()
	dir := filepath.Dir(path)
	if _, none := launch.FindHelper(); err == nil && none != nil {
		err = built.Programs(context.Background(), dir, false, "waymark/cmd/supervisor")
		defer func() { _ = os.Remove(filepath.Join(dir, "supervisor")) }()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// patient is how long a test waits for what should come at once.
const patient = 2 * time.Minute

// place is a directory for repositories, with a home of its own beside it.
type place struct {
	testing.TB
	dir, home string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{TB: t, dir: filepath.Join(dir, "work"), home: filepath.Join(dir, "home")}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// at is a path in the directory.
func (p *place) at(path string) string { return filepath.Join(p.dir, path) }

// git runs git as a user does, with nothing of ours against what it executes.
func (p *place) git(dir string, args ...string) string {
	p.Helper()
	out, err := p.plain(dir, args...)
	if err != nil {
		p.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (p *place) plain(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	// Nothing goes on in the background, waits for a disk, or is there that no test needs.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsync=none", "-c", "init.templateDir="}, args...)...)
	cmd.Dir = p.at(dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repo makes a repository with files, committed.
func (p *place) repo(dir string, files ...string) {
	p.Helper()
	p.write(dir+"/.keep", "")
	p.git(dir, "init", "-q", "-b", "main")
	for i := 0; i < len(files); i += 2 {
		p.write(dir+"/"+files[i], files[i+1])
	}
	p.git(dir, "add", "-A")
	p.git(dir, "commit", "-q", "-m", "first")
}

// write writes a file, with the directories above it.
func (p *place) write(path, content string) {
	p.Helper()
	path = p.at(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *place) remove(path string) {
	p.Helper()
	if err := os.RemoveAll(p.at(path)); err != nil {
		p.Fatal(err)
	}
}

// server serves the watch for the directory, or another root.
type server struct {
	*place
	*git.Service
	url string
}

func (p *place) serve(root string, launcher *launch.Program) *server {
	p.Helper()
	return p.serveWith(root, launcher, git.Hurried)
}

func (p *place) serveWith(root string, launcher *launch.Program, change func(git.Options) git.Options) *server {
	p.Helper()
	state := p.TempDir()
	left := filepath.Join(state, "git-private-x") // by an agent that was killed
	if err := os.MkdirAll(filepath.Join(left, "objects"), 0o700); err != nil {
		p.Fatal(err)
	}
	s := git.New(change(git.Options{Root: func() string { return p.at(root) }, Home: p.home, StateDir: state, Launcher: launcher}))
	srv := httptest.NewServer(httpapi.New(httpapi.Options{}, s.Service()))
	p.Cleanup(func() {
		srv.Close()
		if err := s.Close(); err != nil {
			p.Error(err)
		}
		if left, _ := os.ReadDir(state); len(left) > 0 {
			p.Errorf("%s is left behind", left[0].Name())
		}
	})
	return &server{p, s, "ws" + strings.TrimPrefix(srv.URL, "http") + agentapi.PathGitWatch}
}

// confined is how git is confined; the test is skipped where it can't be.
func confined(t testing.TB) *launch.Program {
	t.Helper()
	p, err := launch.Find(self)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := launch.Supported(); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return p
}

// client is a client of the watch with what it knows.
type client struct {
	testing.TB
	socket   *websocket.Conn
	repos    map[string]agentapi.GitRepository
	removed  []string
	warnings []string
	all      []agentapi.GitMessage
}

// dial connects and waits for the first answer.
func (s *server) dial(query string) *client {
	s.Helper()
	socket, _, err := websocket.Dial(context.Background(), s.url+query, nil)
	if err != nil {
		s.Fatal(err)
	}
	socket.SetReadLimit(4 << 20)
	s.Cleanup(func() { _ = socket.CloseNow() })
	c := &client{TB: s.TB, socket: socket, repos: map[string]agentapi.GitRepository{}}
	c.answer()
	return c
}

// next reads a message.
func (c *client) next() agentapi.GitMessage {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	_, data, err := c.socket.Read(ctx)
	if err != nil {
		c.Fatal(err)
	}
	var m agentapi.GitMessage
	if err := json.Unmarshal(data, &m); err != nil {
		c.Fatal(err)
	}
	c.all = append(c.all, m)
	for _, r := range m.Repositories {
		if r.Removed {
			c.removed = append(c.removed, r.RepoRoot)
			delete(c.repos, r.RepoRoot)
			continue
		}
		c.repos[r.RepoRoot] = r
	}
	if m.Type == agentapi.GitChanges && m.Message != "" {
		c.warnings = append(c.warnings, m.Message)
	}
	return m
}

// answer reads messages until one is complete.
func (c *client) answer() agentapi.GitMessage {
	c.Helper()
	for {
		if m := c.next(); m.Type == agentapi.GitChanges && len(m.Pending) == 0 {
			return m
		}
	}
}

func (c *client) say(text string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := c.socket.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		c.Fatal(err)
	}
}

// until asks again until a condition holds.
func (c *client) until(what string, ok func() bool) {
	c.Helper()
	for deadline := time.Now().Add(patient); !ok(); {
		if time.Now().After(deadline) {
			c.Fatalf("%s: doesn't come; known are %q, warnings %q\n%s", what, slices.Sorted(maps.Keys(c.repos)), c.warnings, c.diffs())
		}
		c.say(`{"type":"refresh"}`)
		c.answer()
	}
}

func (c *client) diffs() string {
	text := ""
	for _, root := range slices.Sorted(maps.Keys(c.repos)) {
		text += c.repos[root].UnifiedDiff
	}
	return text
}

// diff is what is known of the only repository.
func (c *client) only() agentapi.GitRepository {
	c.Helper()
	if len(c.repos) != 1 {
		c.Fatalf("known are %q, warnings %q", slices.Sorted(maps.Keys(c.repos)), c.warnings)
	}
	for _, r := range c.repos {
		return r
	}
	panic("unreachable")
}

// look is what a new client is told of a root.
func (p *place) look(root string, launcher *launch.Program) *client {
	p.Helper()
	return p.serve(root, launcher).dial("")
}

// has fails the test unless the text has all of the parts.
func has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// hasNot fails the test when the text has one of the parts.
func hasNot(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

func chat(n byte) uuid.UUID { return uuid.UUID{15: n} }
