package host

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/internal/text"
	"waymark/snapshot"
)

// Refresh rechecks everything, runs what is stale and publishes the result if it differs. It
// is a barrier: the report contains every change that was made before the call. Callers that
// arrive during a refresh share the next one.
//
// # Errors
//
// ErrHeld, at once, because nobody knows for how long the first snapshot is held back;
// ErrClosed; the context's.
func (h *Host) Refresh(ctx context.Context) (*Report, error) {
	if !h.hold.isOpen() {
		return nil, ErrHeld
	}
	want := everything("resync")
	want.whole = true
	return h.flights.join(ctx, want)
}

// fly runs one flight's refresh, once the first snapshot isn't held back any more and the
// flight has h.turn. It repeats a refresh that a reload or other roots interrupt.
func (h *Host) fly(f *flight) (report *Report, err error) {
	select {
	case <-h.hold.opened:
	case <-f.ctx.Done():
		return nil, context.Cause(f.ctx)
	}
	defer h.postponed.yield()()
	err = h.turn.Do(f.ctx, func(ctx context.Context) (err error) {
		report, err = h.refresh(ctx, h.flights.depart(f))
		return err
	})
	return report, err
}

// refresh does the work of Refresh for the roots in scope and for those of which nothing is
// known, which is all of them after a change of modules. It keeps the other roots' outcomes.
// The caller holds h.turn.
func (h *Host) refresh(ctx context.Context, s scope) (*Report, error) {
	start := time.Now()
	ticket := h.published.Begin()
	changed, err := h.usePlugins(ctx)
	if err != nil {
		return nil, err
	}
	if changed {
		s = s.merge(everything(ReasonPlugins))
	}
	s = s.merge(h.unknown())
	h.openRoots(s)
	h.findChildren(s)
	h.findNested(s)
	s = h.findInstalled(s)
	used, resolvers := h.used(), h.resolvers()
	if err := h.adapt(s, used, resolvers); err != nil {
		return nil, err
	}
	if s.all {
		h.engine.Retain(resolvers, roots(used))
	}
	checked, err := h.resolve(ctx, s, used, resolvers)
	if err != nil { // the context has ended; its cause says more
		return nil, context.Cause(ctx)
	}
	report := &Report{Reason: s.reason, Checked: checked, plugins: h.plugins}
	for i, u := range used {
		u.slot.outcomes = resolve.At(i, u.slot.outcomes)
		report.Outcomes = append(report.Outcomes, u.slot.outcomes...)
	}
	h.logOutcomes(checked)
	h.looked.Store(h.rootsNow(used))
	content, notes := h.content(report, h.plugins)
	report.Notes = notes
	report.Snapshot, report.Changed = h.published.Publish(ticket, content)
	report.Duration = time.Since(start)
	h.log.Debug("refreshed", slog.String("reason", s.reason), slog.Int("checked", len(checked)), slog.Bool("changed", report.Changed),
		slog.Uint64("version", report.Snapshot.Version), slog.Duration("took", report.Duration))
	h.after(s, report)
	return report, nil
}

// content returns the content of a snapshot: the resolvers' finds from the report, and the
// current state of everything else. The caller holds h.turn.
func (h *Host) content(report *Report, list *plugin.List) (snapshot.Content, []snapshot.Note) {
	groups := make([][]snapshot.Candidate, 0, len(report.Outcomes)+1)
	for i := range report.Outcomes {
		groups = append(groups, report.Outcomes[i].Candidates)
	}
	provided, discovery := h.provided(list)
	resources, notes := h.assembler.Assemble(append(groups, provided), h.config.caps)
	told := []string{h.watchProblem(), rootProblem(h.looked.Load().refused), unlistedProblem(notes, report.Outcomes, len(resources))}
	for _, slot := range h.slots {
		if slot.open != nil {
			told = append(told, slot.children.lost(slot.open.Path()), slot.nested.lost(slot.open.Path()))
		}
	}
	return snapshot.Content{
		Resources: resources, Plugins: list.States(report.Outcomes), Discovery: discovery,
		SnapshotError: problems(told...),
	}, notes
}

// unlistedProblem describes the finds that a snapshot of so many rows doesn't list: how many,
// and of which resolver in which root.
func unlistedProblem(notes []snapshot.Note, outcomes []resolve.Outcome, rows int) string {
	type place struct {
		resolver string
		root     int
	}
	unlisted := make(map[place]int)
	for i := range notes {
		if n := &notes[i]; n.Unlisted {
			resolver, _, _ := strings.Cut(n.Resolver, "@")
			unlisted[place{resolver, n.Root}]++
		}
	}
	total, parts := 0, []string(nil)
	tell := func(n int, of string) {
		if total += n; n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", n, of))
		}
	}
	roots := make(map[string]int) // per resolver, as far as reported
	for i := range outcomes {
		o := &outcomes[i]
		at := place{o.Resolver, roots[o.Resolver]}
		roots[o.Resolver]++
		tell(unlisted[at]+o.Uncounted, o.Resolver+" in "+o.Root)
		delete(unlisted, at)
	}
	rest := 0
	for _, n := range unlisted {
		rest += n
	}
	tell(rest, "what isn't found in files")
	if total == 0 {
		return ""
	}
	const most = 4 // named at most
	if len(parts) > most {
		parts = append(parts[:most], "and others")
	}
	return fmt.Sprintf("%s not listed: a snapshot has at most %d (%s)", text.Count(total, "resource is", "resources are"), rows, strings.Join(parts, ", "))
}

// resolve looks at the roots in scope and stores the outcomes in their slots.
func (h *Host) resolve(ctx context.Context, s scope, used []usedRoot, resolvers []resolve.Resolver) ([]resolve.Outcome, error) {
	todo := slices.DeleteFunc(slices.Clone(used), func(u usedRoot) bool {
		return !s.covers(u.slot)
	})
	looked := roots(todo)
	for i, u := range todo {
		if u.slot.traced() >= wholeBelow {
			looked[i].Near = s.nearIn(u.slot)
		}
	}
	checked, err := h.engine.ResolveWithin(ctx, h.patience(s), resolvers, looked)
	if err != nil {
		return nil, err
	}
	for i, u := range todo {
		h.unchecked.note(u.slot.owner, looked[i].Near == nil)
	}
	n := len(resolvers)
	for i, u := range todo {
		h.postponed.note(u.slot.owner, slices.ContainsFunc(checked[i*n:(i+1)*n], func(o resolve.Outcome) bool { return o.Postponed }))
		u.slot.outcomes, u.slot.known = checked[i*n:(i+1)*n:(i+1)*n], true
	}
	return checked, nil
}

func roots(used []usedRoot) []resolve.Root {
	list := make([]resolve.Root, len(used))
	for i, u := range used {
		list[i] = u.root
	}
	return list
}

// after does what follows a refresh: watches, memos, observers.
func (h *Host) after(s scope, report *Report) {
	h.report.Store(report)
	if watcher, _ := h.watcher.get(); watcher != nil {
		for _, slot := range h.slots {
			if s.covers(slot) {
				slot.watch(watcher)
			}
		}
	}
	if slices.ContainsFunc(report.Checked, func(o resolve.Outcome) bool { return (!o.Reused || o.Rewritten) && o.Err == nil }) {
		h.unsaved.Set()
	}
	h.opts.Observe(report)
}

// resolvers lists the resolvers that run, of all modules.
func (h *Host) resolvers() []resolve.Resolver {
	only := h.config.only
	return slices.DeleteFunc(h.plugins.Resolvers(), func(r resolve.Resolver) bool {
		return len(only) > 0 && !slices.Contains(only, r.Info.Name)
	})
}

// logOutcomes logs failures and warnings, each only when it changes, because a failing
// resolver fails again at every recheck. At debug level it also logs what ran, and why.
func (h *Host) logOutcomes(outcomes []resolve.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Rewritten:
			h.log.Debug("read again what the resolver doesn't look at", slog.String("resolver", o.Resolver), slog.String("root", o.Root),
				slog.String("changed", o.Changed))
		case !o.Reused && !o.Postponed:
			h.log.Debug("resolver run", slog.String("resolver", o.Resolver), slog.String("root", o.Root),
				slog.String("changed", o.Changed), slog.Duration("took", o.Duration), slog.Int64("fuel", o.Fuel))
		}
		text := strings.Join(o.Warnings, "\n")
		if o.Err != nil {
			text = o.Err.Error()
		}
		key := o.Resolver + "\x00" + o.Root
		if h.logged[key] == text {
			continue
		}
		h.logged[key] = text
		attrs := []any{slog.String("resolver", o.Resolver), slog.String("root", o.Root)}
		if o.Err != nil {
			h.log.Error("resolver failed", append(attrs, slog.Any("error", o.Err))...)
			continue
		}
		for _, w := range o.Warnings {
			h.log.Warn(w, attrs...)
		}
	}
}

// haveReport refreshes if no refresh has run yet.
func (h *Host) haveReport(ctx context.Context) error {
	if h.report.Load() != nil {
		return nil
	}
	_, err := h.Refresh(ctx)
	return err
}

// watchProblem returns the snapshot's text about watching; empty while it works.
func (h *Host) watchProblem() string {
	watcher, _ := h.watcher.get()
	if watcher == nil {
		return ""
	}
	state, _ := watcher.State()
	return state.Error
}

// ReasonPlugins is the reason of refreshes after modules were added, replaced or removed.
const ReasonPlugins = "plugins"

// usePlugins applies the catalog's list, and reports whether its modules differ from the
// previous ones; then nothing is known of any root. The caller holds h.turn, so no resolver
// of the previous list is running.
func (h *Host) usePlugins(ctx context.Context) (changed bool, err error) {
	list, err := h.catalog.Acquire(ctx)
	if err != nil {
		return false, err
	}
	before := h.plugins
	h.plugins = list
	if changed = !list.SameModules(before); changed {
		h.forgetOutcomes()
	}
	before.Release()
	return changed, nil
}

// forgetOutcomes makes the next refresh look at all roots, because outcomes are stored in the
// order of the resolvers. The caller holds h.turn.
func (h *Host) forgetOutcomes() {
	for _, slot := range h.slots {
		slot.outcomes, slot.known, slot.adapted = nil, false, nil
	}
}

// provided returns the providers' resources and the state of all discovery. Discovery is also
// pending while a module loads for the first time, because its finds are still missing.
func (h *Host) provided(list *plugin.List) (candidates []snapshot.Candidate, all snapshot.Discovery) {
	all.Phase = snapshot.PhaseComplete
	if list.Loading() {
		all.Phase = snapshot.PhasePending
	}
	for i, p := range h.opts.Providers {
		// Changed reports what changes in between.
		for _, c := range p.Resources() {
			c.Rank, c.Root, c.DropIn, c.Provided = providedRank, i, false, true
			candidates = append(candidates, c)
		}
		d := p.Discovery()
		if d.Pending() {
			all.Phase = snapshot.PhasePending
		}
		all.Sources = append(all.Sources, d.Sources...)
	}
	slices.SortStableFunc(all.Sources, func(a, b snapshot.SourceOutcome) int { return cmp.Compare(a.ID, b.ID) })
	return candidates, all
}

func (h *Host) patience(s scope) resolve.Patience {
	switch {
	case s.whole || h.opts.WaitForAll:
		return resolve.Patience{}
	case s.slow:
		return resolve.Patience{For: patienceLater, Slow: true}
	case h.report.Load() == nil:
		return resolve.Patience{For: patienceAtStart}
	}
	return resolve.Patience{For: patience}
}

// How long a refresh waits for dropped-in modules, unless it waits for all: at the start,
// after a change, and when there is nothing else to do.
const (
	patienceAtStart = 2 * time.Second
	patience        = 100 * time.Millisecond
	patienceLater   = 2 * time.Second
)

// providedRank sorts the providers' resources after those of resolvers.
const providedRank = math.MaxInt
