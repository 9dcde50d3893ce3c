package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"waymark/cmd/internal/term"
	"waymark/host"
)

// changePrinter prints what happens, one change a line.
type changePrinter struct {
	w      io.Writer
	asJSON bool
	base   string // paths below it are shown as relative
	seen   seen
}

// report prints what is new in a report.
func (p *changePrinter) report(r *host.Report) error {
	for i := range r.Outcomes {
		p.base = r.Outcomes[i].Root
	}
	return p.put(p.seen.next(r)...)
}

// build prints what a build gave.
func (p *changePrinter) build(b *buildEvent) error {
	c := change{Event: eventBuilt, Detail: b.file, Duration: b.took, Bytes: b.size}
	if b.err != nil {
		c = change{Event: eventFailed, Error: b.err.Error(), Duration: b.took}
	}
	return p.put(c)
}

func (p *changePrinter) put(list ...change) error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	now := time.Now()
	for i := range list {
		list[i].Time = now
		var err error
		if p.asJSON {
			err = enc.Encode(&list[i])
		} else {
			_, err = fmt.Fprintf(p.w, "%s  %s\n", now.Format(time.TimeOnly), p.line(&list[i]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is a change for a person, without the time.
func (p *changePrinter) line(c *change) string {
	text := term.Visible(c.Detail)
	switch {
	case c.Event == eventBuilt:
		text = fmt.Sprintf("%s, %s in %s", term.Visible(c.Detail), term.Size(c.Bytes), term.Took(c.Duration))
	case c.Event == eventFailed:
		return c.Event + ": " + lines(strings.TrimSpace(c.Error), "          ")
	case c.Module != nil:
		m := c.Module
		text = strings.TrimSpace(term.Visible(m.Name + " " + m.Version + " " + term.Short(m.Digest)))
		text = strings.TrimSpace(text + " " + string(m.State))
		if m.Error != "" {
			text += ": " + term.Visible(m.Error)
		}
	case c.Event == eventRun:
		text = p.ran(c)
	case c.Event == eventWarning:
		text = name(c.Resolver) + ": " + text
	case c.Event == eventProblem:
		text = cmp.Or(text, "none any more")
	case c.Resource != nil:
		text = p.resource(c)
	}
	return fmt.Sprintf("%-8s %s", c.Event, text)
}

// ran tells of a run, and of what it costs more or less than the one before.
func (p *changePrinter) ran(c *change) string {
	text := name(c.Resolver)
	if c.Because != "" {
		text += ", because " + term.Visible(c.Because) + " changed"
	}
	if c.Error != "" {
		return text + ": failed: " + term.Visible(c.Error)
	}
	fuel := term.Number(c.Fuel) + " fuel"
	if c.Before > 0 && c.Before != c.Fuel {
		fuel += fmt.Sprintf(" (%+.1f %%)", 100*float64(c.Fuel-c.Before)/float64(c.Before))
	}
	return fmt.Sprintf("%s: %s, %s, %s", text, term.Count(c.Finds, "find"), fuel, term.Took(c.Duration))
}

func (p *changePrinter) resource(c *change) string {
	r := c.Resource
	text := fmt.Sprintf("%s  %s", r.Kind, sourceOf(r, p.base))
	if r.Name != "" {
		text += "  " + term.Visible(r.Name)
	}
	if c.Event == eventRemoved {
		return text
	}
	text += "  " + string(r.Status)
	if r.Stale {
		text += " (stale)"
	}
	if r.Error != "" {
		text += ": " + term.Visible(r.Error)
	}
	if a := attributes(r); a != "-" {
		text += "  " + a
	}
	if len(c.Changed) > 0 {
		text += "  (" + strings.Join(c.Changed, ", ") + ")"
	}
	return text
}

// name is a resolver's own, without its module's.
func name(resolver string) string {
	_, own, _ := strings.Cut(resolver, "/")
	return own
}
