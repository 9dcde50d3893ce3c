package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/internal/udiff"
)

func (a *app) configApproveCommand() *cobra.Command {
	var yes bool
	var root string
	cmd := &cobra.Command{
		Use:   "approve FILE",
		Short: "Approve a changed configuration file in the workspace",
		Long: `A configuration that 'agent run --config FILE' names may lie in the workspace, where
chats can change it. The agent therefore uses an approved copy: the content at its first
start, and later the content that you approve here.

Approve shows the changes, asks, and accepts them. A running agent applies them at once.`,
		Example: `  agent config approve waymark.toml
  agent config approve waymark.toml --yes`,
		Args: cli.Named("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.approveConfig(args[0], root, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	cmd.Flags().StringVar(&root, "root", ".", "`directory` that the agent was started for")
	return cmd
}

func (a *app) approveConfig(file, root string, yes bool) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	w, err := paths.Workspace(root)
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	if _, err := config.LoadFile(file); err != nil {
		return err
	}
	text, err := config.ReadFile(file)
	if err != nil {
		return err
	}
	e := agent.Exposed(file, w)
	before, err := e.Copy()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("no agent was started for %s with --config %s, or the file isn't in the workspace and needs no approval", w.Root, file)}
	case err != nil:
		return err
	case before == text:
		_, err := fmt.Fprintf(a.stdout, "%s is as it was approved\n", cli.Visible(file))
		return err
	}
	if _, err := fmt.Fprint(a.stdout, udiff.Diff("approved", file, before, text)); err != nil {
		return err
	}
	if !yes && !confirmed(a.stderr, os.Stdin, "take this over?") {
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("nothing was approved")}
	}
	if err := e.Approve(text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "approved: %s\n", cli.Visible(file))
	return err
}
