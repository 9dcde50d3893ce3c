package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"waymark/cmd/internal/term"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// lookedShown is how much of what a resolver looked at is shown when nobody
// asks for all of it: enough for a workspace that was made to try it.
const lookedShown = 12

// runPrinter shows a result to a person.
type runPrinter struct {
	w       io.Writer
	explain bool
	err     error // of the first write that failed
}

func (p *runPrinter) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// print prints the resources, then what each resolver did.
func (p *runPrinter) print(r *result) error {
	if err := printResources(p.w, r.Resources, r.base); err != nil {
		return err
	}
	for i := range r.Resources {
		if res := &r.Resources[i]; res.Error != "" {
			p.linef("%s: %s: %s", term.Shorten(res.Source, r.base), res.Status, term.Visible(res.Error))
		}
	}
	p.linef("")
	t := term.NewTable(p.w, "RESOLVER", "FINDS", "FUEL", "TIME", "MEMORY", "OPENS", "READ", "ENTRIES")
	for i := range r.Resolvers {
		o := &r.Resolvers[i]
		t.Row(name(o.Resolver), fmt.Sprint(o.Finds), term.Number(o.Fuel), term.Took(o.Duration), term.Size(o.PeakMemory),
			fmt.Sprint(o.Opens), term.Size(o.ReadBytes), fmt.Sprint(o.Entries))
	}
	if err := cmp.Or(p.err, t.Flush()); err != nil {
		return err
	}
	for i := range r.Resolvers {
		p.resolver(&r.Resolvers[i])
	}
	if len(r.LeftOut) > 0 {
		p.linef("\nleft out, in whole or in part")
	}
	for _, l := range r.LeftOut {
		p.linef("  %s: %s: %s", term.Shorten(l.Path, r.base), l.Reason, term.Visible(l.Detail))
	}
	return p.err
}

// resolver tells of one resolver what doesn't fit into the table.
func (p *runPrinter) resolver(r *resolverResult) {
	p.linef("\n%s", name(r.Resolver))
	if r.Error != "" {
		p.linef("  failed: %s", term.Visible(r.Error))
	}
	for _, w := range r.Warnings {
		p.linef("  warning: %s", term.Visible(w))
	}
	for _, l := range r.Logs {
		p.linef("  %s: %s", l.Level, term.Visible(l.Text))
	}
	if r.LogsDropped > 0 {
		p.linef("  %s not shown: over the limit, or of a resolver that reads files with tokens", term.Count(r.LogsDropped, "log line"))
	}
	if p.explain {
		p.sees(&r.Sees)
	}
	for _, d := range r.Denied {
		p.linef("  denied   %s (%s)", term.Visible(d.Path), denied(d))
	}
	shown := r.Looked
	if !p.explain && len(shown) > lookedShown {
		shown = shown[:lookedShown]
	}
	for _, o := range shown {
		p.linef("  %-8s %s", o.What, look(o))
	}
	if rest := len(r.Looked) - len(shown); rest > 0 {
		p.linef("  … and %d more: --explain shows all", rest)
	}
	if r.Withheld > 0 {
		p.linef("  … and %d not shown: it reads files with tokens, so only paths that it declares by name are", r.Withheld)
	}
	if len(r.Looked)+r.Withheld == 0 {
		p.linef("  looked at nothing")
	}
}

// sees tells what a resolver may see.
func (p *runPrinter) sees(v *visible) {
	for _, part := range []struct {
		what string
		list []string
	}{{"reads", v.Reads}, {"narrow", v.Narrow}, {"granted", v.GrantSecrets}} {
		if len(part.list) > 0 {
			p.linef("  %-8s %s", part.what, term.Visible(strings.Join(part.list, "  ")))
		}
	}
}

func denied(d denial) string {
	if d.Target != "" {
		return fmt.Sprintf("%s, it leads to %s", d.Reason, term.Visible(d.Target))
	}
	return string(d.Reason)
}

func look(o observed) string {
	text := term.Visible(o.Path)
	switch {
	case o.Errno != "":
		text += "  " + o.Errno
	case o.What == vfs.DepRead:
		text += "  " + term.Size(o.Size)
	case o.Target != "":
		text += " -> " + term.Visible(o.Target)
	}
	return text
}

// printResources prints resources as a table.
func printResources(w io.Writer, list snapshot.Resources, base string) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nothing found")
		return err
	}
	t := term.NewTable(w, "KIND", "SOURCE", "NAME", "STATUS", "SIZE", "ATTRIBUTES")
	for i := range list {
		r := &list[i]
		t.Row(string(r.Kind), sourceOf(r, base), term.Dash(term.Visible(r.Name)), string(r.Status), term.Size(r.SizeBytes), attributes(r))
	}
	return t.Flush()
}

// sourceOf is what a resource is about, with its key.
func sourceOf(r *snapshot.Resource, base string) string {
	text := term.Shorten(r.Source, base)
	if r.Key != "" {
		text += "#" + term.Visible(r.Key)
	}
	return text
}
