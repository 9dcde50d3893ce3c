package hub_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"storj.io/drpc/drpcmetadata"
	"storj.io/drpc/drpcwire"

	"waymark/hub"
	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/hub/transport"
	"waymark/test/pushtest"
	"waymark/test/testenv"
	"waymark/wire"
	"waymark/wire/waymark"
)

// bystander is an agent that pushes all the time while something else goes
// on; stop ends it, and fails the test if it was disturbed.
func (f *fixture) bystander(endpoint string) (stop func()) {
	a := f.bare(endpoint, f.token(store.RoleAgent, "bystander"))
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
			request := &pushtest.Push{Version: version, Resources: []*pushtest.Resource{file("/b", fmt.Sprint(version)+long(100<<10))}}
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
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 { // which stops nobody
		metrics.Read(sample)
		return sample[0].Value.Uint64()
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

// endless writes a call whose message never ends, until the connection does,
// there is an answer, or n bytes are written, and returns the answer.
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
		_ = conn.SetWriteDeadline(time.Unix(1, 0)) // nobody reads it any more
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
	f := newFixture(t, hub.Options{})
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
					conn, err = f.plain()
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
	f := newFixture(t, hub.Options{Limits: transport.Limits{Handshake: 300 * time.Millisecond}})
	stop := f.bystander(f.web())
	connections := testenv.Rounds(20, 100, 100)
	attack := func() {
		var wg sync.WaitGroup
		for range connections {
			wg.Go(func() {
				conn, err := f.plain()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_ = endless(conn, "wma_wrong", 8<<20) // whichever end it takes
			})
		}
		wg.Wait()
	}
	most := uint64(20+connections) << 20
	grown := grows(attack)
	for range 4 { // on a busy machine the collector is late, now and then
		if grown <= most {
			break
		}
		grown = grows(attack)
	}
	t.Logf("the heap grew by %d MiB", grown>>20)
	if grown > most {
		t.Errorf("the heap grew by %d MiB for %d connections without a token, five times", grown>>20, connections)
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

// TestHostileServers: what an agent says of MCP servers reaches readers within the bounds
// of any row, and what it can't be seen by, or would end where it stands, is shown as
// what it is.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	const nasty = "a\x1b[2J\x1b]0;owned\x07\u202e\u200b<script>alert(1)</script>`\r\n## Owned\n[x](javascript:1)"
	f := newFixture(t, hub.Options{})
	f.web()
	p := f.dial(f.token(store.RoleAgent, "a"))
	request := &pushtest.Push{Version: 1, Discovery: &waymark.Discovery{Phase: "pending"}}
	for i := range 1000 {
		row := file(fmt.Sprint("/w/.mcp.json", nasty, i), "")
		row.Kind, row.Key, row.Name, row.Description = "mcp_server", nasty, nasty, nasty+long(1000-len(nasty))
		if i%2 == 1 {
			row.Status, row.Error, row.Payload = waymark.Status_STATUS_UNREADABLE, nasty+long(1000-len(nasty)), nil
		}
		request.Resources = append(request.Resources, row)
		request.Discovery.Sources = append(request.Discovery.Sources, &waymark.SourceOutcome{
			Id: fmt.Sprint("mcp_server:", nasty, i), Name: nasty, Outcome: []string{"pending", nasty[:40]}[i%2], Error: nasty,
		})
	}
	for i := range 3 { // the last one's tools are all that they may be
		request.Resources[2*i].Payload = []byte(`{"tools":[{"name":` + strconv.Quote("t"+fmt.Sprint(i)) + `,"description":"` + long(i*80<<10) + `"}]}`)
	}
	request.Resources[6].Payload = []byte(nasty) // no tools at all
	p.mustPush(request, true)

	reader := f.token(store.RoleReader, "")
	response := f.do(http.MethodGet, "/api/v0/agents/a/context", reader, "")
	if cache := response.Header.Get("Cache-Control"); cache != "no-store" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers are %v", response.Header)
	}
	raw := body(t, response)
	if strings.ContainsAny(raw, "\x1b\x07") || len(raw) > 4<<20 { // what can't be seen is for who shows it
		t.Errorf("the JSON of %d bytes has control characters", len(raw))
	}
	var s api.Snapshot
	if err := json.Unmarshal([]byte(raw), &s); err != nil || len(s.Resources) != 1000 || len(s.Discovery.Sources) != 1000 || s.Discovery.Sources[0].Name != nasty {
		t.Errorf("%v: %d resources, %d sources", err, len(s.Resources), len(s.Discovery.Sources))
	}
	for _, path := range []string{"/api/v0/agents", "/api/v0/agents/a", "/api/v0/agents/a/history"} {
		if got := body(t, f.do(http.MethodGet, path, reader, "")); len(got) > 4<<10 || strings.Contains(got, "owned") {
			t.Errorf("%s is %d bytes: %.300s", path, len(got), got)
		}
	}
	text := body(t, f.do(http.MethodGet, "/api/v0/agents/a/context?format=markdown", reader, ""))
	if strings.ContainsAny(text, "\x1b\x07\u202e\u200b\r") || len(text) > 8<<20 {
		t.Errorf("the text of %d bytes has what can't be seen", len(text))
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "## Owned") || strings.HasPrefix(line, "[x](") || strings.Contains(line, "<script") && !strings.Contains(line, "\\<script") && !strings.Contains(line, "`") {
			t.Errorf("a line of its own: %.300q", line)
		}
	}
	if pending, _, _ := strings.Cut(text, "\n## "); len(pending) > 20<<10 || !strings.Contains(pending, "480 others") {
		t.Errorf("what is pending takes %d bytes: %.1000s", len(pending), pending)
	}
}
