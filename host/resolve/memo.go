package resolve

import (
	"crypto/sha256"
	"strings"

	"waymark/abi"
	"waymark/host/snapshot"
	"waymark/host/vfs"
)

// key is all that decides a resolver's answer besides the files it read.
type key struct {
	digest, resolver string
	abi              int
	config           [sha256.Size]byte
	view             string
	root             *vfs.Root // one that was opened anew may show other things
	role             abi.Role
	sourcePath       string
	rank             int
	dropIn           bool
}

func keyOf(r *Resolver, root Root) key {
	return key{
		digest: r.Module.Digest(), resolver: r.Info.Name, abi: abi.Version,
		config: sha256.Sum256(r.Config),
		view:   strings.Join(r.Narrow, "\x00") + "\x01" + strings.Join(r.GrantSecrets, "\x00"),
		root:   root.FS, role: root.Role, sourcePath: root.SourcePath,
		rank: r.Rank, dropIn: r.DropIn,
	}
}

// memo is a remembered result with its trace. It is immutable.
type memo struct {
	filter     *vfs.Filter
	trace      []vfs.Dep
	rows       []abi.Resource // the resolver's own answer, for when it fails later
	candidates []snapshot.Candidate
	warnings   []string
	denied     []vfs.Denial
}

// fill puts the memo's result into an outcome. Candidates are copied, since
// the engine writes the root's number into them.
func (m *memo) fill(o *Outcome) {
	o.Candidates = append([]snapshot.Candidate(nil), m.candidates...)
	o.Warnings, o.Denied = m.warnings, m.denied
}

// renewed is the memo with the trace to keep from now on.
func (m *memo) renewed(trace []vfs.Dep) *memo {
	next := *m
	next.trace = trace
	return &next
}

func (e *Engine) recall(k key) *memo {
	if e.opts.NoMemo {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.memos[k]
}

func (e *Engine) remember(k key, m *memo) {
	if e.opts.NoMemo {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memos[k] = m
}

// Retain forgets every memo that doesn't belong to one of these resolvers and
// roots. Call it when either set has changed.
func (e *Engine) Retain(resolvers []Resolver, roots []Root) {
	keep := map[key]bool{}
	for i := range resolvers {
		for _, root := range roots {
			keep[keyOf(&resolvers[i], root)] = true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.memos {
		if !keep[k] {
			delete(e.memos, k)
		}
	}
	for k := range e.breakers {
		if !keep[k] {
			delete(e.breakers, k)
		}
	}
}
