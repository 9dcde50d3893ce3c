package consumer_test

import (
	"fmt"
	"sync"
	"testing"

	"waymark/hub/consumer"
)

// BenchmarkFollow measures from a push until all streams have its event.
func BenchmarkFollow(b *testing.B) {
	for _, streams := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			f := newFixture(b, consumer.Limits{Streams: streams, StreamsPerToken: streams})
			f.push("a")
			var ready, got sync.WaitGroup
			ready.Add(streams)
			for range streams {
				r := f.follow("?after=1")
				go func() {
					ready.Done()
					for {
						frame, ok := r.next()
						if !ok {
							return
						}
						if frame.event == "context" {
							got.Done()
						}
					}
				}()
			}
			ready.Wait()
			n := 0
			for b.Loop() {
				n++
				got.Add(streams)
				f.push("a", text("/w/AGENTS.md", fmt.Sprint(n)))
				got.Wait()
			}
		})
	}
}
