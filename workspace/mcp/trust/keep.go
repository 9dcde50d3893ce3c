package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/internal/atomicfile"
	"waymark/internal/errtext"
	"waymark/workspace/launch"
)

const (
	fileVersion = 1
	// maxKept limits the file that is read, in bytes: a thousand servers with a few KiB
	// each, and the maximum of signed approvals.
	maxKept = 64 << 20
	// maxServers, maxDenied and maxEarlier limit what is remembered, far above real use;
	// the oldest are dropped. maxSigned limits the signed approvals.
	maxServers = 1024
	maxDenied  = 64
	maxEarlier = 64
	maxSigned  = 1024
)

// kept is the content of the file.
type kept struct {
	Version int `json:"version"`
	// Closed says that an earlier file, with its denials, is lost.
	Closed  bool     `json:"closed,omitempty"`
	Servers []record `json:"servers"` // ordered by name
	Signed  [][]byte `json:"signed,omitempty"`

	broken bool // the file is invalid
}

// record has the user's decisions about the servers of a name.
type record struct {
	Name     string    `json:"name"`
	Approved *approved `json:"approved,omitempty"` // the last approval
	// Earlier are previous approvals without parts. They are still valid, so that switching
	// branches back needs no new approval.
	Earlier []approved `json:"earlier,omitempty"`
	Denied  []denied   `json:"denied,omitempty"`
}

type approved struct {
	Definition string          `json:"definition"`
	Local      string          `json:"local"` // empty if it was denied since
	At         time.Time       `json:"at"`
	Widening   launch.Widening `json:"widening,omitzero"`
	Parts      []Part          `json:"parts,omitempty"`
	// Develop is until when files of the workspace may differ; zero means never.
	Develop time.Time `json:"develop,omitzero"`
}

type denied struct {
	Definition string    `json:"definition"`
	At         time.Time `json:"at"`
}

func (s *Store) file() string { return filepath.Join(s.opts.Dir, "mcp-approvals.json") }

// read returns what is stored.
func (s *Store) read() *kept {
	k := &kept{Version: fileVersion}
	err := readJSON(s.file(), maxKept, k)
	if err == nil {
		err = k.check()
	}
	if err != nil {
		k = &kept{Version: fileVersion, Closed: true, broken: true}
		s.opts.Logger.Warn("approvals of MCP servers are lost: servers wait for 'agent mcp approve'; remove the file to begin anew",
			slog.String("file", s.file()), slog.String("why", errtext.Of(err)))
	}
	return k
}

func (k *kept) check() error {
	if k.Version != fileVersion {
		return fmt.Errorf("it is of version %d, and not of %d", k.Version, fileVersion)
	}
	for i := range k.Servers {
		if i > 0 && k.Servers[i-1].Name >= k.Servers[i].Name {
			return errors.New("its servers aren't in order")
		}
	}
	return nil
}

// readJSON reads a file that only the user can write. If the file doesn't exist, v stays
// unchanged.
func readJSON(path string, most int64, v any) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it isn't a regular file")
	case info.Mode().Perm()&0o022 != 0 || !own(info):
		return errors.New("others can write it")
	case info.Size() > most:
		return errors.New("it is too long")
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// change modifies what is stored, and writes it.
func (s *Store) change(ctx context.Context, change func(*kept)) error {
	ctx, leave, err := s.turn.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	next := s.kept.Load().clone()
	change(next)
	return s.keep(ctx, next)
}

// keep writes what is stored and puts it in force. The caller has the turn.
func (s *Store) keep(ctx context.Context, next *kept) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	next.forget()
	if next.broken { // keep the invalid file under another name
		if err := os.Rename(s.file(), s.file()+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		next.broken = false
	}
	if err := writeJSON(s.file(), maxKept, next); err != nil {
		return err
	}
	s.kept.Store(next)
	return nil
}

// writeJSON writes a file that readJSON accepts. It doesn't escape HTML, so that raw JSON
// stays the same.
func writeJSON(path string, most int64, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if int64(b.Len()) > most {
		return fmt.Errorf("%s would have more than %d MiB", path, most>>20)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, b.Bytes(), 0o600)
}

// clone copies everything that a change may modify.
func (k *kept) clone() *kept {
	next := *k
	next.Servers = slices.Clone(k.Servers)
	for i := range next.Servers {
		r := &next.Servers[i]
		r.Denied, r.Earlier = slices.Clone(r.Denied), slices.Clone(r.Earlier)
		if r.Approved != nil {
			copied := *r.Approved
			r.Approved = &copied
		}
	}
	return &next
}

// find returns the record of a name; nil if there is none.
func (k *kept) find(name string) *record {
	i, ok := k.search(name)
	if !ok {
		return nil
	}
	return &k.Servers[i]
}

// at returns the record of a name, and creates it if there is none.
func (k *kept) at(name string) *record {
	i, ok := k.search(name)
	if !ok {
		k.Servers = slices.Insert(k.Servers, i, record{Name: name})
	}
	return &k.Servers[i]
}

func (k *kept) search(name string) (int, bool) {
	return slices.BinarySearchFunc(k.Servers, name, func(r record, name string) int { return strings.Compare(r.Name, name) })
}

// forget drops the oldest records.
func (k *kept) forget() {
	for len(k.Servers) > maxServers {
		oldest := slices.MinFunc(k.Servers, func(a, b record) int { return a.last().Compare(b.last()) })
		k.Servers = slices.DeleteFunc(k.Servers, func(r record) bool { return r.Name == oldest.Name })
	}
}

// last returns the time of the user's last decision.
func (r *record) last() (at time.Time) {
	if r.Approved != nil {
		at = r.Approved.At
	}
	for _, n := range r.Denied {
		at = slices.MaxFunc([]time.Time{at, n.At}, time.Time.Compare)
	}
	return at
}
