package resolve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// key is everything that decides a resolver's answer besides the files it read.
type key struct {
	digest, resolver string
	abi              int
	config, view     [sha256.Size]byte
	root             string // its signature
	role             abi.Role
	sourcePath       string
	rank             int
	dropIn           bool
	maxBytes         int64 // of the request's limits, and of what is kept
	maxResources     int
	home             string
	children         string
}

func (e *Engine) keyOf(r *Resolver, root Root) key {
	sums := e.setups.of(r)
	return key{
		digest: r.Module.Digest, resolver: r.Info.Name, abi: abi.Version, config: sums.config, view: sums.view,
		root: root.FS.Signature(), role: root.Role, sourcePath: root.SourcePath,
		rank: r.Rank, dropIn: r.DropIn,
		maxBytes: e.opts.MaxResourceBytes, maxResources: e.opts.MaxResources, home: e.opts.Home, children: r.childrenKey(),
	}
}

// lineage is a resolver in a root, whatever its version and configuration.
type lineage struct {
	id, root, sourcePath, children string
	role                           abi.Role
}

func (k *key) lineage(r *Resolver) lineage {
	return lineage{r.ID(), k.root, k.sourcePath, k.children, k.role}
}

// setups caches the hashes of how resolvers are configured, because each look needs them
// several times, and with the table of conventions there are some 10 KiB of patterns. The
// zero value is empty.
type setups struct {
	mu    sync.Mutex          // guards known; a setup doesn't change
	known map[string][]*setup // by Resolver.ID, the latest last
}

// maxSetups is how many setups are cached per resolver. Some roots have their own, such as
// the user's home directory, and repositories in directories of a root.
const maxSetups = 8

// setup is one configuration of a resolver.
type setup struct {
	given                          []byte
	narrow, secrets, reads, places []string
	manifests                      bool
	config, view                   [sha256.Size]byte
}

func (s *setups) of(r *Resolver) *setup {
	id := r.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.known[id]
	for _, known := range list {
		if known.is(r) {
			return known
		}
	}
	now := &setup{
		given: slices.Clone(r.Config), narrow: slices.Clone(r.Narrow), secrets: slices.Clone(r.GrantSecrets),
		reads: slices.Clone(r.Info.Reads), places: slices.Clone(r.Places), manifests: r.Manifests,
		config: sha256.Sum256(r.Config),
		view: sha256.Sum256([]byte(strings.Join(r.Narrow, "\x00") + "\x01" + strings.Join(r.GrantSecrets, "\x00") + "\x01" +
			strings.Join(r.Info.Reads, "\x00") + "\x01" + strings.Join(r.Places, "\x00") + fmt.Sprint("\x01", r.Manifests))),
	}
	if s.known == nil {
		s.known = make(map[string][]*setup)
	}
	s.known[id] = append(slices.Clone(list[max(0, len(list)-maxSetups+1):]), now)
	return now
}

// is reports whether a resolver has this setup.
func (s *setup) is(r *Resolver) bool {
	return s.manifests == r.Manifests && bytes.Equal(s.given, r.Config) && slices.Equal(s.reads, r.Info.Reads) &&
		slices.Equal(s.places, r.Places) && slices.Equal(s.narrow, r.Narrow) && slices.Equal(s.secrets, r.GrantSecrets)
}

// id names the key in the Store.
func (k *key) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", *k))
	return hex.EncodeToString(sum[:])
}

// entry is what the engine knows of one key.
type entry struct {
	// turn is held while working on the key. So there is one computation per key at a time,
	// and those who waited for it find its result as a fresh memo.
	turn    *semaphore.Weighted
	memo    *memo
	breaker breaker
	took    time.Duration // of the last run
	// finished belongs to the holder of turn.
	finished finished
}

// memo is a remembered result with its trace. It is immutable.
type memo struct {
	filter *vfs.Filter
	// units is the trace in parts, with the resolver's remembered values. The memo itself
	// uses this; Trace is for others.
	units *vfs.Units
	shape *Shape
	keptMemo
}

// keptMemo is the part of a memo that outlives the process.
type keptMemo struct {
	Trace      []vfs.Dep
	Rows       []abi.Resource // the resolver's own answer, for when it fails later
	Candidates []snapshot.Candidate
	Warnings   []string
	Denied     []vfs.Denial
	Logs       []sandbox.LogLine
	Units      vfs.PackedUnits
	// Uncounted is that of an Outcome.
	Uncounted int
	// Plain says that every row became a candidate without a warning.
	Plain bool
	// Bundle says that there is a manifest at the top, which widens the view.
	Bundle bool
}

// fill puts the memo's result into an outcome.
func (m *memo) fill(o *Outcome, at *entry, r *Resolver, root Root) {
	o.Candidates = at.finish(m, r, root)
	o.Warnings, o.Denied, o.Logs, o.Trace, o.Shape, o.Uncounted = m.Warnings, m.Denied, m.Logs, m.Trace, m.shape, m.Uncounted
}

// finished holds a memo's candidates with the host's additions, and everything that these
// depend on.
type finished struct {
	of, candidates []snapshot.Candidate
	conventions    *Table
	scope          snapshot.Scope
	position       int
}

// finish returns the candidates of a memo as an outcome has them. It returns the previous
// slice while that would be equal, so that callers can tell at once that nothing has changed.
// The caller holds at.turn.
func (at *entry) finish(m *memo, r *Resolver, root Root) []snapshot.Candidate {
	before := &at.finished
	if len(m.Candidates) == 0 || before.conventions != r.Conventions || before.scope != scopeOf(root) || before.position != root.Position ||
		len(before.of) != len(m.Candidates) || &before.of[0] != &m.Candidates[0] {
		at.finished = finished{m.Candidates, slices.Clone(m.Candidates), r.Conventions, scopeOf(root), root.Position}
		r.complete(at.finished.candidates, root)
	}
	return at.finished.candidates
}

// pack returns the form that outlives the process.
func (m *memo) pack() *keptMemo {
	k := m.keptMemo
	k.Units = m.units.Pack()
	return &k
}

// unpack returns the memo of an earlier process. The contents of files that its units have
// read are those of its candidates.
func (k *keptMemo) unpack() *memo {
	payloads := make(map[string][]byte, len(k.Candidates))
	for i := range k.Candidates {
		if c := &k.Candidates[i]; c.Payload != nil {
			payloads[string(c.ContentHash)] = c.Payload
		}
	}
	units, err := k.Units.Unpack(func(hash []byte) []byte { return payloads[string(hash)] })
	if err != nil {
		return nil // written by another version, so useless
	}
	m := &memo{units: units, shape: new(Shape), keptMemo: *k}
	m.Units = vfs.PackedUnits{}
	return m
}

// entryOf returns the entry of a key, creating it if needed.
func (e *Engine) entryOf(k key) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.entries[k]
	if at == nil {
		at = &entry{turn: semaphore.NewWeighted(1)}
		e.entries[k] = at
	}
	return at
}

func (e *Engine) recall(k key, at *entry) *memo {
	if e.opts.NoMemo {
		return nil
	}
	e.mu.Lock()
	m := at.memo
	e.mu.Unlock()
	if m == nil {
		m = e.recallKept(k)
	}
	return m
}

// remember replaces the memo of a key. computed says that its result is new and worth saving;
// otherwise only the identities of files have changed.
func (e *Engine) remember(k key, at *entry, r *Resolver, m *memo, computed bool) {
	if e.opts.NoMemo {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at.memo, e.good[k.lineage(r)] = m, m
	if kept := e.kept[k.root]; kept != nil && computed {
		kept.dirty = true
	}
}

// Retain forgets everything that doesn't belong to one of these resolvers and roots. Call it
// when either set has changed.
func (e *Engine) Retain(resolvers []Resolver, roots []Root) {
	keep, keepRoots, kept := map[key]bool{}, map[string]bool{}, map[lineage]bool{}
	for _, root := range roots {
		keepRoots[root.FS.Signature()] = true
		for i := range resolvers {
			r := root.resolver(resolvers, i)
			k := e.keyOf(r, root)
			keep[k], kept[k.lineage(r)] = true, true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.entries, func(k key, _ *entry) bool { return !keep[k] })
	maps.DeleteFunc(e.good, func(l lineage, _ *memo) bool { return !kept[l] })
	shared := map[key]bool{}
	for k := range keep {
		shared[k.shared("")] = true
	}
	maps.DeleteFunc(e.empty, func(k key, _ []*memo) bool { k.root = ""; return !shared[k] })
	maps.DeleteFunc(e.kept, func(signature string, _ *keptRoot) bool { return !keepRoots[signature] })
}
