package resolve

import (
	"slices"

	"waymark/abi"
)

// maxShared is how many empty answers of a resolver are tried in another root: most roots
// without something look alike.
const maxShared = 4

// ignoresName reports whether a resolver gets no name of a root.
func (r *Resolver) ignoresName(root Root) bool {
	return root.Role == abi.RoleNone && slices.Contains(r.Info.Ignores, abi.IgnoreRootName)
}

// shared returns the key without what is the root's own, except for the rules by which it
// shows files.
func (k key) shared(rules string) key {
	k.root, k.sourcePath = rules, ""
	return k
}

// share offers the answer of a run that found nothing, and said nothing, to other roots.
func (e *Engine) share(k key, r *Resolver, root Root, m *memo) {
	silent := len(m.Rows)+len(m.Warnings)+len(m.Denied)+len(m.Logs)+m.Uncounted == 0 && !m.Bundle
	if e.opts.NoMemo || !silent || !r.ignoresName(root) {
		return
	}
	k = k.shared(root.FS.Rules())
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.empty[k]
	e.empty[k] = append(slices.Clone(list[max(0, len(list)-maxShared+1):]), m)
}

// borrow answers for a root without a memo by an empty answer in another, if the resolver would
// see here what it saw there: its request is the same, and the trace holds. That takes
// a fraction of a run.
func (e *Engine) borrow(k key, at *entry, r *Resolver, root Root, o *Outcome) bool {
	if !r.ignoresName(root) {
		return false
	}
	e.mu.Lock()
	list := e.empty[k.shared(root.FS.Rules())]
	e.mu.Unlock()
	for _, other := range slices.Backward(list) {
		if other.filter != o.Filter {
			continue
		}
		if f := root.FS.CheckUnits(o.Filter, other.units); f.Fresh && len(f.Rewritten) == 0 {
			m := *other
			m.units, m.shape, m.Trace = f.Units, new(Shape), f.Units.Trace()
			e.succeeded(at)
			e.remember(k, at, r, &m, true)
			m.fill(o, at, r, root)
			o.Reused = true
			return true
		}
	}
	return false
}
