package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent/server"
	"waymark/agentapi/client"
	"waymark/cmd/internal/term"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

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
		Long: `Plugins lists the modules that the running agent finds things with: the built-in one
and those in the plugin directories. A module whose resolvers fail again and again is
left alone for longer and longer, and one that an earlier agent died of altogether;
'agent plugins retry' ends that, and looks at once at the files that couldn't be used.

Files that appear, change or vanish in a plugin directory take effect by themselves. Where
a new version of a file can't be used, the version before it goes on, and the list says
so below the table. One that reads more than before waits for 'agent plugins approve'.

The exit code is 3 when no agent runs. Retry ends with 1 when a module can't be used
after all.`,
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

// retryPlugins lets them run, and prints what came of it.
func (a *app) retryPlugins(ctx context.Context, c client.Client, asJSON bool) error {
	if err := c.RetryPlugins(ctx); err != nil {
		return err
	}
	s, err := c.Resync(ctx)
	if problem.CodeOf(err) == http.StatusConflict { // they run with the first snapshot, which is held back
		plugins, failed := c.Plugins(ctx)
		if failed != nil {
			return failed
		}
		return errors.Join(a.printPlugins(plugins, asJSON), fmt.Errorf("nothing was run: %w", server.ErrHeld))
	}
	if err != nil {
		return err
	}
	if err := a.printPlugins(s.Plugins, asJSON); err != nil {
		return err
	}
	return unusable(s.Plugins)
}

func (a *app) printPlugins(all []snapshot.Plugin, asJSON bool) error {
	if asJSON {
		return term.JSON(a.stdout, snapshot.Plugins(all))
	}
	return printPluginTable(a.stdout, all)
}

func printPluginTable(w io.Writer, all []snapshot.Plugin) error {
	t := term.NewTable(w, "NAME", "VERSION", "STATE", "RESOLVERS", "PATH")
	for _, p := range all {
		t.Row(term.Dash(term.Visible(p.Name)), term.Dash(term.Visible(p.Version)), string(p.State),
			term.Dash(term.Visible(strings.Join(p.Resolvers, ", "))), term.Visible(p.Path))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range all {
		if p.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s: %s\n", pluginName(p), p.State, term.Visible(p.Error)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unusable makes an error of the first module that can't be used.
func unusable(all []snapshot.Plugin) error {
	for _, p := range all {
		if p.State != snapshot.PluginReady && p.State != snapshot.PluginCompiling {
			return fmt.Errorf("plugin %s is %s: %s", pluginName(p), p.State, p.Error)
		}
	}
	return nil
}

// pluginName is the module's own name, or its file's while it isn't known.
func pluginName(p snapshot.Plugin) string {
	return term.Visible(cmp.Or(p.Name, filepath.Base(p.Path)))
}
