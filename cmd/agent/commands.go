package main

import (
	"context"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/stop"
)

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	completions().Apply(root, args)
	root.SetArgs(args)
	return cli.Report(a.stderr, "agent", root.ExecuteContext(ctx))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Find the context of AI coding agents in a workspace and push it to a hub",
		Long: `An agent looks in a workspace for the context of AI coding agents: instruction files
(AGENTS.md, CLAUDE.md, .cursorrules), skills and MCP configurations. It makes a snapshot
and pushes each change to a hub, where others read it. Resolvers, which are sandboxed
WebAssembly modules, find this context. Some are built in; you can put others into a
plugin directory.

'agent resolve' shows once what is found here. 'agent run' watches it continuously. The
other commands ask the running agent of the current directory or of the nearest
directory above it. If there is none, commands that change nothing ask the only running
agent. --listen selects another agent.`,
		Example: `  agent run                     watch this directory, with your own hub
  agent resolve                 show what is found here, once
  agent status                  show the state of the running agent
  agent doctor                  find problems of the agent on this machine
  agent why CLAUDE.md           show whether a file is in the context, and why
  agent for src/main.go         show the instructions and rules for a file`,
	}
	a.log.Add(root, "log more")
	a.Progress, a.Version = a.progress, cli.CurrentVersion().Version
	a.Attach = func(ctx context.Context, words *[5]uint64, beat func()) { stop.Attach(ctx, (*stop.Words)(words), beat) }
	root.AddCommand(a.runCommand(), a.enrollCommand(), a.resolveCommand(), a.statusCommand(), a.snapshotCommand(), a.resyncCommand(),
		a.whyCommand(), a.forCommand(), a.contextCommand(), a.sourcesCommand(), a.listCommand(), a.rootDirCommand(), a.readyCommand(),
		a.execCommand(), a.psCommand(), a.logsCommand(), a.killCommand(), a.gitCommand(), a.desktopCommand(), a.mcpCommand(), a.connectCommand(), a.pluginsCommand(), a.configCommand(), a.doctorCommand(), a.tokenCommand(), a.auditCommand(), a.stopCommand(), cli.VersionCommand("agent", a.stdout, abi.Version))
	cli.Root(root, a.stdout, a.stderr)
	return root
}

// completions defines what a shell completes for arguments and flags. Commands that aren't
// named here take no arguments. Shells complete files themselves.
func completions() *cli.Completions {
	arguments := map[string]cobra.CompletionFunc{
		"agent run":            cli.Directories,
		"agent resolve":        cli.Directories,
		"agent root":           cli.Directories,
		"agent why":            nil,                     // files
		"agent for":            cli.InOrder(false, nil), // one file
		"agent config check":   cli.Files("toml"),
		"agent sources add":    cli.InOrder(false, nil),
		"agent sources show":   cli.InOrder(false, knownSources),
		"agent sources remove": cli.InOrder(false, knownSources),
		"agent exec":           nil, // files
		"agent logs":           cli.InOrder(false, knownProcesses(false)),
		"agent kill":           cli.InOrder(true, knownProcesses(true)),

		"agent desktop screenshot": nil, // files
		"agent desktop record":     nil,
		"agent desktop forward":    nil,
	}
	flags := map[string]cobra.CompletionFunc{
		"log-format": cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
		"listen":     cobra.FixedCompletions([]string{"unix:", "tcp:127.0.0.1:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"url":        cobra.FixedCompletions([]string{"unix:", "tcp:", "https://"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"root":       cli.Directories,
		"plugins":    cli.Directories,
		"config":     cli.Files("toml"),
		"payload":    resourceNames,
		"timeout":    cobra.NoFileCompletions,

		"scope":         cobra.FixedCompletions(scopeNames(), cobra.ShellCompDirectiveNoFileComp),
		"grant-secrets": cobra.FixedCompletions(secretNames(), cobra.ShellCompDirectiveNoFileComp),
		"expires":       cobra.FixedCompletions([]string{"30m", "8h", "720h"}, cobra.ShellCompDirectiveNoFileComp),
		"last":          cobra.NoFileCompletions,
		"plan":          nil, // files
		"workdir":       cli.Directories,
		"env":           cobra.NoFileCompletions,
		"chat":          cobra.NoFileCompletions,
		"tail":          cobra.NoFileCompletions,
		"profile":       cobra.FixedCompletions([]string{"secrets", "plan"}, cobra.ShellCompDirectiveNoFileComp),
		"signal":        cobra.FixedCompletions([]string{"terminate", "kill", "interrupt", "hangup"}, cobra.ShellCompDirectiveNoFileComp),
	}
	return &cli.Completions{Arguments: arguments, Flags: flags}
}

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Show the workspace's MCP servers, approve them, and call their tools",
		Long: `The running agent starts the MCP servers of a workspace (from .mcp.json, or from the
files that CODER_AGENT_EXP_MCP_CONFIG_FILES names) once for all chats. It starts none
without your approval, because a repository can name any program. An approval is for
exactly what 'agent mcp show' shows. If that changes later, the server needs a new
approval.`,
		Example: `  agent mcp list
  agent mcp show github
  agent mcp approve github
  agent mcp call github__get_issue '{"number": 7}'`,
	}
	cli.Group(cmd)
	var conn connection
	conn.addFlags(cmd)
	cmd.AddCommand(a.mcpListCommand(&conn), a.mcpShowCommand(&conn), a.mcpApproveCommand(&conn), a.mcpDenyCommand(&conn),
		a.mcpLoginCommand(&conn), a.mcpRestartCommand(&conn), a.mcpLogsCommand(&conn), a.mcpCallCommand(&conn), a.mcpSearchCommand(&conn),
		a.mcpServeCommand(&conn), a.mcpToolsCommand(&conn))
	return cmd
}

func (a *app) pluginsCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	list := func(ctx context.Context, c client.Client, _ []string) error {
		all, err := c.Plugins(ctx)
		if err != nil {
			return err
		}
		return a.printPlugins(all, asJSON)
	}
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List resolver modules and their states, approve changed ones, try your own",
		Long: `Plugins lists the modules that the running agent uses: the built-in one and those in the
plugin directories. If the resolvers of a module fail repeatedly, the agent runs it less
and less often. It doesn't run a module that an earlier agent died of. 'agent plugins
retry' runs such modules again, and checks files again that couldn't be used.

Files that you add, change or remove in a plugin directory take effect automatically. If
a new version of a file can't be used, the previous version remains in use, and the list
says so below the table. A version that reads more waits for 'agent plugins approve'.

The exit code is 3 if no agent runs. Retry exits with 1 if a module still can't be used.`,
		Example: `  agent plugins
  agent plugins --json | jq -r '.[] | select(.state != "ready").error'
  agent plugins retry
  agent plugins approve acme-rules`,
		Args: cobra.NoArgs,
		RunE: asking(conn.reader, list),
	}
	conn.addFlags(cmd)
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List all modules", Args: cobra.NoArgs, RunE: asking(conn.reader, list)},
		&cobra.Command{
			Use: "retry", Short: "Run failing resolvers again at once", Args: cobra.NoArgs,
			RunE: asking(conn.client, func(ctx context.Context, c client.Client, _ []string) error { return a.retryPlugins(ctx, c, asJSON) }),
		},
		a.approveCommand(&conn, &asJSON),
		a.tryCommand(&asJSON),
	)
	return cmd
}
