package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"waymark/internal/atomicfile"
	"waymark/internal/errtext"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

// Preset passes on the configuration files of the workspace's last agent, before the first
// scan, so that cached catalogues are available at once. It uses the files only if all are
// unchanged, and reports that. SetFiles follows with the result of the scan. Approvals and
// patterns apply as always.
func (s *Service) Preset(files []entry.File) bool {
	for _, f := range files {
		if f.Hash == "" {
			return false
		}
		if _, err := readFile(f); err != nil {
			return false
		}
	}
	s.SetFiles(files)
	return true
}

// known is a server's catalogue, with the tools that may be called. It is immutable.
type known struct {
	catalogue *catalog.Catalogue
	tools     trust.ToolVerdict
}

// maxCached limits the size of a cached catalogue: that of a session's, with JSON escapes.
const maxCached = 64 << 20

// cached is the content of a cache file.
type cached struct {
	Name       string             `json:"name"`
	Definition string             `json:"definition"`
	Local      string             `json:"local"`
	Protocol   string             `json:"protocol,omitempty"` // see session.Options
	Catalogue  *catalog.Catalogue `json:"catalogue"`
}

// cachePath returns the cache file for a judgement. Its name depends on the approved
// digests, so that a catalogue is never used for another definition.
func (s *server) cachePath(j *judgement) string {
	sum := sha256.Sum256([]byte(s.name + "\n" + j.digests.Definition + "\n" + j.digests.Local))
	return filepath.Join(s.svc.cacheDir(), hex.EncodeToString(sum[:])+".json")
}

func (s *Service) cacheDir() string { return filepath.Join(s.opts.StateDir, "catalogues") }

// save caches a catalogue for the next agent. Errors are only logged, because without a
// cache the next agent just starts the server once.
func (s *server) save(j *judgement, k *known) {
	data, err := json.Marshal(cached{
		Name: s.name, Definition: j.digests.Definition, Local: j.digests.Local, Protocol: s.protocol(), Catalogue: k.catalogue,
	})
	if err == nil {
		err = atomicfile.WriteFile(s.cachePath(j), data, 0o600)
	}
	if err != nil {
		s.svc.log.Warn("what an MCP server offers can't be kept", slog.String("server", s.name), slog.String("error", errtext.Of(err)))
	}
}

// load returns the cached catalogue for a judgement; nil if there is none.
func (s *server) load(j *judgement) *known {
	path := s.cachePath(j)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCached {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var c cached
	if json.Unmarshal(data, &c) != nil || c.Catalogue == nil || c.Name != s.name || c.Definition != j.digests.Definition || c.Local != j.digests.Local {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // so that sweepCatalogues keeps it
	s.setProtocol(c.Protocol)
	k, err := s.pin(j, s.clean(c.Catalogue))
	if err != nil {
		return nil
	}
	return k
}

// pin determines which tools of a catalogue may be called.
func (s *server) pin(j *judgement, c *catalog.Catalogue) (*known, error) {
	verdict, err := s.svc.opts.Trust.Tools(j.entry, j.digests, c)
	if err != nil {
		return nil, err
	}
	return &known{catalogue: c, tools: verdict}, nil
}

// cacheAge is how long an unused catalogue is kept.
const cacheAge = 90 * 24 * time.Hour

// sweepCatalogues removes catalogues that haven't been used for cacheAge.
func (s *Service) sweepCatalogues() error {
	entries, err := os.ReadDir(s.cacheDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > cacheAge {
			_ = os.Remove(filepath.Join(s.cacheDir(), e.Name()))
		}
	}
	return nil
}
