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

// Options are where things are.
type Options struct {
	// Program is the agent's absolute path, for entries.
	Program string
	// Home is the user's home directory.
	Home string
	// Getenv returns a variable; nil means os.Getenv.
	Getenv func(string) string
	// State is a directory for records of what was written, and for what was there before.
	// It is made when something is written.
	State string
}

// Connector connects clients. It has no state but files.
type Connector struct {
	opts Options
	env  environment
}

// New makes one. Nothing is read or written.
func New(opts Options) *Connector {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return &Connector{opts: opts, env: environment{opts.Home, opts.Getenv}}
}

// Action is what happens, or would, to a file.
type Action string

// The actions.
const (
	ActionNone     Action = "unchanged" // it is as it should be
	ActionCreated  Action = "created"
	ActionChanged  Action = "changed"
	ActionRemoved  Action = "removed"  // the entry alone; or the file, if it was made for it
	ActionRestored Action = "restored" // byte for byte what it was
)

// Change is what happens, or would, to a file.
type Change struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Before and After are the file's contents, which may hold secrets. A file that
	// isn't there has none.
	Before []byte `json:"-"`
	After  []byte `json:"-"`
	// Gone says that there is no file afterwards.
	Gone bool `json:"-"`

	file *file
	rec  *fileRecord // how it is undone; nil where nothing is left to undo
	dirs []string    // to be removed with it
}

// record is what was written for a client.
type record struct {
	Version int           `json:"version"`
	At      time.Time     `json:"at"`
	Files   []*fileRecord `json:"files"`
}

// fileRecord is how a file is undone.
type fileRecord struct {
	Path   string   `json:"path"`
	Before string   `json:"before,omitempty"` // the SHA-256 of what it was; "" if it wasn't there
	After  string   `json:"after"`            // of what it became
	Backup string   `json:"backup,omitempty"` // where what it was is kept, in the directory of records
	Made   int      `json:"made"`             // objects around the entry that were made
	Dirs   []string `json:"dirs,omitempty"`   // directories that were made

	backup []byte
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// FileError says what is wrong with a file that was left alone.
type FileError struct {
	Path string
	Err  error
	// Entry is what somebody can write there by hand.
	Entry string
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v; nothing was written", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// place is a file with the entry that belongs there.
type place struct {
	path string
	edit edit
}

// places are the files for what a client is to have: that with the entry, which may be
// another than usual since it is there already, and that with the hook.
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

// everywhere are all files that may hold something of a client's.
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

// Plan says what Connect would do, and does nothing.
//
// # Errors
//
// A FileError where a file can't be read as its client would, or holds something else under
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

// recorded are the places of a record.
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

// planPut says how an entry gets into a file.
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
		// Nobody has touched it since: as if it were done for the first time.
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
			ch.rec = rec // as it was written
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

// planUndo says how a file gets rid of its entry.
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

// Connect writes the entry, and returns what was done.
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

// PlanUndo says what Undo would do, and does nothing.
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
			continue // most likely nothing of ours is there, and it hinders nothing
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

// Undo takes away what Connect has written, and returns what was done; nothing where nothing
// of it is there.
func (c *Connector) Undo(ctx context.Context, client *Client) (changes []*Change, err error) {
	err = c.locked(ctx, func() error {
		if changes, err = c.PlanUndo(client); err != nil {
			return err
		}
		return c.apply(client, changes)
	})
	return changes, err
}

// apply does what was planned. What is needed to undo it is on the disk before.
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

// load returns the record of a client; an empty one where there is none.
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
			fr.After = "" // what was there before is lost: the entry alone can be removed
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

// locked runs something while no other process changes files for clients.
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
