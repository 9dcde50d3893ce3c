package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/cmd/internal/term"
	"waymark/host/sandbox"
	"waymark/snapshot"
)

// inspectPrinter shows an inspection to a person.
type inspectPrinter struct {
	w   io.Writer
	err error // of the first write that failed
}

func (p *inspectPrinter) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *inspectPrinter) print(i *inspection) error {
	p.linef("file     %s", term.Visible(i.File))
	p.linef("digest   %s", i.Digest)
	size := term.Size(int64(i.Size))
	if s := i.Shape; s != nil {
		size += fmt.Sprintf(", %s of it code in %s, the largest %s",
			term.Size(int64(s.CodeBytes)), term.Count(s.Functions, "function"), term.Size(int64(s.LargestFunction)))
	}
	p.linef("size     %s", size)
	if d := i.Description; d != nil {
		p.linef("module   %s %s, ABI version %d", d.Name, d.Version, d.ABI)
	}
	p.verdict(i)
	if i.Description != nil {
		p.resolvers(i.Description.Resolvers)
	}
	if i.Shape != nil {
		p.symbols(i.Shape)
	}
	p.limits(&i.Limits)
	return p.err
}

func (p *inspectPrinter) verdict(i *inspection) {
	if i.Verdict == snapshot.PluginReady {
		p.linef("verdict  admitted")
		return
	}
	p.linef("verdict  %s: %s", i.Verdict, i.Reason)
	if i.Hint != "" {
		p.linef("         %s", i.Hint)
	}
}

func (p *inspectPrinter) resolvers(list []abi.Resolver) {
	p.linef("")
	t := term.NewTable(p.w, "RESOLVER", "KINDS", "SUMMARY")
	for _, r := range list {
		var kinds []string
		for _, k := range r.Kinds {
			kinds = append(kinds, string(k))
		}
		t.Row(r.Name, strings.Join(kinds, " "), term.Dash(term.Visible(r.Summary)))
	}
	p.err = cmp.Or(p.err, t.Flush())
	for _, r := range list {
		p.linef("\n%s", r.Name)
		for _, pattern := range r.Reads {
			p.linef("  reads  %s", term.Visible(pattern))
		}
		for _, key := range r.ReadsFromConfig {
			p.linef("  reads  what config.%s.%s names", r.Name, term.Visible(key))
		}
	}
}

// symbols lists imports by module, then exports.
func (p *inspectPrinter) symbols(s *sandbox.Shape) {
	byModule := map[string][]string{}
	var modules []string
	for _, i := range s.Imports {
		if byModule[i.Module] == nil {
			modules = append(modules, i.Module)
		}
		byModule[i.Module] = append(byModule[i.Module], term.Visible(i.Name))
	}
	p.linef("")
	for _, m := range modules {
		p.words("imports  "+term.Visible(m)+":", byModule[m])
	}
	var exports []string
	for _, e := range s.Exports {
		exports = append(exports, term.Visible(e.Name))
	}
	p.words("exports ", exports)
	if s.Start {
		p.linef("start    it has a start function")
	}
}

// lineMax is where a list of words goes on in the next line.
const lineMax = 100

// words prints a list, each word once, in lines that fit a terminal.
func (p *inspectPrinter) words(line string, list []string) {
	slices.Sort(list)
	for _, word := range slices.Compact(list) {
		if len(line)+1+len(word) > lineMax {
			p.linef("%s", line)
			line = "        "
		}
		line += " " + word
	}
	p.linef("%s", line)
}

func (p *inspectPrinter) limits(l *limits) {
	p.linef("limits   time %s, memory %s, response %s, logs %s, fuel %s",
		l.Time, term.Size(l.Memory), term.Size(l.Response), term.Size(l.Logs), term.Number(l.Fuel))
	p.linef("         %s opened, %s read, %s listed, resources %s of %s each",
		term.Count(l.Opens, "file"), term.Size(l.ReadBytes), term.Number(int64(l.Entries))+" entries",
		term.Number(int64(l.MaxResources)), term.Size(l.MaxResourceBytes))
}
