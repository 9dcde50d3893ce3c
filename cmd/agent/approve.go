package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host/plugin/approvals"
	"waymark/snapshot"
)

func (a *app) approveCommand(conn *connection, asJSON *bool) *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use:   "approve [NAME]",
		Short: "Approve a changed module that waits",
		Long: `Approve lists the modules that wait for an approval, or approves the module NAME.

A new module runs at once. A module waits for an approval if a changed file reads more
than the previous one, if secrets are granted to its name and the file has changed, or if
the configuration pins another file. Until then the previous version runs, if there was
one when the file changed.

An approval is for one file, by the SHA-256 of its content, and is kept. The exit code
is 3 if no module of that name waits, or no agent runs.`,
		Example: `  agent plugins approve
  agent plugins approve acme-rules
  agent plugins approve acme-rules --digest 2c26b46b68ffc68f…`,
		Args: cli.Named("[NAME]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && digest != "" {
				return cli.Usage("--digest without a NAME: say which module it is")
			}
			dial := conn.client
			if len(args) == 0 {
				dial = conn.reader
			}
			c, err := dial()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.listWaiting(cmd.Context(), c, *asJSON)
			}
			return a.approve(cmd.Context(), c, args[0], digest, *asJSON)
		},
		ValidArgsFunction: cli.InOrder(false, waitingPlugins),
	}
	cmd.Flags().StringVar(&digest, "digest", "", "approve only a file whose SHA-256 equals or begins with these `digits` (8 at least)")
	return cmd
}

// waitingPlugins completes the names of the modules that wait for an approval.
func waitingPlugins(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.WaitingPlugins(ctx)
		for i := range all {
			list = append(list, all[i].Name)
		}
		return list, err
	})
}

func (a *app) listWaiting(ctx context.Context, c client.Client, asJSON bool) error {
	all, err := c.WaitingPlugins(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, append([]approvals.Pending{}, all...))
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.stdout, "nothing waits for an approval")
		return err
	}
	for i := range all {
		if err := printWaiting(a.stdout, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// approve shows what is new in a module, approves exactly that file, and prints the result.
func (a *app) approve(ctx context.Context, c client.Client, name, digest string, asJSON bool) error {
	all, err := c.WaitingPlugins(ctx)
	if err != nil {
		return err
	}
	p, err := chooseWaiting(all, name, digest)
	if err != nil {
		return err
	}
	if !asJSON {
		if err := printWaiting(a.stdout, p); err != nil {
			return err
		}
	}
	approved, err := c.ApprovePlugin(ctx, p.Name, p.Digest)
	if err != nil {
		return err
	}
	plugins, err := c.Plugins(ctx)
	if err != nil {
		return err
	}
	plugins = slices.DeleteFunc(plugins, func(p snapshot.Plugin) bool { return p.Path != approved.Path })
	if asJSON {
		if err := cli.JSON(a.stdout, approved); err != nil {
			return err
		}
	} else if err := printPluginTable(a.stdout, plugins); err != nil {
		return err
	}
	return unusable(plugins)
}

// chooseWaiting finds the one module that name and digest select.
func chooseWaiting(all []approvals.Pending, name, digest string) (*approvals.Pending, error) {
	if digest != "" && len(digest) < digestMin {
		return nil, cli.Usage("--digest %q: give at least the first %d digits", digest, digestMin)
	}
	var found []*approvals.Pending
	other := ""
	for i := range all {
		switch p := &all[i]; {
		case p.Name != name:
		case strings.HasPrefix(p.Digest, strings.ToLower(digest)):
			found = append(found, p)
		default:
			other = p.Digest
		}
	}
	switch {
	case len(found) == 0 && other != "":
		return nil, &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("plugin %s waits with the digest %s, not with %s: look at the file again", name, other, digest)}
	case len(found) == 0:
		return nil, &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("no plugin %q waits for an approval: see 'agent plugins'", name)}
	case found[0].Digest != found[len(found)-1].Digest:
		return nil, fmt.Errorf("two files wait that are named %s, %s and %s: name one with --digest", name, found[0].Path, found[len(found)-1].Path)
	}
	return found[0], nil
}

func printWaiting(w io.Writer, p *approvals.Pending) error {
	t := cli.NewTable(w)
	line := func(label, text string) { t.Row("  "+label, cli.Dash(cli.Visible(text))) }
	t.Row(fmt.Sprintf("%s %s waits: %s", cli.Visible(p.Name), cli.Visible(p.Version), cli.Visible(p.Reason)))
	line("file", p.Path)
	line("sha256", p.Digest)
	line("new in reads", strings.Join(p.NewReads, ", "))
	line("reads in all", strings.Join(p.Reads, ", "))
	line("granted secrets", strings.Join(p.GrantSecrets, ", "))
	line("runs meanwhile", strings.TrimSpace(p.ServingVersion+" "+p.ServingDigest))
	return t.Flush()
}
