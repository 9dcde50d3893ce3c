package hub_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/wire"
	"waymark/wire/coder"
)

// TestSlowLoris opens HTTP connections and dribbles: all are dropped, also
// where each byte comes in time for the next, and an agent can connect
// meanwhile.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := listen(t, hub.ListenOptions{
		DB: "sqlite:" + filepath.Join(dir, "hub.db"), HTTP: "127.0.0.1:0", Limits: withTimeouts(transport.Limits{Handshake: time.Second}),
	})
	stop := run(t, server)
	token, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var peers sync.WaitGroup
	for i := range 50 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.HTTPURL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		peers.Go(func() {
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
			dribbled := make(chan struct{})
			go func() {
				defer close(dribbled)
				for i%2 == 0 {
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
					wait(t, 20*time.Millisecond)
				}
			}()
			_ = conn.SetReadDeadline(time.Now().Add(timeout))
			if err := readUntilClosed(conn); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Error("still there")
			}
			<-dribbled
		})
	}
	// The agent's request has as little time as theirs: on a machine that stands
	// still for that long it comes again.
	var ws *websocket.Conn
	if !new(fixture).eventually(func() bool {
		ws, _, err = websocket.Dial(t.Context(), server.HTTPURL()+wire.EndpointPath+"?version=2.10",
			&websocket.DialOptions{HTTPHeader: http.Header{wire.TokenHeader: {token}}})
		return err == nil
	}) {
		t.Fatal(err)
	}
	a := bareOn(t, ws)
	if accepted, err := a.pushCoder(&coder.PushContextStateRequest{Version: 1, Initial: true}); err != nil || !accepted {
		t.Errorf("an agent's push meanwhile: %v, %v", accepted, err)
	}
	peers.Wait()
	if accepted, err := a.pushCoder(&coder.PushContextStateRequest{Version: 2}); err != nil || !accepted {
		t.Errorf("an agent's push afterwards: %v, %v", accepted, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
