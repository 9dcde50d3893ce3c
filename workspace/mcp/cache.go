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

// Preset hands over the files of the last agent of the workspace, before anybody has
// looked for files in this one, so that what is cached is known at once. It takes them
// only when each still is what it was, and returns whether; SetFiles follows with what
// there is. What may start and what is listed is judged as ever.
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

// known is what a server offers, and what of that may be called. It is immutable.
type known struct {
	catalogue *catalog.Catalogue
	tools     trust.ToolVerdict
}

// maxCached bounds a cached catalogue that is read: what sessions take, escaped.
const maxCached = 64 << 20

// cached is the file of a catalogue.
type cached struct {
	Name       string             `json:"name"`
	Definition string             `json:"definition"`
	Local      string             `json:"local"`
	Protocol   string             `json:"protocol,omitempty"` // see session.Options
	Catalogue  *catalog.Catalogue `json:"catalogue"`
}

// cachePath is where the catalogue of what has been judged is kept: by its approval,
// so that nothing else is ever listed with it.
func (s *server) cachePath(j *judgement) string {
	sum := sha256.Sum256([]byte(s.name + "\n" + j.digests.Definition + "\n" + j.digests.Local))
	return filepath.Join(s.svc.cacheDir(), hex.EncodeToString(sum[:])+".json")
}

func (s *Service) cacheDir() string { return filepath.Join(s.opts.StateDir, "catalogues") }

// save keeps a catalogue for the next agent. Without it that one starts the server
// once, so an error is only logged.
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

// load returns what was kept for what has been judged; nil for nothing.
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
	_ = os.Chtimes(path, now, now) // sweepCatalogues keeps what is used
	s.setProtocol(c.Protocol)
	k, err := s.pin(j, s.clean(c.Catalogue))
	if err != nil {
		return nil
	}
	return k
}

// pin asks which tools of a catalogue may be called.
func (s *server) pin(j *judgement, c *catalog.Catalogue) (*known, error) {
	verdict, err := s.svc.opts.Trust.Tools(j.entry, j.digests, c)
	if err != nil {
		return nil, err
	}
	return &known{catalogue: c, tools: verdict}, nil
}

// cacheAge is how long a catalogue is kept that nobody asks for.
const cacheAge = 90 * 24 * time.Hour

// sweepCatalogues removes what hasn't been used for long.
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
