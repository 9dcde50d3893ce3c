package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"waymark/internal/atomicfile"
	shapes "waymark/plugins/mcpconfig/servers"
	"waymark/workspace/mcp/entry"
)

// configMemory keeps which MCP configuration files a workspace had, for its next agent:
// that knows its servers before it has looked at the workspace. It says nothing where
// anything is different that decides which files count: the configuration, the
// environment, the roots, a file at a place that had none.
type configMemory struct {
	path      string
	workspace *workspace
	stamp     string // of the configuration and version that the agent has started with

	mu   sync.Mutex // guards the fields below
	kept []byte     // what the file holds; nil for nothing, or nobody knows what
	off  bool       // the configuration has changed since: nothing is kept any more
}

// maxMemory bounds the file that is read.
const maxMemory = 1 << 20

// remembered is the file.
type remembered struct {
	// Key is a hash of what decides which files count.
	Key   string           `json:"key"`
	Files []rememberedFile `json:"files"`
}

type rememberedFile struct {
	Path   string       `json:"path"`
	Origin entry.Origin `json:"origin"`
	Shape  shapes.Shape `json:"shape,omitempty"`
	Hash   string       `json:"hash"`
}

func newConfigMemory(dir string, w *workspace, stamp string) *configMemory {
	return &configMemory{path: filepath.Join(dir, "files.json"), workspace: w, stamp: stamp}
}

// key is a hash of what decides which files count. What a place leads to belongs to it.
func (m *configMemory) key(places []mcpPlace) string {
	said := []string{"waymark mcp files 2", m.stamp, m.workspace.resolvedRoot()}
	for _, spec := range m.workspace.specs() {
		said = append(said, "root", spec.Path)
	}
	for _, p := range places {
		said = append(said, string(p.origin), p.path, p.leads)
	}
	text, _ := json.Marshal(said) // texts always can be
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// recall returns the files of the last agent; none where something is different.
func (m *configMemory) recall() (files []entry.File) {
	f, err := os.Open(m.path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxMemory))
	if err != nil {
		return nil
	}
	m.mu.Lock()
	m.kept = data
	m.mu.Unlock()
	var r remembered
	if json.Unmarshal(data, &r) != nil || r.Key != m.key(m.workspace.mcpPlacesNow()) {
		return nil
	}
	for _, f := range r.Files {
		files = append(files, entry.File{Path: f.Path, Origin: f.Origin, Shape: f.Shape, Hash: f.Hash})
	}
	return files
}

// keep keeps files for the next agent. None are kept where one of them can't be used:
// the next one may find it to be another.
func (m *configMemory) keep(files []entry.File, places []mcpPlace) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.off || len(files) == 0 || slices.ContainsFunc(files, func(f entry.File) bool { return f.Problem != "" || f.Hash == "" }) {
		return m.drop()
	}
	r := remembered{Key: m.key(places)}
	for _, f := range files {
		r.Files = append(r.Files, rememberedFile{Path: f.Path, Origin: f.Origin, Shape: f.Shape, Hash: f.Hash})
	}
	data, err := json.Marshal(r)
	if err != nil || len(data) > maxMemory || string(data) == string(m.kept) {
		return err
	}
	m.kept = nil
	if err := atomicfile.WriteFile(m.path, data, 0o600); err != nil {
		return err
	}
	m.kept = data
	return nil
}

// forget keeps nothing from now on: the configuration isn't the one any more that the
// agent has started with.
func (m *configMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	_ = m.drop() // the key is another's
}

// drop removes the file; mu is held.
func (m *configMemory) drop() error {
	m.kept = nil
	if err := os.Remove(m.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
