package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/test/mcpserver"
)

// inside is set in a process of this program that runs a client in the namespace.
const inside = "WAYMARK_TEST_CLIENT_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		mcpserver.Main()
		os.Exit(0)
	}
	if os.Getenv(inside) != "" && os.Args[1] == "scripted" {
		if err := runScripted(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(inside) != "" {
		if err := runInside(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runInside brings loopback up and runs a command. With "model" it is given a model, and
// what the model was told is printed in place of what the command prints.
func runInside(mode string, args []string) error {
	if err := loopback(); err != nil {
		return err
	}
	if err := os.Unsetenv(inside); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	if mode != "model" {
		cmd.Stdout = os.Stdout
		return cmd.Run()
	}
	model := &model{read: os.Getenv(readsFile)}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: model} // it lives for one request, in a namespace of its own
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	config, err := json.Marshal(map[string]any{
		"model": "fake/m",
		"provider": map[string]any{"fake": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": map[string]any{"baseURL": "http://" + l.Addr().String() + "/v1", "apiKey": "none"},
			"models": map[string]any{"m": map[string]any{"name": "m", "limit": map[string]any{"context": 200_000, "output": 8000}}},
		}},
	})
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "OPENCODE_CONFIG_CONTENT="+string(config), "ANTHROPIC_BASE_URL=http://"+l.Addr().String())
	if err := cmd.Run(); err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, model.told())
	return err
}

// loopback brings up the one interface of a new network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	return nil
}

// namespace makes a command run in a network namespace of its own.
func namespace(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// readsFile names a file that the model has Claude Code read before it answers.
const readsFile = "WAYMARK_TEST_CLIENT_READS"

// model answers "ok" to whoever asks, and keeps what it was told by the system.
type model struct {
	mu     sync.Mutex // guards the fields below
	read   string     // a file that Claude Code is to read before it is answered
	system string
}

func (m *model) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.system
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []message `json:"messages"`
		Tools    []any     `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	for _, message := range asked.Messages {
		if text, ok := message.Content.(string); ok && message.Role == "system" && len(asked.Tools) > 0 {
			m.system += text
		}
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		m.messages(w, asked.Messages, len(asked.Tools) > 0)
		return
	}
	for _, choice := range []string{`{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":null}`, `{"index":0,"delta":{},"finish_reason":"stop"}`} {
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[%s]}\n\n", choice)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// messages answers Claude Code, and keeps the texts of the last request with tools.
func (m *model) messages(w io.Writer, asked []message, tools bool) {
	m.mu.Lock()
	told := ""
	for _, message := range asked {
		parts, _ := message.Content.([]any)
		for _, part := range parts {
			if text, ok := part.(map[string]any)["text"].(string); ok && tools {
				told += text + "\n"
			}
		}
	}
	if tools {
		m.system = told // with what was told before
	}
	block, delta, end := `{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`, "end_turn"
	if m.read != "" && tools {
		input, _ := json.Marshal(map[string]string{"file_path": m.read})
		partial, _ := json.Marshal(string(input))
		block, delta, end = `{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}`, `{"type":"input_json_delta","partial_json":`+string(partial)+`}`, "tool_use"
		m.read = ""
	}
	m.mu.Unlock()
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + end + `"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
	} {
		kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
	}
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// needNamespace skips a test where the kernel allows none, which no package that
// could be installed changes.
func needNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "plain", "/bin/true")
	cmd.Env = append(os.Environ(), inside+"=1")
	namespace(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no network namespace can be made here: %v: %s", err, strings.TrimSpace(string(out)))
	}
}

var errNoPrompt = errors.New("the client printed something else than expected")
