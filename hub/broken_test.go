package hub_test

import (
	"context"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/transport"
)

// muxFrame is a frame of yamux.
func muxFrame(kind byte, flags uint16, stream, length uint32, data ...byte) []byte {
	frame := make([]byte, 12, 12+len(data))
	frame[1] = kind
	binary.BigEndian.PutUint16(frame[2:], flags)
	binary.BigEndian.PutUint32(frame[4:], stream)
	binary.BigEndian.PutUint32(frame[8:], length)
	return append(frame, data...)
}

// TestBrokenSessions speaks what a hub doesn't: the connection ends, where
// there is more to say than that with a close frame that says why.
func TestBrokenSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{SessionsPerToken: 100}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	token := f.token(store.RoleAgent, "a")
	const syn, rst = 1, 8
	policy := websocket.StatusPolicyViolation
	repeat := func(n int, frame func(i int) []byte) (all []byte) {
		for i := range n {
			all = append(all, frame(i)...)
		}
		return all
	}
	for name, tc := range map[string]struct {
		send   []byte
		status websocket.StatusCode // -1: the connection just ends; 0: it stays
		reason string
	}{
		"garbage":        {[]byte(strings.Repeat("garbage", 1000)), policy, "not a frame of yamux"},
		"other version":  {append([]byte{1}, muxFrame(0, syn, 1, 0)[1:]...), policy, "not a frame"},
		"other type":     {muxFrame(4, 0, 0, 0), policy, "not a frame"},
		"huge frame":     {muxFrame(0, syn, 1, 1<<31), policy, "a frame of 2147483648 bytes"},
		"beyond window":  {repeat(3, func(i int) []byte { return muxFrame(0, uint16(syn>>i), 1, 128<<10, make([]byte, 128<<10)...) }), -1, ""},
		"ping flood":     {repeat(1000, func(i int) []byte { return muxFrame(2, syn, 0, uint32(i)) }), policy, "too many pings"},
		"10000 streams":  {repeat(10000, func(i int) []byte { return muxFrame(1, syn, uint32(2*i+1), 0) }), policy, "more than 32 streams"},
		"same stream":    {repeat(2, func(int) []byte { return muxFrame(1, syn, 1, 0) }), -1, ""},
		"protocol error": {muxFrame(3, 0, 0, 1), -1, ""},
		"no such stream": {muxFrame(0, 0, 7, 3, 1, 2, 3), 0, ""},
		"churn": {repeat(3000, func(i int) []byte {
			return append(muxFrame(1, syn, uint32(2*i+1), 0), muxFrame(1, rst, uint32(2*i+1), 0)...)
		}), 0, ""},
		"half a header": {[]byte{0, 0, 0}, 0, ""},
		"goes away":     {muxFrame(3, 0, 0, 0), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ws := dialWS(t, endpoint, token)
			for data := tc.send; len(data) > 0; data = data[min(len(data), 64<<10):] {
				if ws.Write(t.Context(), websocket.MessageBinary, data[:min(len(data), 64<<10)]) != nil {
					break // the hub has had enough
				}
			}
			enough := timeout
			if tc.status == 0 {
				enough = 300 * time.Millisecond
			}
			err := readFrames(ws, enough)
			switch got := websocket.CloseStatus(err); {
			case tc.status == 0:
				if err != nil {
					t.Errorf("the connection ended with %v", err)
				}
			case err == nil || got != tc.status && tc.status > 0:
				t.Errorf("the connection ended with %v, want status %d", err, tc.status)
			case !strings.Contains(err.Error(), tc.reason):
				t.Errorf("the hub says %v, want %q", err, tc.reason)
			}
		})
	}
	stop()
}

// readFrames reads until the connection ends, and returns nil if it hasn't
// after d.
func readFrames(ws *websocket.Conn, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for {
		_, reader, err := ws.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, reader)
		}
		if ctx.Err() != nil && websocket.CloseStatus(err) < 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TestBrokenWebSockets breaks the layer below.
func TestBrokenWebSockets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{SessionsPerToken: 100}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	token := f.token(store.RoleAgent, "a")

	text := dialWS(t, endpoint, token)
	if err := text.Write(t.Context(), websocket.MessageText, muxFrame(1, 1, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := readFrames(text, timeout); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("text: %v", err)
	}
	big := dialWS(t, endpoint, token)
	_ = big.Write(t.Context(), websocket.MessageBinary, append(muxFrame(0, 0, 7, 200<<10), make([]byte, 2<<20)...))
	if err := readFrames(big, timeout); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a message of 2 MiB: %v", err)
	}
	stop()

	// Who breaks a rule and doesn't want to hear of it keeps no connection.
	f = newFixture(t, hub.Options{Limits: transport.Limits{Farewell: 10 * time.Millisecond}})
	deaf := dialWS(t, f.web(), f.token(store.RoleAgent, "deaf"))
	if err := deaf.Write(t.Context(), websocket.MessageBinary, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_ = deaf.Write(t.Context(), websocket.MessageBinary, []byte(strings.Repeat("garbage", 10))) // nobody may be left to read it
	if !f.eventually(func() bool { return !f.hub.Connected("deaf") }) {
		t.Error("a deaf peer is still there")
	}
}

// TestManyStreams opens as many streams as it can, as a well-behaved yamux
// does, and says nothing on them.
func TestManyStreams(t *testing.T) {
	f := newFixture(t, hub.Options{})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	a := dialBare(t, endpoint, f.token(store.RoleAgent, "a"))
	opened := 0
	grown := grows(func() {
		for range 10_000 {
			stream, err := a.session.Open()
			if err != nil {
				break
			}
			opened++
			_, _ = stream.Write(make([]byte, 1000))
		}
	})
	a.gone() // a write may fail a moment earlier
	if opened == 10_000 || grown > 20<<20 {
		t.Errorf("%d streams were opened, the heap grew by %d MiB", opened, grown>>20)
	}
	stop()
}
