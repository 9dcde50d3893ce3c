package hub_test

import (
	"fmt"
	"testing"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/wire/waymark"
)

// BenchmarkPush is one edit among n skills of 8 KiB, over a unix socket, from
// the push to the acknowledgement: a part of "edit → stored".
func BenchmarkPush(b *testing.B) {
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b, hub.Options{})
			p := f.dial(f.token(store.RoleAgent, "a"))
			request := &waymark.PushRequest{Initial: true}
			for i := range n {
				request.Resources = append(request.Resources, file(fmt.Sprint("/skill/", i), long(8<<10)))
			}
			version := uint64(0)
			for b.Loop() {
				version++
				request.Version = version
				request.Resources[version%uint64(n)].Payload = []byte(fmt.Sprint(version) + long(8<<10))
				if accepted, err := p.push(request); err != nil || !accepted {
					b.Fatal(accepted, err)
				}
			}
		})
	}
}
