package places

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"waymark/internal/atomicfile"
)

// maxShared bounds the file of one agent, in bytes.
const maxShared = 1 << 20

// written is what an agent tells the others of its user.
type written struct {
	PID    int      `json:"pid"`
	Roots  []string `json:"roots"`
	Places []told   `json:"places"`
}

type told struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path"`
}

// Share writes the list to a file in this agent's state, now and whenever it changes. It also
// reads the lists of the user's other agents, in files that match a pattern: chats of one
// workspace must not change what the agent of another one trusts.
func (r *Registry) Share(file Place, pattern string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.pattern = file.path, pattern
	return r.write()
}

// write writes the list, if it is shared. The caller holds the lock.
func (r *Registry) write() error {
	if r.file == "" {
		return nil
	}
	w := written{PID: os.Getpid(), Roots: r.roots}
	for _, p := range r.list {
		w.Places = append(w.Places, told{p.kind, p.path})
	}
	text, err := json.Marshal(&w)
	if err != nil {
		return err
	}
	return atomicfile.Replace(r.file, append(text, '\n'), 0o600)
}

// others returns what the other agents have written. An unreadable file belongs to no running
// agent, because only agents write there.
func (r *Registry) others() (list []written) {
	files, _ := filepath.Glob(r.pattern) // fails only for a wrong pattern
	for _, file := range files {
		if file == r.file {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxShared))
		_ = f.Close()
		var w written
		if err == nil && json.Unmarshal(text, &w) == nil {
			list = append(list, w)
		}
	}
	return list
}

// foreign returns the places of the other agents that can be hidden from the chats of this
// one.
func (r *Registry) foreign() (list []Place) {
	for _, w := range r.others() {
		for _, t := range w.Places {
			p := Place{t.Kind, t.Path}
			worked := slices.ContainsFunc(r.roots, func(root string) bool { return within(Real(p.path), root) && !within(r.home, root) })
			if filepath.IsAbs(p.path) && !worked && !slices.Contains(r.list, p) && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}
