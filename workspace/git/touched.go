package git

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"

	"waymark/agentapi"
)

const (
	// maxChats and maxPaths limit what is stored: at most some 40 MiB, in practice a few
	// KiB.
	maxChats = 256
	maxPaths = 1000
	// maxPath is the longest stored path, in bytes, which is Linux's maximum.
	maxPath = 4096
)

// touches records which chat has worked on which paths. It does no I/O.
type touches struct {
	mu    sync.Mutex               // guards the other fields
	seq   uint64                   // number of the last touch
	chats map[uuid.UUID]*chatPaths // uuid.Nil has the paths of all callers
}

// chatPaths are the paths of a chat, with the number of the last touch of each.
type chatPaths struct {
	last  uint64
	paths map[string]uint64
}

// add records that a caller has worked on paths, for its chat and the chat's ancestors. It
// reports whether anything was recorded.
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

// addTo records paths of a chat. The caller holds the lock.
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
	for len(t.chats) > maxChats+1 { // plus uuid.Nil
		delete(t.chats, oldest(t.chats, func(c *chatPaths) uint64 { return c.last }))
	}
}

// oldest returns the key of the least recently touched entry.
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

// since returns the paths of a chat that were touched after seq, and the number for the
// next call. uuid.Nil means all callers.
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
