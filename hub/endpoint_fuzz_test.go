package hub_test

import (
	"testing"

	"github.com/coder/websocket"
	"storj.io/drpc/drpcwire"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire"
)

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
		other.mustPush(&pushtest.Push{Version: version}, true)
		if fix.log.hasPanicked() {
			t.Fatal(fix.log.String())
		}
	})
}
