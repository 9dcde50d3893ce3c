package host

import (
	"context"

	"waymark/host/codingagents"
	"waymark/host/push"
	"waymark/host/watch"
	"waymark/host/why"
	"waymark/snapshot"
)

// Status is the state of a Host, as the local API shows it.
type Status struct {
	Roots   []string
	Refused []RefusedRoot
	// Children are the projects of the roots that have some.
	Children []Children
	Version  uint64
	Push     *push.Status // nil when nothing is pushed
	Watch    watch.State
	// Plugins are the states of the modules. Unlike those in a snapshot, they include the
	// last try of those that fail, and the time of the next.
	Plugins []snapshot.Plugin
	// Held says that the first snapshot is held back; see Ready.
	Held bool
}

// Status returns the current state.
func (h *Host) Status() Status {
	looked, current := h.looked.Load(), h.Current()
	s := Status{
		Roots: looked.paths, Refused: looked.refused, Children: looked.children, Version: current.Version, Plugins: h.pluginsNow(),
		Watch: watch.State{Mode: "off"}, Held: !h.hold.isOpen(),
	}
	if watcher, _ := h.watcher.get(); watcher != nil {
		s.Watch, _ = watcher.State()
	}
	if pusher, _ := h.peer.get(); pusher != nil {
		p := pusher.Status()
		s.Push = &p
	}
	return s
}

// pluginsNow returns the states of the modules, as far as they are known without h.turn.
func (h *Host) pluginsNow() []snapshot.Plugin {
	list, report := h.catalog.Current(), h.report.Load()
	switch {
	case report == nil:
		return list.StatesNow(nil)
	case !list.SameModules(report.plugins):
		list = report.plugins // the next refresh applies the new list
	}
	return list.StatesNow(report.Outcomes)
}

// Why reports whether a file is in the context, and if not, why. The path is absolute. Why
// answers from what the last refresh saw; if there was none, it refreshes first.
func (h *Host) Why(ctx context.Context, path string) (why.Answer, error) {
	if err := h.haveReport(ctx); err != nil {
		return why.Answer{}, err
	}
	answer, err := h.explain(ctx, path)
	if err == nil {
		err = h.imported(ctx, &answer)
	}
	return answer, err
}

func (h *Host) explain(ctx context.Context, path string) (why.Answer, error) {
	_, leave, err := h.turn.Take(ctx) // keeps roots open meanwhile
	if err != nil {
		return why.Answer{}, err
	}
	defer leave()
	report := h.report.Load() // of the refresh that left the outcomes in the slots
	in := why.Input{Snapshot: report.Snapshot, Notes: report.Notes, Missing: h.missing(), Home: h.opts.Home, Once: h.opts.Once}
	used := h.used()
	for _, r := range h.rootsNow(used).refused {
		in.Refused = append(in.Refused, why.Refused(r))
	}
	for i, u := range used {
		in.Roots = append(in.Roots, why.Root{FS: u.root.FS, Role: u.root.Role, SourcePath: u.root.SourcePath, Scope: u.root.Scope})
		for _, o := range u.slot.outcomes {
			filter := o.Filter
			if filter == nil { // only switched-off resolvers; a view of built-in patterns has no error
				filter, _ = o.View.Compile()
			}
			in.Runs = append(in.Runs, why.Run{
				Resolver: o.Resolver, Root: i, View: o.View, Filter: filter, Trace: o.Trace,
				Denied: o.Denied, Candidates: o.Candidates, Err: o.Err,
			})
		}
	}
	return why.Explain(in, path), nil
}

// imported names a client that reads a file only because another file imports it. No row of
// the table finds such a file, or the model would get it twice.
func (h *Host) imported(ctx context.Context, a *why.Answer) error {
	for i := range codingagents.Clients {
		c := &codingagents.Clients[i]
		if a.Convention == "" || c.Imports == nil {
			continue
		}
		verdicts, err := h.WhyClient(ctx, c, a.Path)
		if err != nil {
			return err
		}
		if v := &verdicts[0]; v.Included || v.When != "" {
			a.Detail, a.Convention = c.Name+" has it: "+v.Detail, ""
		}
	}
	return nil
}
