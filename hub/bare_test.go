package hub_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcconn"

	"waymark/test/pushtest"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// bareAgent is an agent made of the public packages alone, which does what
// WIRE.md 1.5 says of a Coder agent: nothing of host/push is in it.
type bareAgent struct {
	t       testing.TB
	ws      *websocket.Conn
	session *yamux.Session
}

// web serves the hub's handler over HTTP and returns the URL of the agents'
// endpoint, without a query.
func (f *fixture) web() string {
	server := httptest.NewServer(f.hub.Handler())
	f.t.Cleanup(func() {
		_ = f.hub.Close() // the connections that the server has given away
		server.Close()
	})
	return server.URL + "/api/v2/workspaceagents/me/rpc"
}

// dialBare makes the connection, and yamux on it.
func dialBare(t testing.TB, endpoint, token string) *bareAgent {
	t.Helper()
	return bareOn(t, dialWS(t, endpoint, token))
}

// bare is dialBare for a hub that may run under synctest.
func (f *fixture) bare(endpoint, token string) *bareAgent {
	f.t.Helper()
	return bareOn(f.t, f.ws(endpoint, token))
}

func bareOn(t testing.TB, ws *websocket.Conn) *bareAgent {
	t.Helper()
	a := &bareAgent{t: t, ws: ws}
	config := yamux.DefaultConfig()
	config.LogOutput = io.Discard
	// That the line is dead is for the hub to find out.
	config.EnableKeepAlive, config.ConnectionWriteTimeout = false, timeout
	var err error
	a.session, err = yamux.Client(websocket.NetConn(context.Background(), a.ws, websocket.MessageBinary), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a
}

func dialWS(t testing.TB, endpoint, token string) *websocket.Conn {
	t.Helper()
	return wsOn(t, nil, endpoint, token)
}

// ws is dialWS for a hub that may run under synctest.
func (f *fixture) ws(endpoint, token string) *websocket.Conn {
	f.t.Helper()
	return wsOn(f.t, f.client, endpoint, token)
}

func wsOn(t testing.TB, client *http.Client, endpoint, token string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Coder-Session-Token": {token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func (a *bareAgent) close() { _ = a.session.Close() }

// call makes one call on a stream of its own.
func (a *bareAgent) call(f func(*drpcconn.Conn) error) error {
	stream, err := a.session.Open()
	if err != nil {
		return err
	}
	conn := drpcconn.New(stream)
	err = f(conn)
	_ = conn.Close()
	return err
}

func (a *bareAgent) pushCoder(request *coder.PushContextStateRequest) (accepted bool, err error) {
	err = a.call(func(conn *drpcconn.Conn) error {
		response, err := coder.NewDRPCAgentClient(conn).PushContextState(a.t.Context(), request)
		accepted = response.GetAccepted()
		return err
	})
	return accepted, err
}

func (a *bareAgent) push(request *pushtest.Push) (response *waymark.PushResponse, err error) {
	return pushtest.Send(a.t.Context(), bareClient{a}, request)
}

// bareClient makes each call on a stream of its own.
type bareClient struct{ a *bareAgent }

func (c bareClient) Push(ctx context.Context, request *waymark.PushRequest) (response *waymark.PushResponse, err error) {
	err = c.a.call(func(conn *drpcconn.Conn) error {
		response, err = waymark.NewDRPCContextClient(conn).Push(ctx, request)
		return err
	})
	return response, err
}

func (c bareClient) Upload(ctx context.Context, request *waymark.UploadRequest) (response *waymark.UploadResponse, err error) {
	err = c.a.call(func(conn *drpcconn.Conn) error {
		response, err = waymark.NewDRPCContextClient(conn).Upload(ctx, request)
		return err
	})
	return response, err
}

func (a *bareAgent) mustPush(request *pushtest.Push, want bool) *waymark.PushResponse {
	a.t.Helper()
	response, err := a.push(request)
	if err != nil || response.GetAccepted() != want {
		a.t.Fatalf("push of version %d: accepted %v, %v; want %v", request.GetVersion(), response.GetAccepted(), err, want)
	}
	return response
}

// gone waits until the hub has ended the session.
func (a *bareAgent) gone() {
	a.t.Helper()
	select {
	case <-a.session.CloseChan():
	case <-time.After(timeout):
		a.t.Fatal("the hub hasn't ended the session")
	}
}

// readUntilClosed reads what the hub sends until the connection ends, and
// returns the error of its end.
func readUntilClosed(conn net.Conn) error {
	_, err := io.Copy(io.Discard, conn)
	return err
}
