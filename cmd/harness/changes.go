package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// Events of `harness watch` that aren't about resources.
const (
	eventBuilt   resources.Event = "built"
	eventFailed  resources.Event = "build failed"
	eventModule  resources.Event = "module" // a module's state, or a new version
	eventRun     resources.Event = "run"
	eventWarning resources.Event = "warning"
	eventTested  resources.Event = "tested"  // fixtures were tested
	eventProblem resources.Event = "problem" // a general problem, for example that files can't be watched
)

// change is one line of `harness watch --json`.
type change struct {
	Time     time.Time          `json:"time"`
	Event    resources.Event    `json:"event"`
	Detail   string             `json:"detail,omitempty"`
	Module   *snapshot.Plugin   `json:"module,omitempty"`
	Resource *snapshot.Resource `json:"resource,omitempty"`
	// The changed fields of a resource, and its previous status if that changed.
	Changed []string        `json:"changed,omitempty"`
	Was     snapshot.Status `json:"was,omitempty"`
	// For runs:
	Resolver string        `json:"resolver,omitempty"`
	Because  string        `json:"because,omitempty"` // the path that changed
	Error    string        `json:"error,omitempty"`
	Finds    int           `json:"finds,omitempty"`
	Fuel     int64         `json:"fuel,omitempty"`
	Before   int64         `json:"fuel_before,omitempty"` // of the previous run
	Duration time.Duration `json:"duration_ns,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"`
	Output   string        `json:"output,omitempty"` // see guestOutput
	Stack    []string      `json:"stack,omitempty"`
	// For fixtures:
	Tests *testReport `json:"tests,omitempty"`
}

// seen is what was printed last.
type seen struct {
	version   uint64                     // of the snapshot
	modules   map[string]snapshot.Plugin // by path
	resources snapshot.Resources
	outcomes  map[string]string // its failure or its warnings, by resolver
	fuel      map[string]int64  // by resolver
	problem   string
}

// next lists the differences of a report to the last one, and remembers it.
func (s *seen) next(r *host.Report) (list []change) {
	list = append(list, s.nextSnapshot(r.Snapshot)...)
	for i := range r.Checked {
		list = append(list, s.nextOutcome(&r.Checked[i])...)
	}
	return append(list, s.nextResources(r.Snapshot.Resources)...)
}

// nextSnapshot lists differences that can arise without a refresh.
func (s *seen) nextSnapshot(snap *snapshot.Snapshot) (list []change) {
	if snap.Version < s.version { // a newer one was faster
		return nil
	}
	s.version = snap.Version
	list = append(list, s.nextModules(snap.Plugins)...)
	if snap.SnapshotError != s.problem {
		s.problem = snap.SnapshotError
		list = append(list, change{Event: eventProblem, Detail: s.problem})
	}
	return list
}

// nextModules lists new versions, and states other than a resolver's failure, which is part
// of its run.
func (s *seen) nextModules(list []snapshot.Plugin) (changes []change) {
	now := map[string]snapshot.Plugin{}
	for _, p := range list {
		if p.State == snapshot.PluginFailing || p.State == snapshot.PluginQuarantined {
			p.State, p.Error = snapshot.PluginReady, ""
		}
		now[p.Path] = p
		if before, ok := s.modules[p.Path]; !ok || !before.Equal(p) {
			changes = append(changes, change{Event: eventModule, Module: &p})
		}
	}
	s.modules = now
	return changes
}

// nextOutcome lists a run, and its new failure or warnings.
func (s *seen) nextOutcome(o *resolve.Outcome) (list []change) {
	outcome := strings.Join(o.Warnings, "\n")
	if o.Err != nil {
		outcome = o.Err.Error()
	}
	if s.outcomes == nil {
		s.outcomes, s.fuel = map[string]string{}, map[string]int64{}
	}
	news := s.outcomes[o.Resolver] != outcome
	s.outcomes[o.Resolver] = outcome
	if o.Reused || o.Err != nil && !news {
		return nil
	}
	c := change{
		Event: eventRun, Resolver: o.Resolver, Because: o.Changed,
		Finds: len(o.Candidates), Fuel: o.Fuel, Before: s.fuel[o.Resolver], Duration: o.Duration,
	}
	said := outputOf(o)
	c.Output, c.Stack = said.Output, said.Stack
	if o.Err != nil {
		c.Error = o.Err.Error()
		return append(list, c)
	}
	s.fuel[o.Resolver] = o.Fuel
	list = append(list, c)
	for _, w := range o.Warnings {
		if news {
			list = append(list, change{Event: eventWarning, Resolver: o.Resolver, Detail: w})
		}
	}
	return list
}

func (s *seen) nextResources(list snapshot.Resources) (changes []change) {
	for _, c := range resources.Diff(s.resources, list) {
		changes = append(changes, change{Event: c.Event, Changed: c.Fields, Was: c.Was, Resource: c.Resource})
	}
	s.resources = list
	return changes
}

// changePrinter prints changes, one per line.
type changePrinter struct {
	w      io.Writer
	asJSON bool
	base   string // paths below it are shown relative to it
	seen   seen
}

// report prints what is new in a report.
func (p *changePrinter) report(r *host.Report) error {
	for i := range r.Outcomes {
		p.base = r.Outcomes[i].Root
	}
	return p.put(p.seen.next(r)...)
}

// build prints the result of a build.
func (p *changePrinter) build(b *buildEvent) error {
	c := change{Event: eventBuilt, Detail: b.file, Duration: b.took, Bytes: b.size}
	if b.err != nil {
		c = change{Event: eventFailed, Error: b.err.Error(), Duration: b.took}
	}
	return p.put(c)
}

func (p *changePrinter) put(list ...change) error {
	now := time.Now()
	for i := range list {
		list[i].Time = now
		if err := cli.Event(p.w, p.asJSON, now, &list[i], p.line(&list[i])); err != nil {
			return err
		}
	}
	return nil
}

// line formats a change for a person, without the time.
func (p *changePrinter) line(c *change) string {
	text := cli.Visible(c.Detail)
	switch {
	case c.Event == eventBuilt:
		text = fmt.Sprintf("%s, %s in %s", cli.Visible(c.Detail), cli.Size(c.Bytes), cli.Took(c.Duration))
	case c.Event == eventFailed:
		return string(c.Event) + ": " + cli.VisibleLines(strings.TrimSpace(c.Error), indent)
	case c.Module != nil:
		m := c.Module
		text = strings.TrimSpace(cli.Visible(m.Name + " " + m.Version + " " + cli.Short(m.Digest)))
		text = strings.TrimSpace(text + " " + string(m.State))
		if m.Error != "" {
			text += ": " + cli.Visible(m.Error)
		}
	case c.Event == eventRun:
		text = below(p.ran(c), (&guestOutput{c.Output, c.Stack}).lines(indent, ""))
	case c.Event == eventTested && c.Tests == nil:
		text = "the fixtures can't be run: " + cli.Visible(c.Error)
	case c.Tests != nil:
		text = below(c.Tests.summary(), failures(c.Tests))
	case c.Event == eventWarning:
		text = name(c.Resolver) + ": " + text
	case c.Event == eventProblem:
		text = cmp.Or(text, "none any more")
	case c.Resource != nil:
		r := resources.Change{Event: c.Event, Resource: c.Resource, Fields: c.Changed, Was: c.Was}
		text = r.Text(p.base)
		if a := resources.Attributes(c.Resource); a != "-" && c.Event != resources.Removed {
			text += "  " + a
		}
	}
	return fmt.Sprintf("%-8s %s", c.Event, text)
}

// indent is as wide as the time, for the lines that belong to an event.
const indent = "          "

// below adds lines to an event.
func below(text, lines string) string {
	if lines == "" {
		return text
	}
	return text + "\n" + lines
}

// failures formats the failed fixtures, as `harness test` shows them.
func failures(r *testReport) string {
	var b strings.Builder
	p := testPrinter{w: &b}
	for i := range r.Fixtures {
		if f := &r.Fixtures[i]; f.Result == resultFail {
			_ = p.fixture(f) // it writes to memory
		}
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "" {
		return ""
	}
	return indent + strings.ReplaceAll(text, "\n", "\n"+indent)
}

// ran describes a run, and how its cost differs from the run before.
func (p *changePrinter) ran(c *change) string {
	text := name(c.Resolver)
	if c.Because != "" {
		text += ", because " + cli.Visible(c.Because) + " changed"
	}
	if c.Error != "" {
		return text + ": failed: " + cli.Visible(c.Error)
	}
	fuel := cli.Number(c.Fuel) + " fuel"
	if c.Before > 0 && c.Before != c.Fuel {
		fuel += fmt.Sprintf(" (%+.1f %%)", 100*float64(c.Fuel-c.Before)/float64(c.Before))
	}
	return fmt.Sprintf("%s: %s, %s, %s", text, cli.Count(c.Finds, "find"), fuel, cli.Took(c.Duration))
}

// name is a resolver's name without its module's.
func name(resolver string) string {
	_, own, _ := strings.Cut(resolver, "/")
	return own
}
