package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
)

func (a *app) doctorCommand() *cobra.Command {
	var conn connection
	var s agent.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems of the agent on this machine, and say what to do",
		Long: `Doctor checks this machine, the agent's directories, and the agent and the hub if they
run: limits of the kernel, file events, permissions, tokens, the clock, the
configuration. It prints a line for each check, and what to do about problems. It
changes nothing.

The agent works in spite of a "warn". The exit code is 1 if a check fails.`,
		Example: `  agent doctor
  agent doctor --json | jq -r '.checks[] | select(.status == "fail").do'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.patient(cmd.Context(), &conn, &s)
			if err != nil {
				return err
			}
			return a.printFindings(p.examine(cmd.Context()), asJSON)
		},
	}
	conn.addFlags(cmd)
	addSettings(cmd, &s)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// checks are all checks in the order of their output: the machine first, because its faults
// explain others.
var checks = []struct {
	name string
	look func(*patient, context.Context) finding
}{
	{"kernel limits", (*patient).kernelLimits},
	{"file events", (*patient).fileEvents},
	{"roots", (*patient).rootDirs},
	{"landlock", (*patient).landlock},
	{"supervisor", (*patient).helper},
	{"clock", (*patient).clock},
	{"places", (*patient).places},
	{"state", (*patient).state},
	{"cache", (*patient).cache},
	{"compiled code", (*patient).compiledCode},
	{"configuration", (*patient).configuration},
	{"plugins", (*patient).pluginDirs},
	{"tokens", (*patient).tokens},
	{"agent", (*patient).agent},
	{"processes", (*patient).processes},
	{"desktop", (*patient).desktopPrograms},
	{"mcp servers", (*patient).servers},
	{"hub", (*patient).hub},
	{"clients", (*patient).clients},
}

// examine runs all checks.
func (p *patient) examine(ctx context.Context) []finding {
	var list []finding
	for _, c := range checks {
		if f := c.look(p, ctx); f.Status != "" {
			f.Check = c.name
			list = append(list, f)
		}
	}
	return list
}

// printFindings prints one line per finding, and returns an error if one of them is a
// failure.
func (a *app) printFindings(list []finding, asJSON bool) error {
	count := map[health]int{}
	for _, f := range list {
		count[f.Status]++
	}
	var err error
	if asJSON {
		err = cli.JSON(a.stdout, struct {
			OK     bool      `json:"ok"` // no check fails
			Checks []finding `json:"checks"`
		}{count[healthFail] == 0, list})
	} else {
		err = printFindingTable(a.stdout, list)
	}
	if err == nil && count[healthFail] > 0 {
		err = fmt.Errorf("%d of %s failed", count[healthFail], cli.Count(len(list), "check"))
	}
	return err
}

func printFindingTable(w io.Writer, list []finding) error {
	t := cli.NewTable(w, "STATUS", "CHECK", "DETAIL")
	for _, f := range list {
		text := cli.Visible(f.Detail)
		if f.Do != "" {
			text += ": " + cli.Visible(f.Do)
		}
		t.Row(string(f.Status), f.Check, text)
	}
	return t.Flush()
}
