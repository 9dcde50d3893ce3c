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

// configMemory remembers a workspace's MCP configuration files, so that the next agent
// knows its servers before it has scanned the workspace. The memory is used only if
// everything that decides which files count is unchanged: the configuration, the
// environment, the roots, and the files at the known places.
type configMemory struct {
	path      string
	workspace *workspace
	stamp     string // identifies the configuration and the version that the agent was started with

	mu   sync.Mutex // guards the fields below
	kept []byte     // the file's content; nil if there is none or it isn't known
	off  bool       // the configuration has changed since the start: nothing is remembered any more
}

// maxMemory limits how much of the file is read, in bytes.
const maxMemory = 1 << 20

// remembered is the content of the file.
type remembered struct {
	// Key is a hash of everything that decides which files count.
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

// key hashes everything that decides which files count, including where links at the known
// places lead.
func (m *configMemory) key(places []mcpPlace) string {
	said := []string{"waymark mcp files 2", m.stamp, m.workspace.resolvedRoot()}
	for _, spec := range m.workspace.specs() {
		said = append(said, "root", spec.Path)
	}
	for _, p := range places {
		said = append(said, string(p.origin), p.path, p.leads)
	}
	text, _ := json.Marshal(said) // strings always marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// recall returns the last agent's files, or none if anything has changed.
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

// keep remembers files for the next agent. It keeps none if one of them has a problem,
// because the next agent may see it differently.
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

// forget stops remembering, because the configuration isn't the one that the agent was
// started with any more.
func (m *configMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	_ = m.drop() // its key is outdated
}

// drop removes the file. The caller holds mu.
func (m *configMemory) drop() error {
	m.kept = nil
	if err := os.Remove(m.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
