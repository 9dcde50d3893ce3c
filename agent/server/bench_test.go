package server_test

import (
	"fmt"
	"strings"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/snapshot"
)

// large is an agent with a full list of resources.
type large struct {
	*servertest.Backend
	s *snapshot.Snapshot
}

func (b large) Current() *snapshot.Snapshot { return b.s }

// BenchmarkSnapshot answers with 500 resources, new ones and old ones, and tells
// that they are known.
func BenchmarkSnapshot(b *testing.B) {
	s := &snapshot.Snapshot{Version: 1}
	for i := range 500 {
		s.Resources = append(s.Resources, snapshot.Resource{
			Kind: "skill", Source: fmt.Sprintf("/home/me/project/.agents/skills/skill-%03d", i), Name: fmt.Sprintf("skill-%03d", i),
			Description: strings.Repeat("does something ", 20), Status: snapshot.StatusOK, Resolver: "waymark/context@1.0.0",
		})
	}
	h := server.New(server.Options{Backend: large{servertest.New(), s}})
	etag := serve(h, request("HEAD", snapshotPath, "")).Header.Get("ETag")
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			s.Version++
			serve(h, request("GET", snapshotPath, ""))
		}
		s.Version = 1
	})
	b.Run("old", func(b *testing.B) {
		for b.Loop() {
			serve(h, request("GET", snapshotPath, ""))
		}
	})
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			serve(h, request("GET", snapshotPath, "", "If-None-Match", etag))
		}
	})
}
