package hub_test

import (
	"fmt"
	"testing"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/test/pushtest"
)

// BenchmarkPush is one edit among n skills of 8 KiB, from the push to the
// acknowledgement: a part of "edit → stored". It is pushed as everything, of which the hub has the rest, and as
// a delta, over a unix socket and over a WebSocket.
func BenchmarkPush(b *testing.B) {
	for _, n := range []int{50, 200} {
		for _, line := range []string{"unix", "websocket"} {
			for _, kind := range []string{"full", "delta"} {
				b.Run(fmt.Sprintf("%d/%s/%s", n, line, kind), func(b *testing.B) { benchmarkPush(b, n, line, kind == "delta") })
			}
		}
	}
}

func benchmarkPush(b *testing.B, n int, line string, delta bool) {
	f := newFixture(b, hub.Options{Limits: unlimited()})
	token := f.token(store.RoleAgent, "a")
	push := f.dial(token).pushAny
	if line == "websocket" {
		push = dialBare(b, f.web(), token).push
	}
	request := &pushtest.Push{Version: 1}
	for i := range n {
		request.Resources = append(request.Resources, file(fmt.Sprint("/skill/", i), long(8<<10)))
	}
	all, last := request.Resources, []byte(nil)
	for ; b.Loop(); request.Version++ {
		changed := request.Version % uint64(n)
		all[changed].Payload = []byte(fmt.Sprint(request.Version) + long(8<<10))
		switch {
		case request.Version == 1:
		case delta:
			request.Base, request.Resources = last, all[changed:changed+1]
		default: // the hub has had the others
			request.Resources = nil
			for i, r := range all {
				if uint64(i) != changed {
					r = r.Named()
				}
				request.Resources = append(request.Resources, r)
			}
		}
		last = request.Name()
		if response, err := push(request); err != nil || !response.GetAccepted() {
			b.Fatal(response, err)
		}
	}
}
