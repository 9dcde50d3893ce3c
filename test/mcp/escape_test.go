package mcp_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"waymark/agentapi"
	hostile "waymark/test/mcp/servers"
	"waymark/workspace/launch"
)

// needProfiles skips the test where the kernel can't hold servers to a profile.
func needProfiles(t testing.TB) {
	t.Helper()
	if _, err := launch.Supported(); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
}

// try has a server try things, and returns what it says of each.
func (w *world) try(server string, attempts ...hostile.Attempt) []string {
	w.t.Helper()
	arguments, err := json.Marshal(map[string]any{"attempts": attempts})
	w.must(err)
	r, err := w.call(server+"__try", string(arguments))
	w.must(err)
	var said []string
	if err := json.Unmarshal([]byte(say(r)), &said); err != nil || len(said) != len(attempts) {
		w.t.Fatalf("%v: %v", err, r)
	}
	return said
}

// lair is what a server shouldn't reach.
type lair struct {
	dialed atomic.Int64
	// refused are the attempts that no server may succeed with; allowed are those
	// that must go on working.
	refused, allowed []hostile.Attempt
	// made are files that mustn't be there afterwards.
	made []string
}

// secretVariable is one of the agent's, that no server is given.
const secretVariable = "ANOTHER_PROGRAMS_PASSWORD"

// newLair puts things where servers look for them.
func newLair(w *world) *lair {
	w.t.Helper()
	l := &lair{}
	user, run := w.home.User(), filepath.Join(w.home.Dir, "run")
	for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".docker/config.json", ".mozilla/p/key4.db", ".bash_history", ".local/share/keyrings/login.keyring"} {
		w.put(filepath.Join(user, name), "secret")
		l.refuse("read", filepath.Join(user, name))
	}
	w.put(filepath.Join(w.root, ".git/config"), "[core]\n")
	l.writes(w,
		filepath.Join(w.root, "new.txt"), filepath.Join(w.root, ".git/hooks/pre-commit"), filepath.Join(w.root, ".vscode/tasks.json"), filepath.Join(w.root, ".envrc"),
		filepath.Join(user, ".config/systemd/user/x.service"), filepath.Join(user, ".local/share/bash-completion/completions/git"), filepath.Join(user, ".local/share/dbus-1/services/x.service"),
		filepath.Join(user, ".config/autostart/x.desktop"), filepath.Join(user, ".bashrc"), filepath.Join(user, ".profile"), filepath.Join(user, ".gitconfig"),
		filepath.Join(user, ".local/bin/git"), filepath.Join(user, "go/bin/gopls"), filepath.Join(user, ".cargo/bin/cargo"), filepath.Join(user, ".ssh/authorized_keys"),
		filepath.Join(w.home.State(), "w/x/approvals.json"), filepath.Join(w.home.Dir, "config/waymark/other.toml"), "/etc/waymark-test-owned/x", "/usr/local/waymark-test-owned/x",
	)
	l.refuse("remove", filepath.Join(w.root, ".git/config"))
	l.refuse("rename", filepath.Join(w.root, ".git/config"))
	l.refuse("symlink", filepath.Join(w.root, "link"))
	for i, path := range []string{filepath.Join(run, "bus"), filepath.Join(w.home.Dir, "docker.sock"), filepath.Join(w.root, "in.sock")} {
		l.serve(w, "unix", path)
		l.refuse("dial", path)
		abstract := fmt.Sprintf("waymark-test%s-%d", w.home.Dir, i)
		l.serve(w, "unix", "@"+abstract)
		l.refuse("abstract", abstract)
	}
	l.refuse("dial", w.home.Socket())
	l.refuse("listen", filepath.Join(w.home.Dir, "own.sock"))
	l.refused = append(l.refused,
		hostile.Attempt{Does: "environment", To: secretVariable}, hostile.Attempt{Does: "environment", To: "WAYMARK_SOCKET"},
		hostile.Attempt{Does: "environment", To: "CODER_AGENT_TOKEN"},
		hostile.Attempt{Does: "environ", To: "environ", Needle: "the-password-of-another"},
		hostile.Attempt{Does: "fill", To: "filling"},
	)
	l.allowed = []hostile.Attempt{
		{Does: "socketpair"}, {Does: "read", To: filepath.Join(w.root, ".mcp.json")}, {Does: "list", To: w.root},
		{Does: "listen-tcp", To: "127.0.0.1:0"}, {Does: "environment", To: "PATH"}, {Does: "environment", To: "HOME"}, {Does: "environment", To: "OWN", Needle: "OWN=own"},
	}
	return l
}

func (l *lair) refuse(does, to string) {
	l.refused = append(l.refused, hostile.Attempt{Does: does, To: to})
}

// writes are files that nothing may make, in directories that are there where they
// are the world's.
func (l *lair) writes(w *world, paths ...string) {
	for _, path := range paths {
		if strings.HasPrefix(path, w.home.Dir) {
			w.must(os.MkdirAll(filepath.Dir(path), 0o700))
		}
		l.refuse("mkdir", filepath.Dir(path)+"/new")
		l.refuse("write", path)
		l.made = append(l.made, path, filepath.Dir(path)+"/new")
	}
}

// serve listens on a socket that nobody should dial.
func (l *lair) serve(w *world, network, address string) {
	w.t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(w.ctx, network, address)
	w.must(err)
	w.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			l.dialed.Add(1)
			_ = c.Close()
		}
	}()
}

// TestEscapes: a server reaches nothing that isn't its own.
func TestEscapes(t *testing.T) {
	t.Parallel()
	needProfiles(t)
	w := newWorld(t, "")
	w.env = []string{secretVariable + "=the-password-of-another", "CODER_AGENT_TOKEN=the-password-of-another"}
	l := newLair(w)
	e := w.hostileEntry("tries")
	e.Env = map[string]string{"OWN": "own"}
	w.configure(config{"held": e})
	w.start()
	for _, file := range []string{"control.token", "agent.token"} {
		tokens, _ := filepath.Glob(filepath.Join(w.home.State(), "w/*", file))
		for _, token := range tokens {
			l.refuse("read", token)
		}
	}
	l.refuse("signal", strconv.Itoa(w.agent.PID()))
	w.listed("held")
	w.approve("held")

	for i, said := range w.try("held", l.refused...) {
		if said == hostile.Done {
			t.Errorf("it can %s %s", l.refused[i].Does, l.refused[i].To)
		} else {
			t.Logf("%s %s: %s", l.refused[i].Does, l.refused[i].To, said)
		}
	}
	for i, said := range w.try("held", l.allowed...) {
		if said != hostile.Done {
			t.Errorf("it can't %s %s: %s", l.allowed[i].Does, l.allowed[i].To, said)
		}
	}
	if n := l.dialed.Load(); n > 0 {
		t.Errorf("a socket was dialed %d times", n)
	}
	for _, path := range l.made {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}

	w.stop()
}

// TestWithoutProfile: what is held back really is, for without a profile the same
// succeeds.
func TestWithoutProfile(t *testing.T) {
	t.Parallel()
	needProfiles(t)
	w := newWorld(t, "confine = \"none\"\n")
	w.env = []string{secretVariable + "=the-password-of-another"}
	newLair(w)
	w.configure(config{"free": w.hostileEntry("tries")})
	w.start()
	w.listed("free")
	w.approve("free")
	attempts := []hostile.Attempt{
		{Does: "read", To: filepath.Join(w.home.User(), ".ssh/id_ed25519")}, {Does: "write", To: filepath.Join(w.root, "new.txt")},
		{Does: "dial", To: w.home.Socket()}, {Does: "dial", To: filepath.Join(w.home.Dir, "docker.sock")},
		{Does: "environ", To: "environ", Needle: "the-password-of-another"}, {Does: "signal", To: strconv.Itoa(w.agent.PID())},
	}
	for i, said := range w.try("free", attempts...) {
		if said != hostile.Done {
			t.Errorf("without a profile it can't %s %s: %s", attempts[i].Does, attempts[i].To, said)
		}
	}
	w.stop()
}

// TestEscapeWidened: what an approval gives, and nothing else.
func TestEscapeWidened(t *testing.T) {
	t.Parallel()
	needProfiles(t)
	w := newWorld(t, "")
	w.env = []string{"GIVEN=the-given-one", secretVariable + "=the-password-of-another"}
	l := newLair(w)
	w.put(filepath.Join(w.home.User(), "data/file"), "data")
	w.put(filepath.Join(w.root, "out/file"), "data")
	w.configure(config{"wide": w.hostileEntry("tries"), "narrow": w.hostileEntry("tries")})
	w.start()
	w.listed("wide", "narrow")
	w.approveWith(agentapi.MCPWidening{
		Read: []string{filepath.Join(w.home.User(), "data")}, Write: []string{"out"}, Env: []string{"GIVEN"}, Unix: true,
	}, "wide")
	w.approveWith(agentapi.MCPWidening{Ports: []uint16{}}, "narrow")
	want := []struct {
		server string
		hostile.Attempt
		may bool
	}{
		{"wide", hostile.Attempt{Does: "read", To: filepath.Join(w.home.User(), "data/file")}, true},
		{"wide", hostile.Attempt{Does: "write", To: filepath.Join(w.home.User(), "data/file")}, false},
		{"wide", hostile.Attempt{Does: "write", To: filepath.Join(w.root, "out/new")}, true},
		{"wide", hostile.Attempt{Does: "write", To: filepath.Join(w.root, "new.txt")}, false},
		{"wide", hostile.Attempt{Does: "environment", To: "GIVEN"}, true},
		{"wide", hostile.Attempt{Does: "environment", To: secretVariable}, false},
		{"wide", hostile.Attempt{Does: "dial", To: filepath.Join(w.home.Dir, "docker.sock")}, true},
		{"wide", hostile.Attempt{Does: "read", To: filepath.Join(w.home.User(), ".ssh/id_ed25519")}, false},
		{"wide", hostile.Attempt{Does: "environ", To: "environ", Needle: "the-password-of-another"}, false},
		{"narrow", hostile.Attempt{Does: "listen-tcp", To: "127.0.0.1:0"}, false},
		{"narrow", hostile.Attempt{Does: "tcp", To: l.tcp(w)}, false},
		{"wide", hostile.Attempt{Does: "tcp", To: l.tcp(w)}, true},
	}
	for _, c := range want {
		if said := w.try(c.server, c.Attempt)[0]; (said == hostile.Done) != c.may {
			t.Errorf("%s, %s %s: %s", c.server, c.Does, c.To, said)
		}
	}
	// Who may dial the agent's socket may not act through it.
	if out, err := w.run("mcp", "show", "wide"); err != nil || !strings.Contains(out, "data") {
		t.Errorf("%v: %s", err, out)
	}
	w.stop()
}

// tcp is the address of a server that takes every connection.
func (l *lair) tcp(w *world) string {
	w.t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(w.ctx, "tcp", "127.0.0.1:0")
	w.must(err)
	w.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return listener.Addr().String()
}
