package mcp_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/snapshot"
	"waymark/test/e2e"
	"waymark/test/process"
)

// world is a workspace with an agent.
type world struct {
	*shared
	t    testing.TB
	ctx  context.Context
	home e2e.Home
	root string
	// env is added to the agent's environment, args to its arguments.
	env, args []string
	// program is another agent than this version's.
	program string

	agent  *e2e.Agent
	client client.Client
}

// config is an .mcp.json.
type config map[string]entry

type entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// newWorld makes one whose agent isn't started yet. mcp is the [mcp] table.
func newWorld(t testing.TB, mcp string) *world {
	t.Helper()
	s := programs(t)
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	home, err := e2e.NewHome(dir)
	if err == nil {
		err = home.Configure("[limits]\ntime = \"1m\"\n[mcp]\n" + mcp)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*timeout)
	t.Cleanup(cancel)
	w := &world{shared: s, t: t, ctx: ctx, home: home, root: filepath.Join(dir, "w")}
	w.must(os.Mkdir(w.root, 0o700))
	// Also what a failing test leaves behind.
	t.Cleanup(func() {
		// A supervisor waits for the next agent.
		supervisor := []byte("\x00supervise\x00" + w.home.Dir)
		supervisors := w.processes(func(line, _ []byte) bool { return bytes.Contains(line, supervisor) })
		for _, pid := range append(w.left(), supervisors...) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	})
	return w
}

// hostileEntry configures a server of package hostile.
func (w *world) hostileEntry(mode string, args ...string) entry {
	return entry{Command: w.hostile, Args: append([]string{mode, w.mark()}, args...)}
}

// mark stands in the arguments, or the environment, of everything that the world's
// servers start. It has no path: what a server is given is taken out of what it says.
func (w *world) mark() string {
	sum := sha256.Sum256([]byte(w.home.Dir))
	return "world=" + hex.EncodeToString(sum[:10])
}

// left are the processes with the world's mark.
func (w *world) left() []int {
	mark, agent := []byte(w.mark()), []byte("\x00run\x00")
	return w.processes(func(line, environ []byte) bool {
		return !bytes.Contains(line, agent) && (bytes.Contains(line, mark) || bytes.Contains(environ, mark))
	})
}

// processes are those that match, by their command line and environment.
func (w *world) processes(match func(line, environ []byte) bool) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	w.must(err)
	for _, file := range files {
		line, err := os.ReadFile(filepath.Clean(file))
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if err != nil || !match(line, environ) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && !zombie(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombie reports whether a process has ended, and only its number is left.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// nothingLeft waits until nothing is, and returns how long that took.
func (w *world) nothingLeft() time.Duration {
	w.t.Helper()
	begun := time.Now()
	w.await("that nothing is left", func() (any, bool) {
		pids := w.left()
		return lines(pids), len(pids) == 0
	})
	return time.Since(begun)
}

// lines are the command lines of processes.
func lines(pids []int) (list []string) {
	for _, pid := range pids {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, fmt.Sprint(pid, ": ", strings.ReplaceAll(string(line), "\x00", " ")))
	}
	return list
}

// configure writes the workspace's .mcp.json.
func (w *world) configure(servers config) {
	w.t.Helper()
	text, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	w.must(err)
	w.put(filepath.Join(w.root, ".mcp.json"), string(text))
}

// start starts the agent and waits until it answers.
func (w *world) start() {
	w.t.Helper()
	w.launch()
	w.await("that it answers", func() (any, bool) {
		s, err := w.agent.Client.Snapshot(w.ctx, client.SnapshotOptions{Wait: time.Second})
		return err, err == nil && s.Version > 0
	})
	w.connect()
}

// launch starts it.
func (w *world) launch() {
	w.t.Helper()
	agent, err := e2e.StartAgent(w.ctx, e2e.AgentOptions{
		Program: cmp.Or(w.program, w.programs.Agent), Home: w.home, Root: w.root, Args: append([]string{"-v"}, w.args...),
		Command: func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, w.env...) },
	})
	w.must(err)
	w.agent = agent
	w.t.Cleanup(func() {
		agent.Kill()
		if w.t.Failed() {
			w.t.Logf("the agent said: %.20000s", agent.Output())
		}
	})
}

// connect takes the control token.
func (w *world) connect() {
	w.t.Helper()
	token, err := w.home.ControlToken()
	w.must(err)
	w.client = client.New(w.home.Socket(), client.Options{Token: token, Timeout: timeout})
}

// stop ends the agent well, and nothing of its servers is left.
func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	took, err := w.agent.Stop(ctx)
	w.must(err)
	w.t.Logf("ended within %v, its servers %v later", took, w.nothingLeft())
}

// await asks until it is so.
func (w *world) await(what string, is func() (any, bool)) {
	w.t.Helper()
	for begun := time.Now(); ; {
		v, ok := is()
		if ok {
			return
		}
		if time.Since(begun) > timeout || process.Pause(w.ctx, 40*time.Millisecond) != nil {
			w.t.Fatalf("it never comes to %s: %+v", what, v)
		}
	}
}

// approve approves servers as they are, all at once.
func (w *world) approve(names ...string) {
	w.t.Helper()
	w.approveWith(agentapi.MCPWidening{}, names...)
}

// approveWith approves servers and widens what they may do.
func (w *world) approveWith(more agentapi.MCPWidening, names ...string) {
	w.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		all.Go(func() {
			detail, err := w.client.MCPServer(w.ctx, name)
			if err == nil {
				a := agentapi.ApproveMCPServer{Definition: detail.Definition, Local: detail.Local, Held: detail.HeldDigest, MCPWidening: more}
				err = w.client.ApproveMCPServer(w.ctx, name, a)
			}
			if err != nil {
				errs[i] = fmt.Errorf("approve %s: %w", name, err)
			}
		})
	}
	all.Wait()
	w.must(errors.Join(errs...))
}

// listed waits until the agent knows of servers.
func (w *world) listed(names ...string) {
	w.t.Helper()
	w.await("that all are listed", func() (any, bool) {
		list, err := w.client.MCPServers(w.ctx, "", 0)
		if err != nil {
			return err, false
		}
		have := map[string]bool{}
		for i := range list.Servers {
			have[list.Servers[i].Name] = true
		}
		for _, name := range names {
			if !have[name] {
				return fmt.Sprintf("%s is missing of %v", name, have), false
			}
		}
		return nil, true
	})
}

// becomes waits until a server has one of some outcomes.
func (w *world) becomes(name string, outcomes ...snapshot.Outcome) *agentapi.MCPServerDetail {
	w.t.Helper()
	var detail *agentapi.MCPServerDetail
	w.await(fmt.Sprintf("that %s is %v", name, outcomes), func() (any, bool) {
		var err error
		if detail, err = w.client.MCPServer(w.ctx, name); err != nil {
			return err, false
		}
		for _, o := range outcomes {
			if detail.Outcome == o {
				return nil, true
			}
		}
		return fmt.Sprintf("%s: %s", detail.Outcome, detail.Error), false
	})
	return detail
}

// works are the outcomes of a server that can be called.
var works = []snapshot.Outcome{snapshot.OutcomeConnected, snapshot.OutcomeCached}

// call calls a tool.
func (w *world) call(name, arguments string) (*agentapi.MCPToolResult, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	return w.client.CallMCPTool(ctx, agentapi.CallMCPTool{ToolName: name, Arguments: json.RawMessage(arguments)}, nil)
}

// echoes requires that a server's tool echo works. One that a call has ended is
// started again, perhaps after a pause.
func (w *world) echoes(server string) {
	w.t.Helper()
	w.await("that "+server+" works", func() (any, bool) {
		r, err := w.call(server+"__echo", `{"text":"hello"}`)
		if err != nil {
			return err, false
		}
		return r, len(r.Content) > 0 && !r.IsError
	})
}

// say is what a result says.
func say(r *agentapi.MCPToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// run runs a command of the agent and returns what it prints, on both streams.
func (w *world) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.programs.Agent, args...)
	cmd.Env, cmd.Dir = append(w.home.Environ(), w.env...), w.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// put writes a file, with the directories on the way.
func (w *world) put(path, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
