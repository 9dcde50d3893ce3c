package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi/client"
)

// BenchmarkStatus is one call, its connection included.
func BenchmarkStatus(b *testing.B) {
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := server.Listen(filepath.Join(dir, "a.sock"))
	if err != nil {
		b.Fatal(err)
	}
	defer serve(l, server.New(server.Options{Backend: servertest.New()})).end(b)
	c := client.New(filepath.Join(dir, "a.sock"), client.Options{})
	for b.Loop() {
		if _, err := c.Status(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
