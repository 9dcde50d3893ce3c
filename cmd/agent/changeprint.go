package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"waymark/cmd/internal/term"
)

// changePrinter prints changes, one a line.
type changePrinter struct {
	w      io.Writer
	asJSON bool
	base   string // paths below it are shown as relative
}

func (p *changePrinter) put(list ...change) error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	for i := range list {
		var err error
		if p.asJSON {
			err = enc.Encode(&list[i])
		} else {
			_, err = fmt.Fprintf(p.w, "%s  %s\n", list[i].Time.Format(time.TimeOnly), p.line(&list[i]))
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
	case c.Resource != nil:
		text = p.resource(c)
	case c.Plugin != nil && c.Detail != "":
		text = pluginName(*c.Plugin) + " " + text
	case c.Plugin != nil:
		text = pluginName(*c.Plugin) + " " + string(c.Plugin.State)
		if c.Plugin.Error != "" {
			text += ": " + term.Visible(c.Plugin.Error)
		}
	case c.Event == eventProblem && text == "":
		text = "none any more"
	case c.Event == eventBack:
		text = fmt.Sprintf("the agent is there again, with version %d", c.Version)
	}
	return fmt.Sprintf("%-8s %s", c.Event, text)
}

func (p *changePrinter) resource(c *change) string {
	r := c.Resource
	text := fmt.Sprintf("%-16s %-20s %s  %s", r.Kind, term.Dash(term.Visible(r.Name)), term.Shorten(r.Source, p.base)+keySuffix(r.Key), statusText(r))
	if c.Was != "" {
		text += ", was " + string(c.Was)
	}
	if c.Event != eventRemoved && r.Error != "" {
		text += ": " + term.Visible(r.Error)
	}
	if len(c.Changed) > 0 {
		text += " (" + strings.Join(c.Changed, ", ") + ")"
	}
	return text
}
