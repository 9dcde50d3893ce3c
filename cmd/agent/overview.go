package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/agent"
	"waymark/agent/connect"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host/codingagents"
	"waymark/internal/text"
	"waymark/snapshot"
)

// maxBroken limits the problems that an overview shows.
const maxBroken = 5

// kindName is the name of a kind for people, for one thing.
type kindName struct {
	kind abi.Kind
	name string
}

var kindNames = []kindName{
	{abi.KindInstructionFile, "instruction file"}, {abi.KindSkill, "skill"}, {abi.KindSubagent, "subagent"}, {abi.KindCommand, "command"},
	{abi.KindHook, "hook"}, {abi.KindMCPConfig, "MCP configuration"}, {abi.KindPlugin, "bundle"},
}

// printOverview prints what a person who has just started an agent wants to know of a
// workspace: what there is and for whom, what is broken, what waits for them, and which
// commands say more.
func printOverview(w io.Writer, s *snapshot.Snapshot, base string) error {
	var out bytes.Buffer
	line := func(topic, format string, args ...any) {
		fmt.Fprintf(&out, "%-9s "+format+"\n", append([]any{topic}, args...)...)
	}
	counts := map[abi.Kind]int{}
	var broken []string
	for i := range s.Resources {
		r := &s.Resources[i]
		counts[r.Kind]++
		if r.Status != snapshot.StatusOK && r.Kind != abi.KindMCPServer { // see the discovery's outcomes
			broken = append(broken, resources.Source(r, base)+": "+cli.Visible(cmp.Or(r.Error, string(r.Status))))
		}
		for _, f := range r.Findings {
			if f.Severity == abi.SeverityError {
				broken = append(broken, resources.Source(r, base)+": "+cli.Visible(f.Message))
			}
		}
	}
	var found []string
	for _, k := range kindNames {
		if n := counts[k.kind]; n > 0 {
			found = append(found, cli.Count(n, k.name))
			delete(counts, k.kind)
		}
	}
	delete(counts, abi.KindMCPServer) // which its configuration stands for
	rest := 0
	for _, n := range counts {
		rest += n
	}
	if rest > 0 {
		found = append(found, fmt.Sprintf("%d of other kinds", rest))
	}
	switch {
	case len(found) > 0:
		line("found", "%s in %s: agent snapshot", strings.Join(found, ", "), cli.ScreenOf(w).Home(cli.Visible(cmp.Or(base, "the workspace"))))
	case s.SnapshotError == "":
		line("found", "nothing that coding agents read; 'agent why FILE' says why a file isn't listed")
	}
	if s.SnapshotError != "" {
		line("broken", "%s", cli.Visible(s.SnapshotError))
	}
	for _, text := range broken[:min(len(broken), maxBroken)] {
		line("broken", "%s", text)
	}
	if more := len(broken) - maxBroken; more > 0 {
		line("broken", "%d more: agent snapshot", more)
	}
	for i := range s.Discovery.Sources {
		o := &s.Discovery.Sources[i]
		name := cli.Visible(o.Name)
		switch o.Outcome {
		case snapshot.OutcomeNeedsApproval:
			line("waits", "MCP server %s: agent mcp approve %s", name, text.ShellWord(name))
		case snapshot.OutcomeNeedsAuthorization:
			line("waits", "MCP server %s: agent mcp login %s", name, text.ShellWord(name))
		case snapshot.OutcomeFailed:
			line("broken", "MCP server %s: %s: agent mcp show %s", name, cli.Visible(o.Error), text.ShellWord(name))
		}
	}
	agents := installed()
	for _, c := range agents {
		n := 0
		for i := range s.Resources {
			if r := &s.Resources[i]; r.Status == snapshot.StatusOK && slices.Contains(r.Readers, c.Reader) {
				n++
			}
		}
		line("installed", "%s reads %d of them: agent context %s%s", c.Name, n, c.ID, offerOf(c))
	}
	_, err := out.WriteTo(w)
	return err
}

// printDiffers prints how many things not all coding agents on this machine see.
func printDiffers(ctx context.Context, w io.Writer, d *agent.Agent) error {
	agents := installed()
	if len(agents) < 2 || d.Base() == "" {
		return nil
	}
	c, err := d.CompareClients(ctx, agents, "")
	if err != nil {
		return nil //nolint:nilerr // 'agent context' says why
	}
	if _, err := connect.ProjectIn(c.Project, "").Accept(c); err != nil {
		return nil //nolint:nilerr // as above
	}
	counts := map[abi.Kind]int{}
	for i := range c.Differences {
		if d := &c.Differences[i]; d.Accepted == "" {
			counts[d.Kind]++
		}
	}
	var names, differ []string
	for _, c := range agents {
		names = append(names, c.ID)
	}
	for _, k := range append(kindNames, kindName{abi.KindMCPServer, "server"}) {
		if n := counts[k.kind]; n > 0 {
			differ = append(differ, cli.Count(n, k.name))
		}
	}
	last := len(names) - 1
	who := strings.Join(names[:last], ", ") + " and " + names[last]
	if len(differ) == 0 {
		_, err = fmt.Fprintf(w, "same      for %s: agent context\n", who)
		return err
	}
	verb := " differ"
	if len(differ) == 1 && strings.HasPrefix(differ[0], "1 ") {
		verb = " differs"
	}
	_, err = fmt.Fprintf(w, "differs   %s between %s: agent context\n", strings.Join(differ, ", ")+verb, who)
	return err
}

// offerOf is the command that connects a coding agent that isn't connected yet.
func offerOf(c *codingagents.Client) string {
	connector, err := connector()
	if err != nil {
		return ""
	}
	for _, x := range connector.List() {
		if to := connect.Lookup(x.Client); to != nil && to.Reader == c.Reader && x.State == connect.StateNone {
			return "; agent connect " + x.Client
		}
	}
	return ""
}

// installed are the coding agents whose programs are on this machine.
func installed() (list []*codingagents.Client) {
	for i := range codingagents.Clients {
		c := &codingagents.Clients[i]
		if _, err := exec.LookPath(c.Program); c.Program != "" && err == nil {
			list = append(list, c)
		}
	}
	return list
}
