package chats_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/credential"
	"waymark/test/built"
	"waymark/test/e2e"
	"waymark/test/process"
	"waymark/test/testenv"
)

// timeout bounds what takes a moment.
const timeout = 2 * time.Minute

// world is a workspace, an agent that takes calls from the hub, and the hub.
type world struct {
	t    testing.TB
	ctx  context.Context //nolint:containedctx // the test's
	dir  string
	root string
	home e2e.Home

	web              string // the hub's address
	hub, agent       *process.Process
	agentToken       string // files
	reader, capacity string
	client           client.Client
}

// newWorld builds the programs and starts them.
func newWorld(t testing.TB, want agentapi.NewToken) *world {
	t.Helper()
	dir := testenv.SocketDir(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*timeout)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: dir, root: filepath.Join(dir, "ws")}
	w.must(built.Programs(ctx, dir, false, "waymark/cmd/agent", "waymark/cmd/hub", "waymark/examples/chat/chat-server"))
	var err error
	w.home, err = e2e.NewHome(dir)
	w.must(err)
	w.must(w.home.Configure("[services]\nhub = true\ndesktop = true\n"))
	w.write("AGENTS.md", "use tabs\n")
	w.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys.\n---\nPush, then wait.\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.web = l.Addr().String()
	w.must(l.Close())
	w.write(".agents/skills/deploy/ref/times.md", "A minute.\n")
	agent, reader := credential.AgentToken.New(), credential.ReaderToken.New()
	w.agentToken, w.reader = w.secret("agent.token", agent), w.secret("reader.token", reader)
	w.secret("tokens", "agent dev "+agent+"\nreader chats "+reader)
	w.startHub()
	w.startAgent()
	t.Cleanup(func() { // what it holds ends with it
		w.agent.Kill()
		w.hub.Kill()
	})
	control, err := w.home.ControlToken()
	w.must(err)
	want.Hub = &agentapi.Capability{}
	made, err := client.New(w.home.Socket(), client.Options{Token: control}).CreateToken(ctx, want)
	w.must(err)
	w.capacity = w.secret("capability", made.Secret)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) secret(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

func (w *world) startHub() {
	w.t.Helper()
	var err error
	w.hub, err = w.home.Start(w.ctx, filepath.Join(w.dir, "hub"), "serve", "--db", "sqlite:"+filepath.Join(w.dir, "hub.db"),
		"--drpc", "unix:"+filepath.Join(w.dir, "hub.sock"), "--http", w.web, "--tokens", filepath.Join(w.dir, "tokens"))
	w.must(err)
	w.must(w.hub.Await(w.ctx, regexp.MustCompile(`hub is ready`)))
}

func (w *world) startAgent() {
	w.t.Helper()
	a, err := e2e.StartAgent(w.ctx, e2e.AgentOptions{
		Program: filepath.Join(w.dir, "agent"), Home: w.home, Root: w.root,
		URL: "unix:" + filepath.Join(w.dir, "hub.sock"), TokenFile: w.agentToken,
	})
	w.must(err)
	w.agent, w.client = a.Process, a.Client
	for ctx, end := context.WithTimeout(w.ctx, timeout); ; {
		status, err := w.client.Status(ctx)
		if err == nil && status.Push != nil && string(status.Push.Reverse.State) == "open" {
			end()
			return
		}
		if process.Pause(ctx, 20*time.Millisecond) != nil {
			w.t.Fatalf("it has no reverse channel: %+v, %v\n%s", status, err, w.agent.Output())
		}
	}
}

// chat is the example, as it runs.
type chat struct {
	*world

	in  io.Writer
	out *buffer
}

// buffer is what a program has said, of which nobody has heard yet.
type buffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// until takes what was said up to a line.
func (b *buffer) until(line string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, after, found := strings.Cut(b.buf.String(), line+"\n")
	if found {
		b.buf.Reset()
		b.buf.WriteString(after)
	}
	return before, found
}

func (w *world) startChat() *chat {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, filepath.Join(w.dir, "chat-server"), "-hub", "http://"+w.web, "-agent", "dev",
		"-token-file", w.reader, "-capability-file", w.capacity)
	c := &chat{world: w, out: new(buffer)}
	cmd.Stdout, cmd.Stderr = c.out, c.out
	in, err := cmd.StdinPipe()
	w.must(err)
	c.in = in
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the chat server ended with %v: %s", err, c.out.buf.String())
		}
	})
	return c
}

// do gives a command, and returns what comes of it.
func (c *chat) do(command string) string {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, command)
	c.must(err)
	name, _, _ := strings.Cut(command, " ")
	return c.until(c.out, "done: "+name)
}

// wants gives a command whose outcome has texts in it.
func (c *chat) wants(command string, texts ...string) {
	c.t.Helper()
	said := c.do(command)
	for _, text := range texts {
		if !strings.Contains(said, text) {
			c.t.Errorf("%s: %s\nwant %q", command, said, text)
		}
	}
}

// TestWalk: a chat server pins a context, puts it into a prompt, reads a skill, calls
// tools in the workspace, is told that this drifts, moves, and goes on, whatever is
// started anew in between.
func TestWalk(t *testing.T) {
	w := newWorld(t, agentapi.NewToken{Scopes: []string{"files"}})
	c := w.startChat()
	c.wants("prompt", "use tabs", "deploy")
	c.wants("read skill://deploy/SKILL.md", "Push, then wait.")
	c.wants("tools", "read_file: ", "write_file: ")
	if said := c.do("tools"); strings.Contains(said, "execute") {
		t.Errorf("it is offered %s", said)
	}
	c.wants(`call read_file {"path":"AGENTS.md"}`, "use tabs")
	c.wants(`call execute {"command":"touch made"}`, "error: ", "not good for the tool execute")

	c.wants(`call write_file {"path":"AGENTS.md","content":"use spaces\n"}`)
	c.wants("wait", "drifted at revision")
	c.wants(`call read_file {"path":"AGENTS.md"}`, "use spaces", "What this call names, AGENTS.md, is not what is pinned")
	c.wants("prompt", "use tabs")

	w.must(w.agent.Signal(syscall.SIGKILL))
	<-w.agent.Done()
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		w.startAgent()
	}()
	<-restarted
	c.wants(`call read_file {"path":"AGENTS.md"}`, "use spaces")

	w.must(w.hub.Signal(syscall.SIGKILL))
	<-w.hub.Done()
	c.wants("tools", "error: ")
	w.startHub()
	c.wants("prompt", "use tabs") // the pin is where it was
	c.wants(`call read_file {"path":"AGENTS.md"}`, "use spaces")

	c.wants("refresh")
	c.wants("prompt", "use spaces")
	if said := c.do(`call read_file {"path":"AGENTS.md"}`); strings.Contains(said, "Waymark: ") {
		t.Errorf("after the refresh: %s", said)
	}

	// The capability ends where it was made.
	capability, err := os.ReadFile(w.capacity)
	w.must(err)
	control, err := w.home.ControlToken()
	w.must(err)
	owner := client.New(w.home.Socket(), client.Options{Token: control})
	list, err := owner.Tokens(w.ctx)
	if err != nil || len(list) != 1 || list[0].Hub == nil {
		t.Fatalf("tokens %+v, %v", list, err)
	}
	w.must(owner.RevokeToken(w.ctx, list[0].ID))
	c.wants(`call read_file {"path":"AGENTS.md"}`, "error: ", "revoked")
	for name, log := range map[string]string{"hub": w.hub.Output(), "agent": w.agent.Output()} {
		if strings.Contains(log, strings.TrimSpace(string(capability))) || strings.Contains(log, "use spaces") {
			t.Errorf("the log of the %s has what it mustn't:\n%s", name, log)
		}
	}
}
