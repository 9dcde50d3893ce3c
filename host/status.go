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
	// Children are those of roots that have some.
	Children []Children
	Version  uint64
	Push     *push.Status // nil when nothing is pushed
	Watch    watch.State
	// Plugins is how the modules are doing: other than in a snapshot, with the
	// last try of those that fail, and when there will be another.
	Plugins []snapshot.Plugin
	// Held says that the first snapshot is held back; see Ready.
	Held bool
}

// Status returns the state as it is now.
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

// pluginsNow is how the modules are doing now, as far as that is told without the
// turn.
func (h *Host) pluginsNow() []snapshot.Plugin {
	list, report := h.catalog.Current(), h.report.Load()
	switch {
	case report == nil:
		return list.StatesNow(nil)
	case !list.SameModules(report.plugins):
		list = report.plugins // the refresh that follows uses the others
	}
	return list.StatesNow(report.Outcomes)
}

// Why tells whether a file is in the context, and if not, why. The path is
// absolute. It answers from what the last refresh has seen, and refreshes
// first if there was none.
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
	_, leave, err := h.turn.Take(ctx) // no root is closed meanwhile
	if err != nil {
		return why.Answer{}, err
	}
	defer leave()
	report := h.report.Load() // of the refresh that has left the outcomes in the slots
	in := why.Input{Snapshot: report.Snapshot, Notes: report.Notes, Missing: h.missing(), Home: h.opts.Home, Once: h.opts.Once}
	used := h.used()
	for _, r := range h.rootsNow(used).refused {
		in.Refused = append(in.Refused, why.Refused(r))
	}
	for i, u := range used {
		in.Roots = append(in.Roots, why.Root{FS: u.root.FS, Role: u.root.Role, SourcePath: u.root.SourcePath, Scope: u.root.Scope})
		for _, o := range u.slot.outcomes {
			filter := o.Filter
			if filter == nil { // of what is off; a view of built-in patterns has no error
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

// imported says of a file that nobody looks for which client has it all the same, since what
// it looks for imports that: a table that has it found would give it to the model twice.
func (h *Host) imported(ctx context.Context, a *why.Answer) error {
	for i := range codingagents.Clients {
		c := &codingagents.Clients[i]
		if a.Convention == "" || c.Imports == 0 {
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
