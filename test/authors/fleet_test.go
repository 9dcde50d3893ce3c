package authors_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/test/authors"
)

// TestFleet does what docs/hub.md says of two fresh homes, at a port that is free.
func TestFleet(t *testing.T) {
	page, err := os.ReadFile("../../docs/hub.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(page), "## From two fresh homes to a fleet\n")
	if !ok {
		t.Fatal("docs/hub.md has no such chapter")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	steps, err := authors.Parse(strings.ReplaceAll(chapter, "127.0.0.1:7878", freeAddress(t)))
	if err != nil || len(steps) < 11 {
		t.Fatalf("the chapter has %d steps, %v", len(steps), err)
	}
	p := newPlayer(t)
	for _, who := range []string{"ada", "bob"} {
		p.configure(filepath.Join(p.work, who, ".config", "waymark"))
		p.share(filepath.Join(p.work, who, ".local", "state"))
	}
	for _, s := range steps {
		p.play(s)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
