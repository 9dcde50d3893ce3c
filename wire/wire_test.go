package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

// serve answers on one end of a pipe and returns a connection to the other.
func serve(t *testing.T, mux *drpcmux.Mux) drpc.Conn {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = drpcserver.New(mux).ServeOne(context.Background(), server) // ends with the pipe
	}()
	conn := drpcconn.New(client)
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn
}

// TestMethodNames calls what the generated clients call: the constants must
// name the same methods.
func TestMethodNames(t *testing.T) {
	recorder := &recordingConn{}
	_, _ = waymark.NewDRPCContextClient(recorder).Open(t.Context(), &waymark.OpenRequest{})
	_, _ = waymark.NewDRPCContextClient(recorder).Push(t.Context(), &waymark.PushRequest{})
	_, _ = coder.NewDRPCAgentClient(recorder).PushContextState(t.Context(), &coder.PushContextStateRequest{})
	want := []string{wire.MethodOpen, wire.MethodPush, wire.MethodPushContextState}
	if fmt.Sprint(recorder.called) != fmt.Sprint(want) {
		t.Errorf("generated clients call %v, want %v", recorder.called, want)
	}
}

type recordingConn struct {
	drpc.Conn // nil: only Invoke is called
	called    []string
}

func (c *recordingConn) Invoke(_ context.Context, rpc string, _ drpc.Encoding, _, _ drpc.Message) error {
	c.called = append(c.called, rpc)
	return errors.New("recorded")
}

func TestIsUnimplementedOverTheWire(t *testing.T) {
	empty := drpcmux.New()
	unimplemented := drpcmux.New()
	if err := coder.DRPCRegisterAgent(unimplemented, &coder.DRPCAgentUnimplementedServer{}); err != nil {
		t.Fatal(err)
	}
	for name, mux := range map[string]*drpcmux.Mux{"unknown rpc": empty, "code 12": unimplemented} {
		t.Run(name, func(t *testing.T) {
			client := coder.NewDRPCAgentClient(serve(t, mux))
			_, err := client.PushContextState(t.Context(), &coder.PushContextStateRequest{})
			if !wire.IsUnimplemented(err) {
				t.Errorf("IsUnimplemented(%v) = false", err)
			}
		})
	}
}

func TestErrorKinds(t *testing.T) {
	plain := errors.New("snapshot has too many resources")
	cases := []struct {
		name                                    string
		err                                     error
		unimplemented, unauthorized, superseded bool
		busy, tooLarge                          bool
	}{
		{name: "nil"},
		{name: "plain", err: plain},
		{name: "wrapped code 12", err: fmt.Errorf("push: %w", drpcerr.WithCode(plain, 12)), unimplemented: true},
		{name: "unknown rpc", err: errors.New(`protocol error: unknown rpc: "/a/B"`), unimplemented: true},
		{name: "unauthorized", err: drpcerr.WithCode(plain, wire.CodeUnauthorized), unauthorized: true},
		{name: "superseded", err: drpcerr.WithCode(plain, wire.CodeSuperseded), superseded: true},
		{name: "busy", err: drpcerr.WithCode(plain, wire.CodeBusy), busy: true},
		{name: "too large", err: drpcerr.WithCode(plain, wire.CodeTooLarge), tooLarge: true},
		{name: "another code", err: drpcerr.WithCode(plain, 77)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := [5]bool{
				wire.IsUnimplemented(c.err), wire.IsUnauthorized(c.err), wire.IsSuperseded(c.err),
				wire.IsBusy(c.err), wire.IsTooLarge(c.err),
			}
			want := [5]bool{c.unimplemented, c.unauthorized, c.superseded, c.busy, c.tooLarge}
			if got != want {
				t.Errorf("unimplemented, unauthorized, superseded, busy, too large = %v, want %v", got, want)
			}
		})
	}
}
