package hub_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcwire"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/wire"
	"waymark/wire/waymark"
)

// bystander is an agent that pushes all the time while something else goes
// on; stop ends it, and fails the test if it was disturbed.
func (f *fixture) bystander(endpoint string) (stop func()) {
	a := dialBare(f.t, endpoint, f.token(store.RoleAgent, "bystander"))
	done, stopped := make(chan struct{}), make(chan struct{})
	var pushes atomic.Uint64
	go func() {
		defer close(stopped)
		for version := uint64(1); ; version++ {
			select {
			case <-done:
				return
			default:
			}
			request := &waymark.PushRequest{Version: version, Initial: version == 1, Resources: []*waymark.Resource{file("/b", fmt.Sprint(version)+long(100<<10))}}
			if response, err := a.push(request); err != nil || !response.GetAccepted() {
				f.t.Errorf("the bystander's push of version %d: accepted %v, %v", version, response.GetAccepted(), err)
				return
			}
			pushes.Store(version)
		}
	}()
	first := pushes.Load
	if !f.eventually(func() bool { return first() > 0 }) {
		f.t.Fatal("the bystander has never pushed")
	}
	return func() {
		before := pushes.Load()
		if !f.eventually(func() bool { return pushes.Load() > before }) {
			f.t.Error("the bystander can't push any more")
		}
		close(done)
		<-stopped
		if got := f.snapshot("bystander").Snapshot; got.Version != pushes.Load() || len(got.Resources) != 1 {
			f.t.Errorf("the bystander's version %d isn't what is stored", pushes.Load())
		}
	}
}

// grows runs attack and returns by how much the heap grew meanwhile, at most.
func grows(attack func()) uint64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // garbage isn't what this is about
	runtime.GC()
	before, peak := heap(), uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	attack()
	close(done)
	<-stopped
	if peak < before {
		return 0
	}
	return peak - before
}

// endless writes a call whose message never ends, until the connection does
// or n bytes are written, and returns the answer.
func endless(conn net.Conn, token string, n int) (err error) {
	var buf []byte
	id := drpcwire.ID{Stream: 1}
	frame := func(kind drpcwire.Kind, data []byte, done bool) {
		if kind != drpcwire.KindMessage || id.Message < 3 {
			id.Message++
		}
		buf = drpcwire.AppendFrame(buf[:0], drpcwire.Frame{Data: data, ID: id, Kind: kind, Done: done})
	}
	answer := make(chan error, 1)
	go func() {
		packet, err := drpcwire.NewReader(conn).ReadPacket()
		if err == nil && packet.Kind == drpcwire.KindError {
			err = drpcwire.UnmarshalError(packet.Data)
		}
		answer <- err
	}()
	metadata, err := drpcmetadata.Encode(nil, map[string]string{wire.TokenMetadata: token})
	if err != nil {
		return err
	}
	frame(drpcwire.KindInvokeMetadata, metadata, true)
	all := append([]byte{}, buf...)
	frame(drpcwire.KindInvoke, []byte(wire.MethodPush), true)
	if _, err := conn.Write(append(all, buf...)); err != nil {
		return err
	}
	chunk := make([]byte, 64<<10)
	frame(drpcwire.KindMessage, chunk, false)
	for sent := 0; sent < n; sent += len(chunk) {
		if _, err := conn.Write(buf); err != nil {
			break
		}
	}
	return <-answer
}

// TestHugeMessage sends 100 MB in one message, over both transports, several
// at a time: a typed refusal, and not the memory of it.
func TestHugeMessage(t *testing.T) {
	// Write is also how long a stream may linger that the peer doesn't close.
	f := newFixture(t, hub.Options{Limits: hub.Limits{Write: 3 * time.Second}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	token := f.token(store.RoleAgent, "a")
	grown := grows(func() {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				var conn net.Conn
				var err error
				if i%2 == 0 {
					conn, err = net.Dial("unix", f.socket)
				} else {
					conn, err = dialBare(t, endpoint, token).session.Open()
				}
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				if err := endless(conn, token, 100<<20); !wire.IsTooLarge(err) {
					t.Errorf("%d: %v, want that the message is too large", i, err)
				}
			})
		}
		wg.Wait()
	})
	t.Logf("the heap grew by %d MiB", grown>>20)
	if grown > 100<<20 {
		t.Errorf("the heap grew by %d MiB for 400 MiB of refused messages", grown>>20)
	}
	stop()
}

// TestStrangerIsSmall: who hasn't shown a token can't make the hub hold
// much, or for long.
func TestStrangerIsSmall(t *testing.T) {
	f := newFixture(t, hub.Options{Limits: hub.Limits{Handshake: 300 * time.Millisecond}})
	stop := f.bystander(f.web())
	grown := grows(func() {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				conn, err := net.Dial("unix", f.socket)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_ = endless(conn, "wma_wrong", 8<<20) // whichever end it takes
			})
		}
		wg.Wait()
	})
	t.Logf("the heap grew by %d MiB", grown>>20)
	if grown > 100<<20 {
		t.Errorf("the heap grew by %d MiB for 100 strangers", grown>>20)
	}
	stop()
}

// TestBomb sends a few megabytes that would be hundreds once decoded.
func TestBomb(t *testing.T) {
	f := newFixture(t, hub.Options{})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	a := dialBare(t, endpoint, f.token(store.RoleAgent, "a"))
	resources := []byte(strings.Repeat("\x2a\x00", 2<<20-1))
	grown := grows(func() {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := a.invoke(wire.MethodPush, resources); !wire.IsTooLarge(err) {
					t.Errorf("a bomb: %v", err)
				}
			})
		}
		wg.Wait()
	})
	t.Logf("the heap grew by %d MiB", grown>>20)
	if grown > 150<<20 {
		t.Errorf("the heap grew by %d MiB for 4 messages of 4 MiB", grown>>20)
	}
	stop()
}

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
	f := newFixture(t, hub.Options{Limits: hub.Limits{SessionsPerToken: 100, Read: time.Second}})
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
			patience := time.Minute
			if tc.status == 0 {
				patience = 300 * time.Millisecond
			}
			err := readFrames(ws, patience)
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
	f := newFixture(t, hub.Options{Limits: hub.Limits{SessionsPerToken: 100}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	token := f.token(store.RoleAgent, "a")

	text := dialWS(t, endpoint, token)
	if err := text.Write(t.Context(), websocket.MessageText, muxFrame(1, 1, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := readFrames(text, time.Minute); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("text: %v", err)
	}
	big := dialWS(t, endpoint, token)
	_ = big.Write(t.Context(), websocket.MessageBinary, append(muxFrame(0, 0, 7, 200<<10), make([]byte, 2<<20)...))
	if err := readFrames(big, time.Minute); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a message of 2 MiB: %v", err)
	}
	// Who breaks a rule and doesn't want to hear of it keeps no connection.
	deaf := dialWS(t, endpoint, f.token(store.RoleAgent, "deaf"))
	if err := deaf.Write(t.Context(), websocket.MessageBinary, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := deaf.Write(t.Context(), websocket.MessageBinary, []byte(strings.Repeat("garbage", 10))); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if !f.eventually(func() bool { return !f.hub.Connected("deaf") }) || time.Since(begin) > 5*time.Second {
		t.Errorf("a deaf peer was there for another %s", time.Since(begin))
	}
	stop()
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
	if opened == 10_000 || !a.session.IsClosed() || grown > 20<<20 {
		t.Errorf("%d streams were opened, the heap grew by %d MiB", opened, grown>>20)
	}
	stop()
}

// TestSlowAndSilent: who doesn't speak, or not to an end, doesn't stay.
func TestSlowAndSilent(t *testing.T) {
	f := newFixture(t, hub.Options{Limits: hub.Limits{
		Handshake: 300 * time.Millisecond, Read: time.Second, Write: time.Second, Ping: 200 * time.Millisecond,
	}})
	endpoint := f.web()
	stop := f.bystander(endpoint)
	token := f.token(store.RoleAgent, "a")
	ends := func(name string, conn net.Conn) {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if err := readUntilClosed(conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: still there after a minute", name)
		}
		_ = conn.Close()
	}
	socket := func() net.Conn {
		conn, err := net.Dial("unix", f.socket)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	ends("a silent stranger", socket())

	dribble := socket()
	_, _ = dribble.Write([]byte{0x0d, 1, 1}) // the beginning of a frame
	ends("half a frame", dribble)

	// An agent that has been known to be one, and stops within a message.
	stalls := socket()
	go func() { _ = endless(stalls, token, 128<<10) }()
	ends("half a message", &onlyWait{Conn: stalls, f: f})

	a := dialBare(t, endpoint, token)
	stream, err := a.session.Open()
	if err != nil {
		t.Fatal(err)
	}
	ends("a silent stream", stream)
	a.mustPush(&waymark.PushRequest{Version: 1, Initial: true}, true) // the session lives on

	// A peer that vanished: it answers nothing any more, and reads nothing.
	vanished := dialWS(t, endpoint, f.token(store.RoleAgent, "vanished"))
	if !f.eventually(func() bool { return f.hub.Connected("vanished") }) {
		t.Fatal("not connected")
	}
	if !f.eventually(func() bool { return !f.hub.Connected("vanished") }) {
		t.Error("a peer that vanished is still connected")
	}
	_ = vanished.CloseNow()

	// Idle agents stay, as long as they answer.
	idle := drpcconn.New(socket())
	ctx := drpcmetadata.Add(t.Context(), wire.TokenMetadata, f.token(store.RoleAgent, "idle"))
	for version := range uint64(2) {
		if _, err := waymark.NewDRPCContextClient(idle).Push(ctx, &waymark.PushRequest{Version: version + 1}); err != nil {
			t.Fatal(err)
		}
		wait(t, 1200*time.Millisecond) // longer than any of the limits above
	}
	_ = idle.Close()
	a.mustPush(&waymark.PushRequest{Version: 2}, true)
	stop()
}

// onlyWait waits for the end without reading: somebody else reads.
type onlyWait struct {
	net.Conn
	f *fixture
}

func (w *onlyWait) Read([]byte) (int, error) {
	if !w.f.eventually(func() bool { _, err := w.Write(nil); return err != nil || !w.f.hub.Connected("a") }) {
		return 0, fmt.Errorf("timeout")
	}
	return 0, io.EOF
}

// wait lets time pass that is part of what is tested.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// TestLargeMessagesDontStarve: agents that stop within large messages don't
// keep others from sending theirs.
func TestLargeMessagesDontStarve(t *testing.T) {
	f := newFixture(t, hub.Options{Limits: hub.Limits{Large: 4, Read: time.Hour}})
	endpoint := f.web()
	token := f.token(store.RoleAgent, "a")
	a := dialBare(t, endpoint, token)
	for range 6 { // its share is 2
		stream, err := a.session.Open()
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = endless(stream, token, 192<<10) }()
	}
	stop := f.bystander(endpoint) // pushes 100 KiB at a time
	stop()
}

// FuzzEndpoint: whatever bytes come out of the WebSocket, the hub stays on its
// feet and nobody else is hurt.
func FuzzEndpoint(f *testing.F) {
	f.Add([]byte("garbage"), uint8(0))
	f.Add(muxFrame(1, 1, 1, 0), uint8(1))
	var odd []byte
	for i := range 100 {
		odd = append(odd, muxFrame(byte(i%2), uint16(i), uint32(i), 0)...)
	}
	f.Add(odd, uint8(9))
	f.Add(append(muxFrame(0, 1, 1, 5, 0x0d, 1, 1, 1, 'x'), muxFrame(1, 4, 1, 0)...), uint8(2))
	call := drpcwire.AppendFrame(nil, drpcwire.Frame{Data: []byte(wire.MethodPush), ID: drpcwire.ID{Stream: 1, Message: 1}, Kind: drpcwire.KindInvoke, Done: true})
	call = drpcwire.AppendFrame(call, drpcwire.Frame{Data: []byte("\x08\x01\x10\x01"), ID: drpcwire.ID{Stream: 1, Message: 2}, Kind: drpcwire.KindMessage, Done: true})
	f.Add(muxFrame(0, 1, 1, uint32(len(call)), call...), uint8(3))
	fix := newFixture(f, hub.Options{Limits: unlimited()})
	endpoint := fix.web()
	token := fix.token(store.RoleAgent, "a")
	other := dialBare(f, endpoint, fix.token(store.RoleAgent, "other"))
	version := uint64(0)
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		ws := dialWS(t, endpoint, token)
		for size := int(split) + 1; len(data) > 0; data = data[min(len(data), size):] {
			if ws.Write(t.Context(), websocket.MessageBinary, data[:min(len(data), size)]) != nil {
				break
			}
		}
		_ = ws.CloseNow()
		version++
		other.t = t
		other.mustPush(&waymark.PushRequest{Version: version, Initial: version == 1}, true)
		if fix.log.hasPanicked() {
			t.Fatal(fix.log.String())
		}
	})
}
