package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"waymark/abi"
	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/snapshot"
)

func (a *app) runCommand() *cobra.Command {
	var s settings
	var asJSON, explain, texts bool
	var role string
	cmd := &cobra.Command{
		Use:   "run FILE.wasm [DIR]",
		Short: "Show what a module finds, what it reads and what it costs",
		Long: `Run runs the resolvers of a module on a directory (by default the current one), or on
one file, once and as the agent would. It shows what they found, read, requested without
success, logged and used.

The exit code is 1 if the module isn't admitted or a resolver fails; run prints the
results of the others all the same.`,
		Example: `  harness run acme.wasm
  harness run acme.wasm ~/project --explain
  harness run acme.wasm ~/project --resolver cursor-rules --config plugin.toml
  harness run acme.wasm ~/project --json | jq '.resolvers[] | {resolver, fuel}'`,
		Args: cli.Named("FILE.wasm", "[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 1 {
				dir = args[1]
			}
			r, err := parseRole(role)
			if err != nil {
				return err
			}
			return a.runOnce(cmd.Context(), &s, args[0], host.RootSpec{Path: dir, Role: r}, asJSON, explain, texts)
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&role, "role", "", "purpose of the directory: `ROLE` is instructions, skills or mcp (default: no special purpose)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&texts, "text", false, "show the text of each resource, as it is pushed")
	cmd.MarkFlagsMutuallyExclusive("json", "text")
	cmd.Flags().BoolVar(&explain, "explain", false, "show each resolver's request, and everything that it looked at")
	return cmd
}

// parseRole checks a root's role.
func parseRole(text string) (abi.Role, error) {
	switch r := abi.Role(text); r {
	case abi.RoleNone, abi.RoleInstructions, abi.RoleSkills, abi.RoleMCP:
		return r, nil
	}
	return "", usage("--role %q: use instructions, skills or mcp", text)
}

func (a *app) runOnce(ctx context.Context, s *settings, file string, root host.RootSpec, asJSON, explain, texts bool) (err error) {
	e, err := a.open(ctx, s, file, func(o *host.Options) { o.Roots = []host.RootSpec{root} })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	report, err := e.Refresh(ctx)
	if err != nil {
		return err
	}
	result := e.result(report)
	if asJSON {
		err = cli.JSON(a.stdout, result)
	} else {
		p := runPrinter{Lines: cli.Lines{W: a.stdout}, explain: explain}
		if err = p.printResult(result); err == nil && texts {
			err = p.printTexts(ctx, e, result)
		}
	}
	if err != nil {
		return err
	}
	return result.failed()
}

// result is the result of a run, as `harness run --json` prints it.
type result struct {
	Module    snapshot.Plugin    `json:"module"`
	Root      string             `json:"root"`
	Hash      snapshot.Hash      `json:"aggregate_hash"`
	Resources snapshot.Resources `json:"resources"`
	Resolvers []resolverResult   `json:"resolvers"`
	// LeftOut lists finds that are missing in Resources, or not whole there.
	LeftOut []leftOut `json:"left_out"`

	base string // the directory to which paths are shown relative
}

// resolverResult is the result of one resolver.
type resolverResult struct {
	Resolver string `json:"resolver"` // "module/resolver"
	Error    string `json:"error"`
	Finds    int    `json:"finds"`

	Fuel       int64         `json:"fuel"`
	Duration   time.Duration `json:"duration_ns"`
	PeakMemory int64         `json:"peak_memory"` // bytes
	Opens      int           `json:"opens"`
	ReadBytes  int64         `json:"read_bytes"`
	Entries    int           `json:"entries"`

	Warnings    []string  `json:"warnings"`
	Denied      []denial  `json:"denied"`
	Logs        []logLine `json:"logs"`
	LogsDropped int       `json:"logs_dropped"`
	guestOutput
	Looked []observed `json:"looked"`
	// Withheld counts what is left out of Looked because it could hold tokens.
	Withheld int     `json:"withheld"`
	Sees     visible `json:"sees"`
}

// visible is what a resolver may see of a root.
type visible struct {
	Reads        []string `json:"reads"`
	Narrow       []string `json:"narrow,omitempty"`
	GrantSecrets []string `json:"grant_secrets,omitempty"`
}

type denial struct {
	Path   string     `json:"path"`
	Target string     `json:"target,omitempty"` // the target of a link, if that is the reason
	Reason vfs.Reason `json:"reason"`
}

type logLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// observed is one dependency of a result.
type observed struct {
	What   vfs.DepKind `json:"what"`
	Path   string      `json:"path"`
	Size   int64       `json:"size,omitempty"`
	Target string      `json:"target,omitempty"`
	Errno  string      `json:"errno,omitempty"`
}

type leftOut struct {
	ID     string          `json:"id"`
	Path   string          `json:"path"`
	Reason snapshot.Reason `json:"reason"`
	Detail string          `json:"detail"`
}

// result gathers the results of a refresh.
func (e *engine) result(report *host.Report) *result {
	r := &result{
		Module: e.module, Hash: report.Snapshot.AggregateHash, Resources: report.Snapshot.Resources,
		Resolvers: make([]resolverResult, 0, len(report.Outcomes)), LeftOut: []leftOut{},
	}
	for _, p := range e.Status().Plugins { // its state may have changed since
		r.Module = p
	}
	for _, root := range e.Status().Roots {
		r.Root = root
	}
	for i := range report.Outcomes {
		r.base = report.Outcomes[i].Root
		r.Resolvers = append(r.Resolvers, resolverOf(&report.Outcomes[i]))
	}
	for _, n := range report.Notes {
		r.LeftOut = append(r.LeftOut, leftOut{ID: n.ID, Path: n.Path, Reason: n.Reason, Detail: n.Detail})
	}
	return r
}

func resolverOf(o *resolve.Outcome) resolverResult {
	r := resolverResult{
		Resolver: o.Resolver, Finds: len(o.Candidates), Fuel: o.Fuel, Duration: o.Duration, PeakMemory: o.Memory,
		Opens: o.Used.Opens, ReadBytes: o.Used.ReadBytes, Entries: o.Used.Entries,
		Warnings: append([]string{}, o.Warnings...), Denied: []denial{}, Logs: []logLine{}, LogsDropped: o.LogsDropped,
		guestOutput: outputOf(o), Looked: []observed{},
		Sees: visible{Reads: append([]string{}, o.View.Reads...), Narrow: o.View.Narrow, GrantSecrets: o.View.GrantSecrets},
	}
	if o.Err != nil {
		r.Error = o.Err.Error()
	}
	for _, d := range o.Denied {
		r.Denied = append(r.Denied, denial(d))
	}
	for _, l := range o.Logs {
		r.Logs = append(r.Logs, logLine(l))
	}
	var deps []vfs.Dep
	deps, r.Withheld = o.Observed()
	for i := range deps {
		r.Looked = append(r.Looked, observedOf(&deps[i]))
	}
	return r
}

func observedOf(d *vfs.Dep) observed {
	o := observed{What: d.Kind, Path: d.Path, Target: d.Target}
	if d.Kind == vfs.DepRead && d.Errno == 0 {
		o.Size = max(d.Size, 0)
	}
	if d.Errno != 0 {
		o.Errno = unix.ErrnoName(d.Errno)
	}
	return o
}

// failed is the error of a run in which a resolver failed. The reasons are already printed.
func (r *result) failed() error {
	for i := range r.Resolvers {
		if r.Resolvers[i].Error != "" {
			return printed(cli.CodeFailed)
		}
	}
	return nil
}

// dependenciesShown is how many dependencies are shown unless all are requested: enough for
// a small test workspace.
const dependenciesShown = 12

// runPrinter prints a result for a person.
type runPrinter struct {
	cli.Lines
	explain bool
}

// print prints the resources, then what each resolver did.
func (p *runPrinter) printResult(r *result) error {
	if err := printResources(p.W, r.Resources, r.base); err != nil {
		return err
	}
	if err := resources.PrintErrors(p.W, r.Resources, r.base); err != nil {
		return err
	}
	for i := range r.Resources {
		if one := &r.Resources[i]; conform.Unread(one) {
			p.Printf("%s: warning: it has no content, so nobody can read it", resources.Source(one, r.base))
		}
	}
	p.Printf("")
	t := cli.NewTable(p.W, "RESOLVER", "FINDS", "FUEL", "TIME", "MEMORY", "OPENS", "READ", "ENTRIES")
	for i := range r.Resolvers {
		o := &r.Resolvers[i]
		t.Row(name(o.Resolver), fmt.Sprint(o.Finds), cli.Number(o.Fuel), cli.Took(o.Duration), cli.Size(o.PeakMemory),
			fmt.Sprint(o.Opens), cli.Size(o.ReadBytes), fmt.Sprint(o.Entries))
	}
	if err := cmp.Or(p.Err, t.Flush()); err != nil {
		return err
	}
	for i := range r.Resolvers {
		p.resolver(&r.Resolvers[i])
	}
	if len(r.LeftOut) > 0 {
		p.Printf("\nleft out, in whole or in part")
	}
	for _, l := range r.LeftOut {
		p.Printf("  %s: %s: %s", cli.Shorten(l.Path, r.base), l.Reason, cli.Visible(l.Detail))
	}
	return p.Err
}

// printTexts prints the texts of resources that have one.
func (p *runPrinter) printTexts(ctx context.Context, e *engine, r *result) error {
	for i := range r.Resources {
		one := &r.Resources[i]
		if one.Status != snapshot.StatusOK || len(one.ContentHash) == 0 {
			continue
		}
		body, err := e.Body(ctx, one.ID())
		if err != nil {
			return err
		}
		p.Printf("\n%s\n  | %s", resources.Source(one, r.base), cli.VisibleLines(strings.TrimRight(string(body), "\n"), "  | "))
	}
	return p.Err
}

// resolver prints what doesn't fit into the table, for one resolver.
func (p *runPrinter) resolver(r *resolverResult) {
	p.Printf("\n%s", name(r.Resolver))
	if r.Error != "" {
		p.Printf("  failed: %s", cli.Visible(r.Error))
	}
	var said []string
	for _, w := range r.Warnings {
		said = append(said, "warning: "+cli.Visible(w))
	}
	for _, l := range r.Logs {
		said = append(said, fmt.Sprintf("%s: %s", l.Level, cli.Visible(l.Text)))
	}
	for _, line := range folded(said) {
		p.Printf("  %s", line)
	}
	if r.LogsDropped > 0 {
		p.Printf("  %s not shown: over the limit, or of a resolver that reads files with tokens", cli.Count(r.LogsDropped, "log line"))
	}
	if said := r.lines("  ", ""); said != "" {
		p.Printf("%s", said)
	}
	if p.explain {
		p.view(&r.Sees)
	}
	for _, d := range r.Denied {
		p.Printf("  denied   %s (%s)", cli.Visible(d.Path), denied(d))
	}
	shown := r.Looked
	if !p.explain && len(shown) > dependenciesShown {
		shown = shown[:dependenciesShown]
	}
	for _, o := range shown {
		p.Printf("  %-8s %s", o.What, o.text())
	}
	if rest := len(r.Looked) - len(shown); rest > 0 {
		p.Printf("  … and %d more: --explain shows all", rest)
	}
	if r.Withheld > 0 {
		p.Printf("  … and %d not shown: it reads files with tokens, so only paths that it declares by name are", r.Withheld)
	}
	if len(r.Looked)+r.Withheld == 0 {
		p.Printf("  looked at nothing")
	}
}

// view prints what a resolver may see.
func (p *runPrinter) view(v *visible) {
	for _, part := range []struct {
		what string
		list []string
	}{{"reads", v.Reads}, {"narrow", v.Narrow}, {"granted", v.GrantSecrets}} {
		if len(part.list) > 0 {
			p.Printf("  %-8s %s", part.what, cli.Visible(strings.Join(part.list, "  ")))
		}
	}
}

func denied(d denial) string {
	if d.Target != "" {
		return fmt.Sprintf("%s, it leads to %s", d.Reason, cli.Visible(d.Target))
	}
	return string(d.Reason)
}

func (o observed) text() string {
	text := cli.Visible(o.Path)
	switch {
	case o.Errno != "":
		text += "  " + o.Errno
	case o.What == vfs.DepRead:
		text += "  " + cli.Size(o.Size)
	case o.Target != "":
		text += " -> " + cli.Visible(o.Target)
	}
	return text
}

// printResources prints resources as a table.
func printResources(w io.Writer, list snapshot.Resources, base string) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nothing found")
		return err
	}
	return resources.PrintTable(w, list, base, resources.Column{Header: "ATTRIBUTES", Cell: resources.Attributes})
}
