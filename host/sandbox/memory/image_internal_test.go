//go:build linux

package memory

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefusedMapping: where the system maps no image, memories are copied from
// it, and it is said. It is internal because systems seldom refuse.
func TestRefusedMapping(t *testing.T) {
	want := bytes.Repeat([]byte{1, 0, 0, 0, 0, 2, 0, 3}, 5*65536/8)
	clear(want[65536:][:65536])
	i, err := newImage(want)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Close() }()
	// A file whose parts are nowhere that a mapping could begin.
	for k := range i.kept {
		want[i.kept[k].from] = 0 // which none has any more
		i.kept[k].from++
		i.kept[k].at++
	}
	var said error
	a := &Allocator{Image: i, Refused: func(err error) { said = err }}
	defer func() { _ = a.Close() }()
	data := a.Allocate(0, 64*65536).Reallocate(5 * 65536)
	if !errors.Is(said, unix.EINVAL) {
		t.Errorf("it says %v", said)
	}
	if !bytes.Equal(data, want) {
		t.Error("the copy is another")
	}
}
