package server_test

import (
	"fmt"
	"sync"
	"testing"

	"waymark/hub/server"
	"waymark/test/contracts/storetest"
)

// BenchmarkFollow measures from a push until all streams have its event.
func BenchmarkFollow(b *testing.B) {
	for _, streams := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			f := newFixture(b, server.Limits{Streams: streams, StreamsPerToken: streams})
			f.push("a")
			var ready, got sync.WaitGroup
			ready.Add(streams)
			for range streams {
				r := f.follow("?after=" + f.behind(1))
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

// BenchmarkAgents measures a page of a fleet of 5,000, as the overview asks for it.
func BenchmarkAgents(b *testing.B) {
	f := newFixture(b, server.Limits{})
	storetest.Fleet(b, f.store, 5000)
	for _, query := range []string{"limit=100", "limit=100&sort=last_push_at&order=desc", "limit=100&q=host-7+prod", "limit=1000&attention=any", ""} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				f.page("/api/v0/agents?" + query)
			}
		})
	}
}
