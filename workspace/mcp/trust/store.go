package trust

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/host/vfs"
	"waymark/internal/await"
	"waymark/wire/approval"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
)

// Values of Verdict.By: who has decided.
const (
	ByUser      = "user"
	ByHub       = "hub"
	ByOperator  = "operator"
	ByWorkspace = "workspace"
)

// Options configure a Store.
type Options struct {
	// Dir is the workspace's private state directory.
	Dir string
	// Key is the agent's own key of at least 16 bytes. It prevents guessing secrets from
	// their hashes. With another key, all approvals are invalid.
	Key []byte
	// Root returns the workspace's directory, absolute and without links; "" while there is
	// none. Nil means that there is never one.
	Root func() string
	// Agents returns the ids by which a signed approval may name this agent. Nil means
	// none.
	Agents func() []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives problems with the stored files. Nil means no log.
	Logger *slog.Logger
}

// Policy is the operator's configuration.
type Policy struct {
	// Workspace lets everything start that the workspace configures.
	Workspace bool
	// Approved are definition digests that may start.
	Approved []string
	// Keys are the public keys that may sign approvals.
	Keys []ed25519.PublicKey
	// HoldNewTools holds back tools that a server adds after its approval.
	HoldNewTools bool
}

// Store stores approvals. Make one with Open.
type Store struct {
	opts     Options
	contents contents
	secrets  *vfs.SecretGuard
	turn     *await.Turn // serializes changes of what is stored
	kept     atomic.Pointer[kept]
	events   atomic.Pointer[events] // set while the Store listens
	// developed are the parts, by name, of servers whose last verdict was Developing: files
	// that are covered now, and weren't when the server was approved.
	developed sync.Map

	mu     sync.Mutex // guards the fields below; not held during file I/O
	policy Policy
	signed []*approval.Approval // those of kept with valid signatures of the policy's keys
}

// Open reads the approvals of a workspace. An invalid file is logged and approves nothing.
//
// # Errors
//
// The Options are invalid.
func Open(opts Options) (*Store, error) {
	const leastKey = 16
	if len(opts.Key) < leastKey {
		return nil, errors.New("the key for comparing MCP servers is too short")
	}
	if opts.Root == nil {
		opts.Root = func() string { return "" }
	}
	if opts.Agents == nil {
		opts.Agents = func() []string { return nil }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	secrets, err := vfs.NewSecretGuard(nil)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, secrets: secrets, turn: await.NewTurn(context.Background())}
	s.contents.path = filepath.Join(opts.Dir, "mcp-programs.json")
	s.contents.load()
	s.kept.Store(s.read())
	return s, nil
}

// SetPolicy replaces the policy. Approvals that were signed with keys not in it become
// invalid.
func (s *Store) SetPolicy(p Policy) {
	p.Approved, p.Keys = slices.Clone(p.Approved), slices.Clone(p.Keys)
	_, leave, err := s.turn.Take(context.Background())
	if err != nil {
		return // can't happen: the context never ends
	}
	defer leave()
	signed := verified(s.kept.Load().Signed, p.Keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy, s.signed = p, signed
}

func verified(list [][]byte, keys []ed25519.PublicKey) (good []*approval.Approval) {
	for _, signed := range list {
		if a, err := approval.Verify(signed, keys); err == nil {
			good = append(good, a)
		}
	}
	return good
}

func (s *Store) current() (Policy, []*approval.Approval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy, s.signed
}

// Judge says whether a server may start: because the user has approved exactly these
// digests, because of a signed approval or the operator's list, or because the
// configuration trusts the workspace. A denial by the user applies to the definition. It
// overrides everything except later decisions: a newer approval by the user, or one that
// was signed later.
func (s *Store) Judge(e *entry.Entry, d *Digests) Verdict {
	if d == nil || d.Definition == "" || d.Local == "" {
		return Verdict{}
	}
	kept := s.kept.Load()
	r := kept.find(e.Name)
	policy, signed := s.current()
	denied, isDenied := r.denial(d.Definition)
	if a := r.developed(d, s.opts.Now()); a != nil && !isDenied {
		s.developed.Store(e.Name, d.Parts)
		return Verdict{Allowed: true, By: ByUser, Until: a.Develop, Developing: true, Widening: a.Widening}
	}
	if a := r.approval(d); a != nil { // so any denial is older
		return Verdict{Allowed: true, By: ByUser, Widening: a.Widening}
	}
	if a := s.signedFor(signed, d.Definition); a != nil && (!isDenied || denied.Before(a.Issued)) {
		w := a.Widening
		return Verdict{Allowed: true, By: ByHub, ID: a.ID, Until: a.Expires, Widening: launch.Widening{
			Read: w.Read, Write: w.Write, Ports: w.Ports, Unix: w.Unix, Env: w.Env,
		}}
	}
	switch {
	case isDenied:
		return Verdict{Denied: true, By: ByUser, Changes: r.changes(d)}
	case slices.Contains(policy.Approved, d.Definition):
		return Verdict{Allowed: true, By: ByOperator}
	case policy.Workspace && !kept.Closed: // otherwise the denials are unknown
		return Verdict{Allowed: true, By: ByWorkspace}
	}
	return Verdict{Changes: r.changes(d)}
}

// signedFor returns the most recently issued valid approval of a definition.
func (s *Store) signedFor(list []*approval.Approval, definition string) (found *approval.Approval) {
	now, ids := s.opts.Now(), s.opts.Agents()
	for _, a := range list {
		if a.Definition == definition && a.At(now) == nil && a.For(ids...) && (found == nil || a.Issued.After(found.Issued)) {
			found = a
		}
	}
	return found
}

// Approve lets a server with these digests start, with exactly this widening. Earlier
// approvals of its name stay valid unless they were denied since.
//
// # Errors
//
// The context's, or that the approval can't be stored: then nothing has changed.
func (s *Store) Approve(ctx context.Context, e *entry.Entry, d *Digests, w launch.Widening) error {
	return s.approve(ctx, e, d, &approved{Widening: w})
}

// Develop is like Approve, for a user who works on the server: for DevelopFor, or until
// EndDevelop, the covered files of the workspace may differ.
func (s *Store) Develop(ctx context.Context, e *entry.Entry, d *Digests, w launch.Widening) error {
	return s.approve(ctx, e, d, &approved{Widening: w, Develop: s.opts.Now().Add(DevelopFor).UTC()})
}

// DevelopFor is how long Develop is valid.
const DevelopFor = 8 * time.Hour

// partFile is the prefix of parts that are files of the workspace.
const partFile = "file "

// EndDevelop ends Develop for servers that cover one of these absolute paths, because
// someone else has changed it. It reports whether there was such a server. If that can't be
// stored, it logs the error, and Develop still ends, until the next start.
func (s *Store) EndDevelop(paths ...string) bool {
	if until, _ := s.Developing(""); until.IsZero() {
		return false
	}
	root, changed := s.opts.Root(), map[string]bool{}
	for _, path := range paths {
		changed[path], changed[resolved(path)] = true, true
	}
	ctx, leave, err := s.turn.Take(context.Background())
	if err != nil {
		return false
	}
	defer leave()
	next, ended := s.kept.Load().clone(), false
	for i := range next.Servers {
		r := &next.Servers[i]
		covers := func(p Part) bool {
			rel, is := strings.CutPrefix(p.Name, partFile)
			path := filepath.Join(root, rel)
			return is && (changed[path] || changed[resolved(path)])
		}
		now, _ := s.developed.Load(r.Name)
		parts, _ := now.([]Part)
		if r.developing(s.opts.Now()) && (slices.ContainsFunc(r.Approved.Parts, covers) || slices.ContainsFunc(parts, covers)) {
			r.Approved.Develop, ended = time.Time{}, true
		}
	}
	if !ended {
		return false
	}
	if err := s.keep(ctx, next); err != nil {
		s.opts.Logger.Warn("what was approved for development is over, and comes back with the next start: it can't be kept", slog.Any("error", err))
		s.kept.Store(next)
	}
	return true
}

// resolved returns a path without links, or the path itself if it doesn't exist.
func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// Developing returns the server that is approved by Develop for the longest time, other
// than the excepted one, and until when; zero if there is none.
func (s *Store) Developing(except string) (until time.Time, name string) {
	now := s.opts.Now()
	for _, r := range s.kept.Load().Servers {
		if r.Name != except && r.developing(now) && r.Approved.Develop.After(until) {
			until, name = r.Approved.Develop, r.Name
		}
	}
	return until, name
}

func (r *record) developing(now time.Time) bool {
	return r.Approved != nil && r.Approved.Local != "" && now.Before(r.Approved.Develop)
}

func (s *Store) approve(ctx context.Context, e *entry.Entry, d *Digests, as *approved) error {
	if d == nil || d.Definition == "" || d.Local == "" {
		return errors.New("it isn't known what it is that would be approved")
	}
	return s.change(ctx, func(k *kept) {
		r := k.at(e.Name)
		if r.Approved != nil && r.Approved.Local != "" {
			earlier := *r.Approved
			earlier.Parts, earlier.Develop = nil, time.Time{}
			r.Earlier = append(r.Earlier, earlier)
		}
		r.Earlier = slices.DeleteFunc(r.Earlier, func(a approved) bool { return a.is(d) })
		r.Earlier = r.Earlier[max(0, len(r.Earlier)-maxEarlier):]
		as.Definition, as.Local, as.At, as.Parts = d.Definition, d.Local, s.opts.Now().UTC(), d.Parts
		r.Approved = as
		r.Denied = slices.DeleteFunc(r.Denied, func(n denied) bool { return n.Definition == d.Definition })
	})
}

// Deny prevents a server with this definition from starting, whoever else allows it.
//
// # Errors
//
// Those of Approve.
func (s *Store) Deny(ctx context.Context, e *entry.Entry, d *Digests) error {
	if d == nil || d.Definition == "" {
		return errors.New("it isn't known what it is that would be denied")
	}
	return s.change(ctx, func(k *kept) {
		r := k.at(e.Name)
		r.Denied = slices.DeleteFunc(r.Denied, func(n denied) bool { return n.Definition == d.Definition })
		r.Denied = append(r.Denied, denied{Definition: d.Definition, At: s.opts.Now().UTC()})
		r.Denied = r.Denied[max(0, len(r.Denied)-maxDenied):]
		if r.Approved != nil && (r.Approved.Definition == d.Definition || r.developed(d, s.opts.Now()) != nil) {
			r.Approved.Local = "" // the definition stays, to tell what has changed
		}
		r.Earlier = slices.DeleteFunc(r.Earlier, func(a approved) bool { return a.Definition == d.Definition })
	})
}

// Forget deletes the user's decisions about servers of this name, and their pinned tools.
//
// # Errors
//
// Those of Approve.
func (s *Store) Forget(ctx context.Context, name string) error {
	err := s.change(ctx, func(k *kept) {
		k.Servers = slices.DeleteFunc(k.Servers, func(r record) bool { return r.Name == name })
	})
	if err != nil {
		return err
	}
	return s.forgetTools(ctx, name)
}

// SetSigned replaces the signed approvals by those that a hub delivers; all others become
// invalid. It stores them for the next start, and logs an error if that fails. It reports
// whether the valid approvals have changed.
func (s *Store) SetSigned(list [][]byte) (changed bool) {
	ctx, leave, err := s.turn.Take(context.Background())
	if err != nil {
		return false
	}
	defer leave()
	list = bounded(list)
	if !slices.EqualFunc(list, s.kept.Load().Signed, slices.Equal) {
		next := s.kept.Load().clone()
		next.Signed = list
		if err := s.keep(ctx, next); err != nil {
			s.opts.Logger.Warn("signed approvals of MCP servers are not kept over a restart", slog.Any("error", err))
			s.kept.Store(next)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.signed
	s.signed = verified(list, s.policy.Keys)
	return !slices.EqualFunc(before, s.signed, func(a, b *approval.Approval) bool {
		return a.ID == b.ID && a.Definition == b.Definition && a.Issued.Equal(b.Issued) && a.Expires.Equal(b.Expires)
	})
}

// bounded copies the part of a list that may be stored.
func bounded(list [][]byte) (kept [][]byte) {
	for _, signed := range list {
		if len(signed) <= approval.MaxSigned && len(kept) < maxSigned {
			kept = append(kept, slices.Clone(signed))
		}
	}
	return kept
}

// approval returns the user's approval of these digests; nil if there is none.
func (r *record) approval(d *Digests) *approved {
	if r == nil {
		return nil
	}
	if r.Approved != nil && r.Approved.is(d) {
		return r.Approved
	}
	if i := slices.IndexFunc(r.Earlier, func(a approved) bool { return a.is(d) }); i >= 0 {
		return &r.Earlier[i]
	}
	return nil
}

// developed returns the user's approval if it allows development and everything except
// files of the workspace is the same.
func (r *record) developed(d *Digests, now time.Time) *approved {
	if r == nil || !r.developing(now) {
		return nil
	}
	beside := func(parts []Part) []Part {
		return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return strings.HasPrefix(p.Name, partFile) && !p.Secret })
	}
	if !slices.Equal(beside(r.Approved.Parts), beside(d.Parts)) {
		return nil
	}
	return r.Approved
}

// is reports whether these digests were approved.
func (a *approved) is(d *Digests) bool {
	return a.Definition == d.Definition && hmac.Equal([]byte(a.Local), []byte(d.Local))
}

// denial returns when the user denied a definition.
func (r *record) denial(definition string) (at time.Time, ok bool) {
	if r == nil {
		return at, false
	}
	i := slices.IndexFunc(r.Denied, func(n denied) bool { return n.Definition == definition })
	if i < 0 {
		return at, false
	}
	return r.Denied[i].At, true
}

// changes returns the differences from the user's last approval.
func (r *record) changes(d *Digests) (list []Change) {
	if r == nil || r.Approved == nil {
		return nil
	}
	before := map[string]Part{}
	for _, p := range r.Approved.Parts {
		before[p.Name] = p
	}
	for _, now := range d.Parts {
		was, there := before[now.Name]
		delete(before, now.Name)
		if there && was == now {
			continue
		}
		list = append(list, Change{Part: now.Name, Before: was.shown(), After: now.shown()})
	}
	for _, p := range r.Approved.Parts {
		if _, gone := before[p.Name]; gone {
			list = append(list, Change{Part: p.Name, Before: p.shown()})
		}
	}
	return list
}

func (p *Part) shown() string {
	if p.Secret {
		return ""
	}
	return p.Text
}
