package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/snapshot"
)

// mcpPending notes on standard error that there may be more tools.
func (a *app) mcpPending(phase snapshot.Phase) {
	if phase == snapshot.PhasePending {
		a.side("not complete: some are still starting; --wait 30s waits for them")
	}
}

// printMCPTools prints tools in a table, or that there are none.
func (a *app) printMCPTools(list []agentapi.MCPTool, none string) error {
	return cli.List(a.stdout, false, list, none, []string{"TOOL", "ARGUMENTS", "DESCRIPTION"}, func(t *agentapi.MCPTool) []string {
		return []string{cli.Visible(t.Name), cli.Dash(cli.Visible(mcpArguments(t))), oneLine(cmp.Or(t.Title, t.Description))}
	})
}

// mcpServerNames completes names of servers.
func mcpServerNames(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.MCPServers(ctx, "", 0)
		if err != nil {
			return nil, err
		}
		for i := range all.Servers {
			list = append(list, all.Servers[i].Name)
		}
		return list, nil
	})
}

// mcpToolNames completes names of tools.
func mcpToolNames(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.ListMCPTools(ctx, client.MCPToolOptions{})
		if err != nil {
			return nil, err
		}
		for i := range all.Tools {
			list = append(list, all.Tools[i].Name)
		}
		return list, nil
	})
}

// settleWait is how long one request waits for a server to be connected.
const settleWait = 30 * time.Second

// settled waits until a server isn't pending any more, and returns its state.
func (a *app) settled(ctx context.Context, c client.Client, name string) (*agentapi.MCPServer, error) {
	for told := false; ; told = true {
		all, err := c.MCPServers(ctx, name, settleWait)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all.Servers, func(s agentapi.MCPServer) bool { return s.Name == name })
		if i < 0 {
			return nil, &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("there is no server %s any more", name)}
		}
		if all.Servers[i].Outcome != snapshot.OutcomePending {
			return &all.Servers[i], nil
		}
		if !told {
			a.side("%s is still starting; 'agent mcp logs -f %s' shows what it says", cli.Visible(name), cli.Visible(name))
		}
	}
}

// printSettled waits for a server and prints its state. It is an error if the server
// doesn't answer.
func (a *app) printSettled(ctx context.Context, c client.Client, name string, asJSON bool) error {
	s, err := a.settled(ctx, c, name)
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.JSON(a.stdout, s)
	} else {
		line := resources.Outcome(s.Outcome)
		if s.CatalogueAt != nil {
			line += ", " + cli.Count(s.Tools, "tool")
		}
		if s.Held > 0 {
			line += fmt.Sprintf(", %d held back", s.Held)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s\n", cli.Visible(name), line)
	}
	if err == nil && s.Outcome == snapshot.OutcomeFailed {
		err = fmt.Errorf("%s doesn't answer: %w; 'agent mcp logs %s' shows what it said", name, errors.New(cmp.Or(s.Error, "nobody knows why")), name)
	}
	return err
}

// mcpArguments lists a tool's arguments, optional ones in brackets.
func mcpArguments(tool *agentapi.MCPTool) string {
	properties, err := members(tool.Schema)
	if err != nil {
		return ""
	}
	var list []string
	for _, name := range properties {
		if slices.Contains(tool.Required, name) {
			list = append(list, name)
		}
	}
	for _, name := range properties {
		if !slices.Contains(tool.Required, name) {
			list = append(list, "["+name+"]")
		}
	}
	return strings.Join(list, " ")
}

// members returns the names of an object's members, in order.
func members(object json.RawMessage) (names []string, err error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names, nil
}
