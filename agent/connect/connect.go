package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"waymark/internal/atomicfile"
)

// Options tell a Connector where things are.
type Options struct {
	// Program is the agent's absolute path, which entries start.
	Program string
	// Home is the user's home directory.
	Home string
	// Getenv returns an environment variable; nil means os.Getenv.
	Getenv func(string) string
	// State is a directory for records of what was written, and for the originals. It is
	// created on the first write.
	State string
}

// Connector connects clients. All its state is in files.
type Connector struct {
	opts Options
	env  environment
}

// New returns a Connector. It reads and writes nothing.
func New(opts Options) *Connector {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return &Connector{opts: opts, env: environment{opts.Home, opts.Getenv}}
}

// Action is what a change does to a file.
type Action string

// The actions.
const (
	ActionNone     Action = "unchanged" // the file already has the entry
	ActionCreated  Action = "created"
	ActionChanged  Action = "changed"
	ActionRemoved  Action = "removed"  // the entry; or the file, if it was created for it
	ActionRestored Action = "restored" // the original, byte for byte
)

// Change is a change of a file, made or planned.
type Change struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Before and After are the file's contents, which may hold secrets. They are empty if
	// there is no file.
	Before []byte `json:"-"`
	After  []byte `json:"-"`
	// Gone says that the file doesn't exist afterwards.
	Gone bool `json:"-"`

	file *file
	rec  *fileRecord // how to undo it; nil if nothing is left to undo
	dirs []string    // to be removed with the file
}

// record is what was written for a client.
type record struct {
	Version int           `json:"version"`
	At      time.Time     `json:"at"`
	Files   []*fileRecord `json:"files"`
}

// fileRecord is what undoing a file needs.
type fileRecord struct {
	Path   string   `json:"path"`
	Before string   `json:"before,omitempty"` // the original's SHA-256; "" if there was no file
	After  string   `json:"after"`            // the SHA-256 of the result
	Backup string   `json:"backup,omitempty"` // the original's copy, in the directory of records
	Made   int      `json:"made"`             // number of objects created around the entry
	Dirs   []string `json:"dirs,omitempty"`   // directories that were created

	backup []byte
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// FileError says why a file was left alone.
type FileError struct {
	Path string
	Err  error
	// Entry is the text that a person can add by hand.
	Entry string
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v; nothing was written", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// place is a file and the entry that belongs there.
type place struct {
	path string
	edit edit
}

// places returns a client's files: the one with the entry, which may be an unusual one if
// the entry is already there, and the one with the hook.
func (c *Connector) places(client *Client, s Settings) []place {
	entry := client.entry(client.serve(c.opts.Program, s), s)
	paths := client.paths(&c.env)
	path := paths[0]
	for _, p := range paths {
		if f, err := read(p); err == nil && f.info != nil {
			if found, err := entry.find(f.data); err == nil && found != nil {
				path = p
				break
			}
		}
	}
	list := []place{{path, entry}}
	if s.Hook {
		list = append(list, place{client.hookPath(&c.env), hookEdit(c.opts.Program)})
	}
	return list
}

// everywhere returns all files that may hold an entry of ours for a client.
func (c *Connector) everywhere(client *Client) []place {
	entry := client.entry(client.serve(c.opts.Program, Settings{}), Settings{})
	var list []place
	for _, p := range client.paths(&c.env) {
		list = append(list, place{p, entry})
	}
	if client.Hook {
		list = append(list, place{client.hookPath(&c.env), hookEdit(c.opts.Program)})
	}
	return list
}

// Plan returns what Connect would do, without doing it.
//
// # Errors
//
// A FileError if a file can't be parsed as its client would, or holds something else under
// the entry's name.
func (c *Connector) Plan(client *Client, s Settings) ([]*Change, error) {
	rec, err := c.load(client)
	if err != nil {
		return nil, err
	}
	return c.plan(client, s, rec)
}

func (c *Connector) plan(client *Client, s Settings, rec *record) ([]*Change, error) {
	wanted := c.places(client, s)
	var changes []*Change
	for _, p := range c.recorded(client, rec) {
		if !slices.ContainsFunc(wanted, func(w place) bool { return w.path == p.path }) {
			ch, err := c.planUndo(p, rec.file(p.path))
			if err != nil {
				return nil, err
			}
			changes = append(changes, ch)
		}
	}
	for _, p := range wanted {
		ch, err := c.planPut(p, rec.file(p.path))
		if err != nil {
			return nil, err
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// recorded returns the places in a record.
func (c *Connector) recorded(client *Client, rec *record) []place {
	var list []place
	for _, fr := range rec.Files {
		p := place{fr.Path, client.entry(client.serve(c.opts.Program, Settings{}), Settings{})}
		if client.Hook && filepath.Base(fr.Path) == filepath.Base(client.hookPath(&c.env)) {
			p.edit = hookEdit(c.opts.Program)
		}
		list = append(list, p)
	}
	return list
}

func (r *record) file(path string) *fileRecord {
	for _, f := range r.Files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// planPut plans how the entry gets into a file.
func (c *Connector) planPut(p place, rec *fileRecord) (*Change, error) {
	f, err := read(p.path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) error { return &FileError{Path: p.path, Err: err, Entry: p.edit.text()} }
	found, err := p.edit.find(f.data)
	if err != nil {
		return nil, fail(err)
	}
	if found != nil && !p.edit.own(found) {
		return nil, fail(fmt.Errorf("another MCP server is named %s there: give it another name", Name))
	}
	ch := &Change{Path: p.path, Action: ActionChanged, Before: f.data, file: f}
	base := f.data
	next := &fileRecord{Path: p.path}
	switch {
	case rec != nil && found != nil && f.info != nil && digest(f.data) == rec.After:
		// Unchanged since it was written: as if written for the first time.
		base, next.Before, next.Dirs = rec.backup, rec.Before, rec.Dirs
	case found != nil:
		made := 0
		if rec != nil {
			made = rec.Made
		}
		if base, err = p.edit.cut(f.data, made); err != nil {
			return nil, fail(err)
		}
		next.Before = digest(base)
	case f.info != nil:
		next.Before = digest(base)
	default:
		ch.Action = ActionCreated
	}
	if ch.After, next.Made, err = p.edit.put(base); err != nil {
		return nil, fail(err)
	}
	next.backup, next.After = base, digest(ch.After)
	if next.Before != "" {
		next.Backup = digest([]byte(p.path))[:16] + ".before"
	}
	ch.rec = next
	if f.info != nil && string(ch.After) == string(f.data) || found != nil && sameEntry(p.edit, f.data, ch.After) {
		ch.Action, ch.After = ActionNone, f.data
		if rec != nil && rec.After != "" {
			ch.rec = rec // as written before
		} else {
			next.After = digest(f.data)
		}
	}
	return ch, nil
}

// sameEntry reports whether two documents hold the same entry.
func sameEntry(e edit, a, b []byte) bool {
	x, err := e.find(a)
	if err != nil {
		return false
	}
	y, err := e.find(b)
	return err == nil && reflect.DeepEqual(x, y)
}

// planUndo plans how the entry is removed from a file.
func (c *Connector) planUndo(p place, rec *fileRecord) (*Change, error) {
	f, err := read(p.path)
	if err != nil {
		return nil, err
	}
	ch := &Change{Path: p.path, Action: ActionNone, Before: f.data, After: f.data, file: f, Gone: f.info == nil}
	if f.info == nil {
		return ch, nil
	}
	fail := func(err error) error { return &FileError{Path: p.path, Err: err} }
	if rec != nil && digest(f.data) == rec.After {
		if rec.Before == "" {
			ch.Action, ch.Gone, ch.After, ch.dirs = ActionRemoved, true, nil, rec.Dirs
			return ch, nil
		}
		if digest(rec.backup) == rec.Before {
			ch.Action, ch.After = ActionRestored, rec.backup
			return ch, nil
		}
	}
	found, err := p.edit.find(f.data)
	if err != nil {
		return nil, fail(err)
	}
	if found == nil || !p.edit.own(found) {
		return ch, nil
	}
	made := 0
	if rec != nil {
		made = rec.Made
	}
	ch.Action = ActionRemoved
	if ch.After, err = p.edit.cut(f.data, made); err != nil {
		return nil, fail(err)
	}
	if rec != nil && rec.Before == "" && p.edit.blank(ch.After) {
		ch.Gone, ch.After, ch.dirs = true, nil, rec.Dirs
	}
	return ch, nil
}

// Connect writes the entry, and returns what it did.
func (c *Connector) Connect(ctx context.Context, client *Client, s Settings) (changes []*Change, err error) {
	err = c.locked(ctx, func() error {
		rec, err := c.load(client)
		if err != nil {
			return err
		}
		if changes, err = c.plan(client, s, rec); err != nil {
			return err
		}
		return c.apply(client, changes)
	})
	return changes, err
}

// PlanUndo returns what Undo would do, without doing it.
func (c *Connector) PlanUndo(client *Client) ([]*Change, error) {
	rec, err := c.load(client)
	if err != nil {
		return nil, err
	}
	places := c.recorded(client, rec)
	for _, p := range c.everywhere(client) {
		if rec.file(p.path) == nil {
			places = append(places, p)
		}
	}
	var changes []*Change
	for i, p := range places {
		ch, err := c.planUndo(p, rec.file(p.path))
		if err != nil && i > 0 && rec.file(p.path) == nil {
			continue // most likely the file has nothing of ours, and it is no obstacle
		}
		if err != nil {
			return nil, err
		}
		if ch.Action != ActionNone {
			changes = append(changes, ch)
		}
	}
	return changes, nil
}

// Undo removes what Connect wrote, and returns what it did; nothing if there is nothing of
// ours.
func (c *Connector) Undo(ctx context.Context, client *Client) (changes []*Change, err error) {
	err = c.locked(ctx, func() error {
		if changes, err = c.PlanUndo(client); err != nil {
			return err
		}
		return c.apply(client, changes)
	})
	return changes, err
}

// apply makes the planned changes. What undoing needs is on disk before.
func (c *Connector) apply(client *Client, changes []*Change) error {
	rec := &record{Version: 1, At: time.Now().UTC()}
	for _, ch := range changes {
		if ch.rec == nil {
			continue
		}
		if ch.Action == ActionCreated {
			dirs, err := ch.file.makeDirs()
			if err != nil {
				return err
			}
			ch.rec.Dirs = dirs
		}
		if ch.rec.Backup != "" {
			if err := atomicfile.WriteFile(filepath.Join(c.opts.State, ch.rec.Backup), ch.rec.backup, 0o600); err != nil {
				return err
			}
		}
		rec.Files = append(rec.Files, ch.rec)
	}
	old, err := c.load(client)
	if err != nil {
		return err
	}
	if len(rec.Files) > 0 {
		if err := c.save(client, rec); err != nil {
			return err
		}
	}
	for _, ch := range changes {
		switch {
		case ch.Action == ActionNone:
		case ch.Gone:
			err = ch.file.remove(ch.dirs)
		default:
			err = ch.file.write(ch.After)
		}
		if err != nil {
			return err
		}
	}
	if len(rec.Files) == 0 {
		if err := os.Remove(c.recordPath(client)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, fr := range old.Files {
		if fr.Backup != "" && rec.file(fr.Path) == nil {
			_ = os.Remove(filepath.Join(c.opts.State, fr.Backup)) // nothing needs it
		}
	}
	return nil
}

func (c *Connector) recordPath(client *Client) string {
	return filepath.Join(c.opts.State, client.ID+".json")
}

// load returns a client's record, empty if there is none.
func (c *Connector) load(client *Client) (*record, error) {
	data, err := os.ReadFile(c.recordPath(client))
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, err
	}
	rec := &record{}
	if err := json.Unmarshal(data, rec); err != nil || rec.Version != 1 {
		return &record{}, nil //nolint:nilerr // the entry is found without it
	}
	for _, fr := range rec.Files {
		if fr.Backup == "" {
			continue
		}
		if fr.backup, err = os.ReadFile(filepath.Join(c.opts.State, filepath.Base(fr.Backup))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if digest(fr.backup) != fr.Before {
			fr.After = "" // the original is lost: only the entry can be removed
		}
	}
	return rec, nil
}

func (c *Connector) save(client *Client, rec *record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(c.recordPath(client), append(data, '\n'), 0o600)
}

// locked runs do while no other 'agent connect' changes the coding agents' files.
func (c *Connector) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(c.opts.State, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(c.opts.State, "lock"))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil || !ok {
		return errors.Join(errors.New("another 'agent connect' is at work, and doesn't end"), err)
	}
	defer func() { _ = lock.Unlock() }()
	return do()
}
