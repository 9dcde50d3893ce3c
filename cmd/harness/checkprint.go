package main

import (
	"fmt"
	"io"
	"strings"

	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/internal/term"
)

// checkPrinter shows a report to a person.
type checkPrinter struct {
	w io.Writer
	// all names all workspaces, not just the first ones.
	all bool
}

// detailMax bounds what is shown of a finding: a panic brings its traceback.
// JSON has it all.
const detailMax = 300

func (p checkPrinter) show(r *conform.Report) error {
	if r.Module != "" {
		_, _ = fmt.Fprintf(p.w, "%s %s, sha256 %s, %s\n", r.Module, term.Visible(r.Version), term.Short(r.Digest), strings.Join(r.Resolvers, ", "))
	}
	for i := range r.Findings {
		f := r.Findings[i]
		if i+1 < len(r.Findings) && r.Findings[i+1].Hint == f.Hint {
			f.Hint = "" // it stands below the last that it is for
		}
		p.finding(&f)
	}
	_, err := fmt.Fprintf(p.w, "%d fail, %d warn, %d pass; %s\n", r.Fails, r.Warns, r.Passes, term.Count(r.Runs, "run"))
	if r.Dir != "" && err == nil {
		_, err = fmt.Fprintf(p.w, "the workspaces are in %s\n", term.Visible(r.Dir))
	}
	return err
}

// finding is one line, and what belongs to it below.
func (p checkPrinter) finding(f *conform.Finding) {
	severity := string(f.Severity)
	if f.Severity == conform.Fail {
		severity = strings.ToUpper(severity) // there may be many other lines
	}
	detail := f.Detail
	if f.Resolver != "" {
		detail = f.Resolver + ": " + detail
	}
	if len(detail) > detailMax {
		detail = strings.ToValidUTF8(detail[:detailMax], "") + "…"
	}
	_, _ = fmt.Fprintf(p.w, "  %-4s  %-11s  %s\n", severity, f.Rule, term.Visible(detail))
	const below = "                       "
	if where := p.where(f.Workspaces); where != "" && f.Severity != conform.Pass {
		_, _ = fmt.Fprintf(p.w, "%sseen in %s\n", below, where)
	}
	if f.Hint != "" {
		_, _ = fmt.Fprintf(p.w, "%s→ %s\n", below, term.Visible(f.Hint))
	}
}

func (p checkPrinter) where(workspaces []string) string {
	const some = 3
	if n := len(workspaces) - some; n > 0 && !p.all {
		return fmt.Sprintf("%s and %s", strings.Join(workspaces[:some], ", "), term.Count(n, "other"))
	}
	return strings.Join(workspaces, ", ")
}
