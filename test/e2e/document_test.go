package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"waymark/test/built"
	"waymark/test/openapitest"
	"waymark/test/process"
)

// TestDocumentValid: the description of everything that a daemon serves is valid. What
// validates it would be part of every agent under test in the agent's own tests.
func TestDocumentValid(t *testing.T) {
	dir, err := os.MkdirTemp("", "wm") // a test's directory may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := built.Programs(t.Context(), dir, false, "waymark/cmd/agent"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "a.sock")
	cmd := exec.Command(filepath.Join(dir, "agent"), "run", "--root", filepath.Join(dir, "ws"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "XDG_CACHE_HOME="+dir+"/cache", "XDG_CONFIG_HOME="+dir+"/config", "XDG_RUNTIME_DIR=", "WAYMARK_SOCKET="+socket)
	p := process.StartOwned(t, cmd)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	var resp *http.Response
	p.Until("it answers", func() bool {
		resp, err = client.Get("http://localhost/api/v0/openapi.json")
		return err == nil
	})
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %s: %s", err, resp.Status, data)
	}
	openapitest.Load(t, data).Valid(t)
	p.Ends(syscall.SIGTERM)
}
