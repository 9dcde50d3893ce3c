package plugin

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"waymark/host/plugin/approvals"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// row is one row of the list of modules: a module in use, or one that isn't with the reason.
// It doesn't change once it is in the list.
type row struct {
	state snapshot.Plugin // while its resolvers don't fail
	// newer is the state of a newer version of the file that isn't used, or not yet;
	// newerState is shown in place of ready.
	newer      string
	newerState snapshot.PluginState

	handle    *handle // of the module; nil if it isn't used
	resolvers []resolve.Resolver
	file      *file    // nil for the built-in module
	version   *version // in use, or considered
	waits     *approvals.Pending
}

// same reports whether two rows have the same module and the same text.
func (p *row) same(other *row) bool {
	waits := func(p *row) string {
		if p.waits == nil {
			return ""
		}
		return p.waits.Digest
	}
	a, b := &p.state, &other.state
	return p.handle == other.handle && waits(p) == waits(other) && p.newer == other.newer && p.newerState == other.newerState &&
		slices.Equal(a.Resolvers, b.Resolvers) &&
		a.Name == b.Name && a.Version == b.Version && a.Path == b.Path && a.Digest == b.Digest && a.State == b.State && a.Error == b.Error
}

// List is what a Catalog holds at one moment: the modules in use, and the files that aren't,
// with the reason. It doesn't change, and may be used from any goroutine.
type List struct {
	rows    []*row
	catalog *Catalog
	users   int // guarded by Catalog.mu; the modules stay loaded while it isn't 0
}

// Release releases a list from Acquire. It may close modules.
func (l *List) Release() {
	if l == nil {
		return
	}
	l.catalog.mu.Lock()
	l.users--
	last := l.users == 0
	l.catalog.mu.Unlock()
	if last {
		l.catalog.release(l.handles())
	}
}

// handles lists the modules in use, in order.
func (l *List) handles() []*handle {
	var list []*handle
	for _, p := range l.rows {
		if p.handle != nil {
			list = append(list, p.handle)
		}
	}
	return list
}

// builtin returns the row of the built-in module; nil if there is none.
func (l *List) builtin() *row {
	if len(l.rows) > 0 && l.rows[0].state.Path == BuiltinPath {
		return l.rows[0]
	}
	return nil
}

func (l *List) has(hd *handle) bool { return slices.Contains(l.handles(), hd) }

// SameModules reports whether two lists have the same modules in the same order, so that both
// would find the same. A nil list has none.
func (l *List) SameModules(other *List) bool {
	if l == nil || other == nil {
		return l == other
	}
	return slices.EqualFunc(l.rows, other.rows, func(a, b *row) bool { return a.handle == b.handle })
}

// Resolvers lists the resolvers of all modules in use, in order.
func (l *List) Resolvers() []resolve.Resolver {
	var list []resolve.Resolver
	for _, p := range l.rows {
		list = append(list, p.resolvers...)
	}
	return list
}

// States returns what a snapshot says of the modules, given the last outcomes of their
// resolvers; nil if they haven't run yet. It doesn't change while nothing else does: retries
// of a resolver, and their times, are no news.
func (l *List) States(outcomes []resolve.Outcome) []snapshot.Plugin {
	return l.statesAfter(outcomes, func(o *resolve.Outcome) (snapshot.PluginState, error) {
		return snapshot.PluginFailing, o.Failure
	})
}

// Loading reports whether a module is loaded for the first time, so that no version of it has
// found anything yet.
func (l *List) Loading() bool {
	return slices.ContainsFunc(l.rows, func(p *row) bool { return p.handle == nil && p.state.State == snapshot.PluginCompiling })
}

// StatesNow returns the current states of the modules, with the error of the last try and
// with quarantines.
func (l *List) StatesNow(outcomes []resolve.Outcome) []snapshot.Plugin {
	return l.statesAfter(outcomes, func(o *resolve.Outcome) (snapshot.PluginState, error) {
		if o.Quarantined {
			return snapshot.PluginQuarantined, o.Err
		}
		return snapshot.PluginFailing, o.Err
	})
}

// failureOf returns the state of a module for a failed resolver, and the error.
type failureOf func(*resolve.Outcome) (snapshot.PluginState, error)

func (l *List) statesAfter(outcomes []resolve.Outcome, failure failureOf) []snapshot.Plugin {
	states := make([]snapshot.Plugin, len(l.rows))
	for i, p := range l.rows {
		states[i] = p.stateAfter(outcomes, failure)
	}
	return states
}

// stateAfter combines the state of one module with its outcomes and that of a newer version.
func (p *row) stateAfter(outcomes []resolve.Outcome, failure failureOf) snapshot.Plugin {
	state := p.state
	if p.handle == nil {
		return state
	}
	for i := range outcomes {
		o := &outcomes[i]
		if module, _, _ := strings.Cut(o.Resolver, "/"); module == p.state.Name && o.Err != nil {
			var err error
			state.State, err = failure(o)
			state.Error = err.Error()
			break
		}
	}
	if p.newerState != "" && state.State == snapshot.PluginReady {
		state.State = p.newerState
	}
	if p.newer != "" && state.Error != "" {
		state.Error += "; "
	}
	state.Error += p.newer
	return state
}

// Acquire returns the current list and keeps its modules loaded until Release. It waits for a
// Load in progress.
func (c *Catalog) Acquire(ctx context.Context) (*List, error) {
	for {
		changed := c.changed.Changed()
		c.mu.Lock()
		if c.loads == 0 {
			c.current.users++
			defer c.mu.Unlock()
			return c.current, nil
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Current returns the current list for reading. Its modules may be closed at any time.
func (c *Catalog) Current() *List {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// Settle waits until every module of the current list is loaded and has spare instances.
func (c *Catalog) Settle(ctx context.Context) {
	for _, hd := range c.Current().handles() {
		if m, err := hd.get(ctx); err == nil {
			m.Settle(ctx)
		}
	}
}

// publish makes a list the current one. The caller holds c.turn.
func (c *Catalog) publish(rows []*row) {
	c.logChanges(rows)
	for _, p := range rows {
		if p.file == nil || p.handle == nil {
			continue
		}
		p.file.used = p.version
		if !p.file.named {
			c.approvals.Use(moduleOf(p.file, p.version, &Entry{}))
		}
	}
	c.store.dropUnused(rows)
	next := &List{rows: rows, catalog: c, users: 1} // held by the Catalog until the next list
	c.mu.Lock()
	for _, hd := range next.handles() {
		c.handles[hd]++
	}
	before := c.current
	c.current = next
	c.mu.Unlock()
	before.Release()
	c.changed.Notify()
}

// publishChanged publishes a list if it differs from the current one.
func (c *Catalog) publishChanged(rows []*row) {
	if !slices.EqualFunc(rows, c.current.rows, (*row).same) {
		c.publish(rows)
	}
}

// logChanges logs what a new list changes.
func (c *Catalog) logChanges(rows []*row) {
	before := map[string]*row{}
	for _, p := range c.current.rows {
		before[p.state.Path] = p
	}
	for _, p := range rows {
		old := before[p.state.Path]
		delete(before, p.state.Path)
		if old != nil && p.same(old) {
			continue
		}
		attrs := []any{slog.String("path", p.state.Path)}
		if p.state.Name != "" {
			attrs = append(attrs, slog.String("name", p.state.Name), slog.String("version", p.state.Version))
		}
		switch {
		case p.handle == nil && p.state.State != snapshot.PluginCompiling:
			c.log.Warn("plugin not used", append(attrs, slog.String("state", string(p.state.State)), slog.String("error", p.state.Error))...)
		case p.newer != "" && p.newerState != snapshot.PluginCompiling:
			c.log.Warn("new version of a plugin not used", append(attrs, slog.String("reason", p.newer))...)
		case p.handle != nil && c.loaded && (old == nil || old.state.Digest != p.state.Digest):
			c.log.Info("plugin taken", append(attrs, slog.String("digest", p.state.Digest))...)
		}
	}
	for _, p := range before {
		c.log.Info("plugin gone", slog.String("path", p.state.Path), slog.String("name", p.state.Name))
	}
}
