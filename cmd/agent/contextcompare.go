package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/agent"
	"waymark/agent/connect"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/internal/text"
	"waymark/internal/udiff"
)

// compareFlags are those of a comparison.
type compareFlags struct {
	clients []string
	root    string
	json    bool
	check   bool
	format  string
	diffs   bool
}

// errDiffer says that coding agents see different things.
var errDiffer = errors.New("coding agents see different things")

// comparison looks at a project for several coding agents: those that are named, those of
// [context] clients, or those that are installed here.
func (a *app) comparison(ctx context.Context, f *compareFlags) (*codingagents.Comparison, *connect.Project, []connect.Accepted, error) {
	var s agent.Settings
	log, err := a.logger()
	if err != nil {
		return nil, nil, nil, err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, nil, nil, err
	}
	loaded, err := s.Load(paths)
	if err != nil {
		return nil, nil, nil, err
	}
	clients, err := comparedClients(f.clients, loaded.Context.Clients)
	if err != nil {
		return nil, nil, nil, err
	}
	defer a.RecordRuns(ctx, paths, log)()
	c, err := host.CompareClients(ctx, a.HostOptions(&s, loaded, paths, log), clients, f.root)
	if err != nil {
		return nil, nil, nil, err
	}
	project := connect.ProjectIn(c.Project, paths.State.In("mends").Path())
	gone, err := project.Accept(c)
	return c, project, gone, err
}

// comparedClients are the coding agents of a comparison.
func comparedClients(named, configured []string) (list []*codingagents.Client, err error) {
	if len(named) == 0 {
		named = configured
	}
	for _, name := range named {
		c, err := clientNamed(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	if list = installed(); len(list) > 0 {
		return list, nil
	}
	for i := range codingagents.Clients { // none is installed: all that are known for certain
		if c := &codingagents.Clients[i]; c.Judged {
			list = append(list, c)
		}
	}
	return list, nil
}

func (a *app) compare(ctx context.Context, f *compareFlags) error {
	c, _, gone, err := a.comparison(ctx, f)
	if err != nil {
		return err
	}
	switch {
	case f.json || f.format == "json":
		err = cli.JSON(a.stdout, c)
	case f.format == "junit":
		err = junit(a.stdout, c)
	case f.format == "sarif":
		err = sarif(a.stdout, c)
	default:
		err = a.printComparison(c, gone, f)
	}
	if err == nil && f.check && slices.ContainsFunc(c.Differences, func(d codingagents.Difference) bool { return d.Accepted == "" }) {
		return &cli.Error{Code: cli.CodeNo, Err: errDiffer}
	}
	return err
}

func (a *app) printComparison(c *codingagents.Comparison, gone []connect.Accepted, f *compareFlags) error {
	if !f.check {
		if err := a.printRows(c); err != nil {
			return err
		}
	}
	n := 0
	for i := range c.Differences {
		d := &c.Differences[i]
		if d.Accepted != "" {
			continue
		}
		n++
		_, _ = fmt.Fprintf(a.stdout, "\ndifference %s: %s\n", d.ID, cli.Visible(d.Text))
		for j := range d.Mends {
			m := &d.Mends[j]
			judged := ""
			if !m.Judged {
				judged = ", by documentation"
			}
			_, _ = fmt.Fprintf(a.stdout, "  mend %d (for %s%s): %s\n", m.N, strings.Join(m.Clients, ", "), judged, cli.Visible(m.Command))
		}
		if d.Drifted && f.diffs && d.Kind != abi.KindMCPServer {
			a.printDrift(c, d)
		}
	}
	if accepted := len(c.Differences) - n; accepted > 0 {
		_, _ = fmt.Fprintf(a.stdout, "\n%s accepted in %s\n", text.Count(accepted, "difference is", "differences are"), connect.AcceptedFile)
	}
	for _, g := range gone {
		a.side("%s accepts %s (%s), which is no longer there", connect.AcceptedFile, g.ID, cli.Visible(g.What))
	}
	if n == 0 {
		_, _ = fmt.Fprintln(a.stdout, "\nall of them see the same instructions, skills, servers, subagents and commands of the project")
	}
	return nil
}

// printRows prints a column for each coding agent.
func (a *app) printRows(c *codingagents.Comparison) error {
	header := []string{"KIND", "FILE", "NAME"}
	for i := range c.Clients {
		header = append(header, strings.ToUpper(c.Clients[i].Client))
	}
	table := cli.NewTable(a.stdout, header...)
	for i := range c.Rows {
		row := &c.Rows[i]
		cells := []string{string(row.Kind), cli.Visible(shortOf(c.Root, row.Path)), cli.Visible(dash(row.Name))}
		for j := range c.Clients {
			s, looked := row.Seen[c.Clients[j].Client]
			switch {
			case !looked:
				cells = append(cells, "-")
			case !s.Included:
				cells = append(cells, "no")
			case s.Reason != "":
				cells = append(cells, "part")
			default:
				cells = append(cells, "yes")
			}
		}
		table.Row(cells...)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range c.Clients {
		one := &c.Clients[i]
		_, _ = fmt.Fprintf(a.stdout, "%s starts with about %s (judged: %s)\n", one.Name, text.Count(int(one.Tokens), "token", "tokens"), one.Judged)
	}
	for i := range c.Rows {
		if row := &c.Rows[i]; len(row.Names) > 0 && !row.User {
			_, _ = fmt.Fprintf(a.stdout, "one file: %s is also %s\n", cli.Visible(shortOf(c.Root, row.Path)), cli.Visible(strings.Join(shortened(c.Root, row.Names), ", ")))
		}
	}
	return nil
}

func shortened(root string, paths []string) []string {
	list := make([]string, len(paths))
	for i, path := range paths {
		list[i] = shortOf(root, path)
	}
	return list
}

// printDrift prints how the contents of one name differ.
func (a *app) printDrift(c *codingagents.Comparison, d *codingagents.Difference) {
	content := func(path string) string {
		for i := range c.Rows {
			if c.Rows[i].Path == path && c.Rows[i].Kind == d.Kind {
				return c.Rows[i].Content()
			}
		}
		return ""
	}
	for _, path := range d.Paths[1:] {
		diff := udiff.Diff(shortOf(c.Root, d.Paths[0]), shortOf(c.Root, path), content(d.Paths[0]), content(path))
		_, _ = fmt.Fprint(a.stdout, text.Printable(diff))
	}
}

// mendCommand makes a change that a comparison proposes.
func (a *app) mendCommand() *cobra.Command {
	f := compareFlags{}
	var show, undo bool
	cmd := &cobra.Command{
		Use:   "mend N",
		Short: "Make a change that lets more coding agents see a file",
		Long: `Mend makes the change that 'agent context' has printed under this number, with the same
--client and --root. It creates a file or a link, or inserts a line at the beginning of a
file. Then it looks again, and takes the change back if it hasn't helped.

A file with uncommitted changes is refused, and so is a path that leads out of the
project over a link. --undo takes back the last change, byte for byte.`,
		Example: `  agent context mend 1 --print
  agent context mend 1
  agent context mend --undo`,
		Args: func(_ *cobra.Command, args []string) error {
			if undo != (len(args) == 0) || len(args) > 1 {
				return cli.Usage("say the number of a mend, or --undo")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo {
				return a.undoMend(&f)
			}
			return a.mend(cmd.Context(), &f, args[0], show)
		},
	}
	addCompared(cmd, &f)
	cmd.Flags().BoolVar(&show, "print", false, "show the change, and change nothing")
	cmd.Flags().BoolVar(&undo, "undo", false, "take back the last change of this project")
	cmd.MarkFlagsMutuallyExclusive("print", "undo")
	return cmd
}

func (a *app) undoMend(f *compareFlags) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	dir, err := host.ProjectOf(f.root)
	if err != nil {
		return err
	}
	path, err := connect.ProjectIn(dir, paths.State.In("mends").Path()).Undo()
	switch {
	case err != nil:
		return err
	case path == "":
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("there is no change of this project to take back")}
	}
	_, err = fmt.Fprintf(a.stdout, "%s is as before\n", cli.Visible(path))
	return err
}

func (a *app) mend(ctx context.Context, f *compareFlags, arg string, show bool) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return cli.Usage("%q is not the number of a mend", arg)
	}
	c, project, _, err := a.comparison(ctx, f)
	if err != nil {
		return err
	}
	var m *codingagents.Mend
	var d *codingagents.Difference
	for i := range c.Differences {
		for j := range c.Differences[i].Mends {
			if one := &c.Differences[i].Mends[j]; one.N == n {
				m, d = one, &c.Differences[i]
			}
		}
	}
	if m == nil {
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("there is no mend %d: 'agent context' lists them", n)}
	}
	rel := shortOf(c.Project, m.Path)
	before, after, err := project.Plan(ctx, m)
	if err != nil {
		return err
	}
	if show {
		if m.Action == codingagents.MendLink {
			_, err = fmt.Fprintf(a.stdout, "%s -> %s\n", cli.Visible(rel), cli.Visible(m.Target))
			return err
		}
		from := rel
		if before == nil {
			from = "/dev/null"
		}
		_, err = fmt.Fprint(a.stdout, udiff.Diff(from, rel, string(before), string(after)))
		return err
	}
	if err := project.Make(ctx, m); err != nil {
		return err
	}
	again, _, _, err := a.comparison(ctx, f)
	helped := err == nil
	for _, client := range m.Clients {
		helped = helped && !slices.ContainsFunc(again.Differences, func(now codingagents.Difference) bool {
			return now.Kind == d.Kind && now.Name == d.Name && slices.Contains(now.Lacks, client)
		})
	}
	if !helped {
		_, undone := project.Undo()
		return errors.Join(fmt.Errorf("%s doesn't help: it was taken back", cli.Visible(rel)), err, undone)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s now sees it; 'agent context mend --undo' takes it back\n", cli.Visible(rel), strings.Join(m.Clients, ", "))
	return err
}

// acceptCommand accepts a difference.
func (a *app) acceptCommand() *cobra.Command {
	f := compareFlags{}
	reason := ""
	cmd := &cobra.Command{
		Use:   "accept DIFFERENCE",
		Short: "Accept that coding agents see different things",
		Long: `Accept writes a difference that 'agent context' has printed, with the reason, into
` + connect.AcceptedFile + ` in the project's top directory. 'agent context --check' then
passes it, until the contents or the coding agents that it is about change. Differences in
the file that no longer exist are taken out.`,
		Example: "  agent context accept 3f2a9c01d4e5 --reason 'Cursor alone has these rules'",
		Args:    cli.Named("DIFFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return cli.Usage("say why with --reason")
			}
			c, project, _, err := a.comparison(cmd.Context(), &f)
			if err != nil {
				return err
			}
			for i := range c.Differences {
				if d := &c.Differences[i]; d.ID == args[0] {
					if err := project.AddAccepted(c, d, reason); err != nil {
						return err
					}
					_, err = fmt.Fprintf(a.stdout, "%s: accepted in %s\n", cli.Visible(d.Text), connect.AcceptedFile)
					return err
				}
			}
			return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("there is no difference %s: 'agent context' lists them", cli.Visible(args[0]))}
		},
	}
	addCompared(cmd, &f)
	cmd.Flags().StringVar(&reason, "reason", "", "`why` it is accepted")
	return cmd
}

// addCompared adds the flags that say what is compared.
func addCompared(cmd *cobra.Command, f *compareFlags) {
	cmd.Flags().StringSliceVar(&f.clients, "client", nil, "the `names` of the coding agents: "+strings.Join(codingagents.IDs(), ", ")+" (default: those of [context] clients, or those in PATH)")
	_ = cmd.RegisterFlagCompletionFunc("client", clientNames)
	cmd.Flags().StringVar(&f.root, "root", ".", "`directory` in which they are started")
}

// junit writes a test for each row that somebody sees, and one that fails for each difference.
func junit(w io.Writer, c *codingagents.Comparison) error {
	type message struct {
		Message string `xml:"message,attr,omitempty"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	s := suite{Name: "agent context --check"}
	for i := range c.Differences {
		d := &c.Differences[i]
		one := testcase{Class: string(d.Kind), Name: d.Name}
		if d.Accepted != "" {
			one.Skipped = &message{"accepted: " + d.Accepted}
			s.Skipped++
		} else {
			one.Failure = &message{d.Text}
			s.Failures++
		}
		s.Cases = append(s.Cases, one)
	}
	if len(s.Cases) == 0 {
		s.Cases = []testcase{{Class: "context", Name: "no differences"}}
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// sarif writes the differences as SARIF 2.1.0, with those that are accepted suppressed.
func sarif(w io.Writer, c *codingagents.Comparison) error {
	type object = map[string]any
	rules, results := []object{}, []object{}
	for _, kind := range []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand} {
		rules = append(rules, object{"id": string(kind), "shortDescription": object{"text": "Coding agents see different things of this kind."}})
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		var places []object
		for _, path := range d.Paths {
			rel := shortOf(c.Project, path)
			places = append(places, object{"physicalLocation": object{"artifactLocation": object{"uri": filepath.ToSlash(rel), "uriBaseId": "%SRCROOT%"}}})
		}
		result := object{
			"ruleId": string(d.Kind), "level": "warning", "message": object{"text": d.Text}, "locations": places,
			"partialFingerprints": object{"difference/v1": d.ID},
		}
		if d.Accepted != "" {
			result["suppressions"] = []object{{"kind": "external", "justification": d.Accepted}}
		}
		results = append(results, result)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "agent context", "version": cli.CurrentVersion().Version, "rules": rules}},
			"results": results,
		}},
	})
}
