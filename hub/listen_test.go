package hub_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/waymark"
)

func listen(t *testing.T, opts hub.ListenOptions) *hub.Server {
	t.Helper()
	server, err := hub.Listen(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// run runs the server; stop ends it and returns what Run said.
func run(t *testing.T, server *hub.Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() }) // before the server is closed
	return stop
}

// What is tested here takes locks that processes which are just being started keep for
// a moment: it isn't run beside tests that start some.

// TestStoppedAtOnce: a server that is stopped before all of it has begun ends well.
func TestStoppedAtOnce(t *testing.T) {
	dir := t.TempDir()
	for range 30 { // of which some were stopped between
		server := listen(t, hub.ListenOptions{
			DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0", Monitor: "127.0.0.1:0",
			DRPC: []string{"unix:" + filepath.Join(dir, "s"), "tcp:127.0.0.1:0"},
		})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := server.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServerRestart is the life of an embedded hub, twice.
func TestServerRestart(t *testing.T) {
	dir := t.TempDir()
	opts := hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0",
		DRPC: []string{"unix:" + filepath.Join(dir, "run", "s"), "tcp:127.0.0.1:0"},
	}
	var tokens [2][2]string
	for round := range 2 {
		server := listen(t, opts)
		stop := run(t, server)
		for i, nt := range []store.NewToken{{Role: store.RoleAgent, AgentID: "local"}, {Role: store.RoleReader}} {
			text, _, err := hub.EnsureToken(t.Context(), server.Store(), nt, filepath.Join(dir, string(nt.Role)+".token"))
			if err != nil {
				t.Fatal(err)
			}
			tokens[round][i] = text
		}
		for i, spec := range server.DRPC() {
			network, addr, _ := strings.Cut(spec, ":")
			conn, err := net.Dial(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			ctx := drpcmetadata.Add(t.Context(), wire.TokenMetadata, tokens[round][0])
			request := &pushtest.Push{Version: uint64(i + 1)}
			response, err := pushtest.Send(ctx, waymark.NewDRPCContextClient(drpcconn.New(conn)), request)
			if err != nil || !response.GetAccepted() {
				t.Fatalf("%s: %v", spec, err)
			}
			_ = conn.Close()
		}
		request, _ := http.NewRequestWithContext(t.Context(), "GET", server.HTTPURL()+"/api/v0/agents/local/context", nil)
		request.Header.Set("Authorization", "Bearer "+tokens[round][1])
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatal(err, response)
		}
		_ = response.Body.Close()
		if err := stop(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "run", "s")); !os.IsNotExist(err) {
			t.Error("the socket is still there")
		}
	}
	if tokens[0] != tokens[1] {
		t.Error("tokens changed with the restart")
	}
	// Another agent, another role, or a revoked token: a new one is made.
	server := listen(t, opts)
	text, made, err := hub.EnsureToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "other"}, filepath.Join(dir, "agent.token"))
	if err != nil || text == tokens[0][0] || made.AgentID != "other" {
		t.Errorf("token of another agent: %+v, %v", made, err)
	}
	if err := server.Store().RevokeToken(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	again, _, err := hub.EnsureToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "other"}, filepath.Join(dir, "agent.token"))
	if err != nil || again == text {
		t.Errorf("a revoked token was given out, %v", err)
	}
}

func TestListenRefused(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	socket := filepath.Join(dir, "taken.sock")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	plain := filepath.Join(dir, "file")
	if err := os.WriteFile(plain, []byte("precious, and not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*hub.ListenOptions)
		usage  bool
		text   string
	}{
		"http taken":     {func(o *hub.ListenOptions) { o.HTTP = taken.Addr().String() }, false, "port is in use"},
		"http no port":   {func(o *hub.ListenOptions) { o.HTTP = "localhost" }, true, "HOST:PORT"},
		"http open":      {func(o *hub.ListenOptions) { o.HTTP = "0.0.0.0:0" }, true, "--insecure"},
		"http all":       {func(o *hub.ListenOptions) { o.HTTP = ":0" }, true, "--insecure"},
		"http bad port":  {func(o *hub.ListenOptions) { o.HTTP = "127.0.0.1:99999" }, false, "invalid port"},
		"drpc nonsense":  {func(o *hub.ListenOptions) { o.DRPC = []string{"hello"} }, true, "unix:PATH"},
		"drpc open":      {func(o *hub.ListenOptions) { o.DRPC = []string{"tcp:192.0.2.1:0"} }, true, "--insecure"},
		"drpc taken":     {func(o *hub.ListenOptions) { o.DRPC = []string{"tcp:" + taken.Addr().String()} }, false, "port is in use"},
		"socket taken":   {func(o *hub.ListenOptions) { o.DRPC = []string{"unix:" + socket} }, false, "socket is in use"},
		"socket is file": {func(o *hub.ListenOptions) { o.DRPC = []string{"unix:" + plain} }, false, "not a socket"},
		"socket long":    {func(o *hub.ListenOptions) { o.DRPC = []string{"unix:/" + long(104)} }, true, "longer"},
		"second drpc":    {func(o *hub.ListenOptions) { o.DRPC = append(o.DRPC, "unix:"+plain) }, false, "not a socket"},
		"postgres":       {func(o *hub.ListenOptions) { o.DB = "postgres://u:secret@h/db" }, true, "SQLite only"},
		"db nonsense":    {func(o *hub.ListenOptions) { o.DB = "hub.db" }, true, "sqlite:PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := t.TempDir()
			opts := hub.ListenOptions{DB: "sqlite:" + filepath.Join(fresh, "hub.db"), HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + filepath.Join(fresh, "s")}}
			tc.change(&opts)
			server, err := hub.Listen(t.Context(), opts)
			if err == nil {
				_ = server.Close()
				t.Fatal("listening")
			}
			if errors.Is(err, hub.ErrUsage) != tc.usage || !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
				t.Errorf("error: %v", err)
			}
			if left, _ := os.ReadDir(fresh); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	if data, _ := os.ReadFile(plain); string(data) != "precious, and not a database" {
		t.Error("a file was overwritten")
	}
	// A database that can't be used closes the listeners again.
	opts := hub.ListenOptions{DB: "sqlite:" + plain, HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + filepath.Join(dir, "s")}}
	if _, err := hub.Listen(t.Context(), opts); !errors.Is(err, store.ErrForeign) {
		t.Errorf("error: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "s")); !os.IsNotExist(err) {
		t.Error("the socket was left behind")
	}
}

func TestListenElsewhere(t *testing.T) {
	dir := t.TempDir()
	first := listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(dir, "1.db"), HTTP: "127.0.0.1:0"})
	taken := strings.TrimPrefix(first.HTTPURL(), "http://")
	second := listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(dir, "2.db"), HTTP: taken, FreePort: true})
	if first.HTTPURL() == second.HTTPURL() {
		t.Error("two hubs on one port")
	}
	// The socket of a hub that was killed is in nobody's way.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "stale"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	listen(t, hub.ListenOptions{DB: "sqlite:" + filepath.Join(dir, "3.db"), HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + filepath.Join(dir, "stale")}})
	info, err := os.Stat(filepath.Join(dir, "stale"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}
}

// TestListenTogether: of hubs that start at the same time where a killed one has
// left its socket, one gets it, and the others leave it alone.
func TestListenTogether(t *testing.T) {
	dir := t.TempDir()
	for round := range 20 {
		socket := filepath.Join(dir, fmt.Sprint(round))
		stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		stale.SetUnlinkOnClose(false)
		_ = stale.Close()
		results := make(chan error)
		var servers sync.Map
		for n := range 8 {
			go func() {
				server, err := hub.Listen(t.Context(), hub.ListenOptions{
					DB: "sqlite:" + filepath.Join(dir, fmt.Sprint(round, "-", n, ".db")), HTTP: "127.0.0.1:0", DRPC: []string{"unix:" + socket},
				})
				if err == nil {
					servers.Store(server, true)
				}
				results <- err
			}()
		}
		won := 0
		for range 8 {
			if err := <-results; err == nil {
				won++
			} else if !strings.Contains(err.Error(), "socket is in use") {
				t.Error(err)
			}
		}
		if conn, err := net.Dial("unix", socket); err != nil || won != 1 {
			t.Fatalf("%d hubs have the socket; %v", won, err)
		} else {
			_ = conn.Close()
		}
		servers.Range(func(server, _ any) bool {
			if err := server.(*hub.Server).Close(); err != nil {
				t.Error(err)
			}
			return true
		})
	}
}
