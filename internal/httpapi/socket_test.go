package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// socketServer serves a route with WebSockets on a Unix socket; stop stops it.
func socketServer(t *testing.T, handle httpapi.Handler) (client *http.Client, stop func() error) {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	l, err := httpapi.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	route := httpapi.Route{Method: http.MethodGet, Pattern: "/watch/{id}", Handle: handle, MaxBody: 8}
	server := httpapi.Server{Handler: mount(httpapi.Options{}, route), Grace: 10 * time.Minute}
	go func() { done <- server.Serve(ctx, l) }()
	client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	stopped := false
	stop = func() error { stopped = true; cancel(); return <-done }
	t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
		client.CloseIdleConnections()
	})
	return client, stop
}

func dial(t *testing.T, client *http.Client) *websocket.Conn {
	t.Helper()
	socket, resp, err := websocket.Dial(t.Context(), "ws://agent/watch/7", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the handshake isn't secured: %v", resp.Header)
	}
	t.Cleanup(func() { _ = socket.CloseNow() })
	return socket
}

// TestWebSocket: messages come and go, and the handler's end is the socket's.
func TestWebSocket(t *testing.T) {
	client, stop := socketServer(t, func(c *httpapi.Call) error {
		socket, err := c.Upgrade()
		if err != nil {
			return err
		}
		for {
			kind, data, err := socket.Read(c.Context())
			if err != nil {
				return err
			}
			switch string(data) {
			case "end":
				return nil
			case "fail":
				return &problem.Error{Code: http.StatusNotFound, Message: "no such thing"}
			case "panic":
				panic("oops")
			}
			if err := socket.Write(c.Context(), kind, append(data, c.Arg("id")...)); err != nil {
				return err
			}
		}
	})
	for message, want := range map[string]websocket.StatusCode{
		"end": websocket.StatusNormalClosure, "fail": websocket.StatusInternalError, "panic": -1,
		"more than it takes": websocket.StatusMessageTooBig,
	} {
		socket := dial(t, client)
		for _, text := range []string{"ping", message} {
			if err := socket.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			_, data, err := socket.Read(t.Context())
			if text == "ping" && (err != nil || string(data) != "ping7") {
				t.Errorf("got %q, %v", data, err)
			} else if text == message && websocket.CloseStatus(err) != want {
				t.Errorf("%s: ends with %v, want %v", message, err, want)
			}
		}
	}
	for name, headers := range map[string]http.Header{
		"no handshake": {},
		"foreign page": {"Origin": {"http://evil.example"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent/watch/7", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = headers
		resp, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		e := problem.Read(resp, "agent")
		_ = resp.Body.Close()
		if e.Message != "no WebSocket was opened" || e.Detail == "" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %+v", name, resp.Status, e)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestWebSocketStop: a server that stops ends its WebSockets, says why, and
// waits for their handlers.
func TestWebSocketStop(t *testing.T) {
	ended := false
	client, stop := socketServer(t, func(c *httpapi.Call) error {
		socket, err := c.Upgrade()
		if err != nil {
			return err
		}
		socket.CloseRead(context.WithoutCancel(c.Context())) // see Upgrade
		<-c.Context().Done()
		ended = true
		return context.Cause(c.Context())
	})
	socket := dial(t, client)
	closed := make(chan error, 1)
	go func() {
		_, _, err := socket.Read(t.Context())
		closed <- err
	}()
	if err := stop(); err != nil || !ended {
		t.Errorf("the server stops with %v; the handler has ended: %v", err, ended)
	}
	var closing websocket.CloseError
	if err := <-closed; !errors.As(err, &closing) || closing.Code != websocket.StatusGoingAway && closing.Code != websocket.StatusPolicyViolation {
		t.Errorf("the peer reads %v", err)
	}
}

// TestRequestsEndWithServer: handlers learn that the server stops.
func TestRequestsEndWithServer(t *testing.T) {
	began := make(chan struct{})
	client, stop := socketServer(t, func(c *httpapi.Call) error {
		close(began)
		<-c.Context().Done()
		if !errors.Is(context.Cause(c.Context()), httpapi.ErrStopping) {
			return errors.New("ended otherwise")
		}
		return &problem.Error{Code: http.StatusServiceUnavailable, Message: "stopping"}
	})
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Get("http://agent/watch/7")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		answer <- resp.Status + " " + string(data)
	}()
	<-began
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "stopping") {
		t.Errorf("got %s", got)
	}
}
