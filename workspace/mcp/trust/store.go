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
	"waymark/internal/priolock"
	"waymark/wire/approval"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
)

// Who allows a server, as Verdict.By has it.
const (
	ByUser      = "user"
	ByHub       = "hub"
	ByOperator  = "operator"
	ByWorkspace = "workspace"
)

// Options configure a Store.
type Options struct {
	// Dir is the workspace's state directory, which is the user's alone.
	Dir string
	// Key is the agent's own, of 16 bytes or more, for what must not be guessed from
	// its hash. With another key nothing is approved any more.
	Key []byte
	// Root returns the workspace's directory, absolute and without links; "" while
	// there is none. Nil means that there is never one.
	Root func() string
	// Agents returns the ids by which a signed approval may name this agent. Nil
	// means none.
	Agents func() []string
	// Now is the time; nil is time.Now.
	Now func() time.Time
	// Logger gets what is wrong with what was kept. Nil means none.
	Logger *slog.Logger
}

// Policy is what the operator's configuration says.
type Policy struct {
	// Workspace lets start whatever the workspace configures.
	Workspace bool
	// Approved are definition digests that may start.
	Approved []string
	// Keys are of those who may sign approvals.
	Keys []ed25519.PublicKey
	// HoldNewTools holds back the tools that a server didn't have when it was
	// approved.
	HoldNewTools bool
}

// Store keeps what was approved. Make one with Open.
type Store struct {
	opts     Options
	contents contents
	secrets  *vfs.SecretGuard
	turn     *priolock.Turn // to change what is kept
	kept     atomic.Pointer[kept]
	events   atomic.Pointer[events] // while it listens
	// developed are the parts, by name, of servers that were last judged as developed:
	// files that are covered now, and weren't when that was approved.
	developed sync.Map

	mu     sync.Mutex // guards what follows; no file I/O under it
	policy Policy
	signed []*approval.Approval // those of kept that the policy's keys have signed
}

// Open reads what was approved in a workspace. What can't be believed is told to the
// logger, and then nothing is approved.
//
// # Errors
//
// The Options are wrong.
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
	s := &Store{opts: opts, secrets: secrets, turn: priolock.New(context.Background())}
	s.contents.path = filepath.Join(opts.Dir, "mcp-programs.json")
	s.contents.load()
	s.kept.Store(s.read())
	return s, nil
}

// SetPolicy puts a configuration in force. Approvals that were signed by keys which it
// doesn't name don't count any more.
func (s *Store) SetPolicy(p Policy) {
	p.Approved, p.Keys = slices.Clone(p.Approved), slices.Clone(p.Keys)
	_, leave, err := s.turn.Take(context.Background())
	if err != nil {
		return // never: that context doesn't end
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

// Judge says whether a server may start: by the user's word on these very digests, a
// signed approval, the operator's list, or because the configuration trusts the
// workspace. A no of the user's is for the definition, and outdoes all but what was
// said later: a newer approval of the user's, or one that was signed later.
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
	if a := r.approval(d); a != nil { // then it was denied before that, if ever
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
	case policy.Workspace && !kept.Closed: // else what was denied isn't known
		return Verdict{Allowed: true, By: ByWorkspace}
	}
	return Verdict{Changes: r.changes(d)}
}

// signedFor returns the approval of a definition that was issued last.
func (s *Store) signedFor(list []*approval.Approval, definition string) (found *approval.Approval) {
	now, ids := s.opts.Now(), s.opts.Agents()
	for _, a := range list {
		if a.Definition == definition && a.At(now) == nil && a.For(ids...) && (found == nil || a.Issued.After(found.Issued)) {
			found = a
		}
	}
	return found
}

// Approve lets a server start that has these digests, with this widening alone. What the
// user has approved before of its name, and hasn't denied since, may start still.
//
// # Errors
//
// The context's, and that it can't be kept: then nothing has changed.
func (s *Store) Approve(ctx context.Context, e *entry.Entry, d *Digests, w launch.Widening) error {
	return s.approve(ctx, e, d, &approved{Widening: w})
}

// Develop is Approve for somebody who works on the server: for DevelopFor the files of
// the workspace that it covers may be others, too, until EndDevelop.
func (s *Store) Develop(ctx context.Context, e *entry.Entry, d *Digests, w launch.Widening) error {
	return s.approve(ctx, e, d, &approved{Widening: w, Develop: s.opts.Now().Add(DevelopFor).UTC()})
}

// DevelopFor is how long Develop holds.
const DevelopFor = 8 * time.Hour

// partFile begins the names of parts that are files of the workspace.
const partFile = "file "

// EndDevelop ends what Develop allows of servers that cover one of these files, absolute
// paths: somebody else has changed it. It reports whether there was one. That it can't be
// kept is logged, and it is over all the same, until the next start.
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

// resolved is a path without links, as far as there is something.
func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// Developing says until when, and the name of which server, is approved by Develop beside
// the one that is excepted; zero where none is.
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

// Deny keeps a server with this definition from starting, whoever else allows it.
//
// # Errors
//
// As Approve's.
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
			r.Approved.Local = "" // what it was stays, for telling what has changed
		}
		r.Earlier = slices.DeleteFunc(r.Earlier, func(a approved) bool { return a.Definition == d.Definition })
	})
}

// Forget takes back what the user has said of a server of that name, and what its
// tools were.
//
// # Errors
//
// As Approve's.
func (s *Store) Forget(ctx context.Context, name string) error {
	err := s.change(ctx, func(k *kept) {
		k.Servers = slices.DeleteFunc(k.Servers, func(r record) bool { return r.Name == name })
	})
	if err != nil {
		return err
	}
	return s.forgetTools(ctx, name)
}

// SetSigned replaces the signed approvals by those that a hub delivers: what isn't
// among them counts no more. They are kept over a restart; that this has failed is
// told to the logger. It reports whether other approvals count than before.
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

// bounded copies what may be kept of a list.
func bounded(list [][]byte) (kept [][]byte) {
	for _, signed := range list {
		if len(signed) <= approval.MaxSigned && len(kept) < maxSigned {
			kept = append(kept, slices.Clone(signed))
		}
	}
	return kept
}

// approval returns how the user has approved these digests; nil where he hasn't.
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

// developed returns what the user has approved, if that holds for what has other files of
// the workspace and is the same beside them.
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

// is reports whether that is what was approved.
func (a *approved) is(d *Digests) bool {
	return a.Definition == d.Definition && hmac.Equal([]byte(a.Local), []byte(d.Local))
}

// denial returns when the user has said no to a definition.
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

// changes says what differs from what the user has approved last.
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
