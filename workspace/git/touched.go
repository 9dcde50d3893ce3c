package git

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"

	"waymark/agentapi"
)

const (
	// maxChats and maxPaths bound what is remembered: some 40 MiB at the very most,
	// and in practice some KiB.
	maxChats = 256
	maxPaths = 1000
	// maxPath is the longest path that is remembered, in bytes: Linux takes no
	// longer one.
	maxPath = 4096
)

// touches remembers which chat has worked on which paths. It does no I/O.
type touches struct {
	mu    sync.Mutex               // guards the rest
	seq   uint64                   // of the last touch
	chats map[uuid.UUID]*chatPaths // uuid.Nil has the paths of everybody
}

// chatPaths are the paths of one chat, with the number of the last touch of each.
type chatPaths struct {
	last  uint64
	paths map[string]uint64
}

// add remembers that a caller has worked on paths, for itself and the chats that
// it was started by. It reports whether there was anything to remember.
func (t *touches) add(caller agentapi.Caller, paths []string) bool {
	var clean []string
	for _, path := range paths {
		if filepath.IsAbs(path) && len(path) <= maxPath {
			clean = append(clean, filepath.Clean(path))
		}
	}
	if len(clean) == 0 {
		return false
	}
	chats := append([]uuid.UUID{uuid.Nil, caller.Chat}, caller.Ancestors...)
	slices.SortFunc(chats, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	for _, chat := range slices.Compact(chats) {
		t.addTo(chat, clean)
	}
	return true
}

// addTo remembers paths of one chat. The caller holds the lock.
func (t *touches) addTo(chat uuid.UUID, paths []string) {
	c := t.chats[chat]
	if c == nil {
		if t.chats == nil {
			t.chats = make(map[uuid.UUID]*chatPaths)
		}
		c = &chatPaths{paths: make(map[string]uint64)}
		t.chats[chat] = c
	}
	c.last = t.seq
	for _, path := range paths {
		c.paths[path] = t.seq
	}
	for len(c.paths) > maxPaths {
		delete(c.paths, oldest(c.paths, func(seq uint64) uint64 { return seq }))
	}
	for len(t.chats) > maxChats+1 { // and that of everybody
		delete(t.chats, oldest(t.chats, func(c *chatPaths) uint64 { return c.last }))
	}
}

// oldest returns the key of the entry that was touched first.
func oldest[K comparable, V any](entries map[K]V, touched func(V) uint64) (key K) {
	first := true
	var least uint64
	for k, v := range entries {
		if n := touched(v); first || n < least {
			key, least, first = k, n, false
		}
	}
	return key
}

// since returns the paths of a chat that were touched after a number, and the number
// to ask with the next time. uuid.Nil is everybody.
func (t *touches) since(chat uuid.UUID, seq uint64) (paths []string, now uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.chats[chat]; c != nil && c.last > seq {
		for path, at := range c.paths {
			if at > seq {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths, t.seq
}
