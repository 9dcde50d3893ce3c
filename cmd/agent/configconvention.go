package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/internal/atomicfile"
)

func (a *app) configConventionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convention",
		Short: "Have files found that no agent looks for, without code",
	}
	cli.Group(cmd)
	show := false
	add := &cobra.Command{
		Use:   "add PATH",
		Short: "Add the [[convention]] by which a file is found",
		Long: `Add puts the table that 'agent why PATH' prints at the end of
~/.config/waymark/plugin.toml. A running agent takes it at once. The table holds for files
like this one in every workspace: change its places, its kind and when it applies there.

The exit code is 3 if the file is found already, or no table could have it found.`,
		Example: `  agent config convention add docs/HOUSE.md
  agent config convention add docs/HOUSE.md --print`,
		Args: cli.Named("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.addConvention(cmd.Context(), args[0], show) },
	}
	add.Flags().BoolVar(&show, "print", false, "show the table, and change nothing")
	cmd.AddCommand(add)
	return cmd
}

func (a *app) addConvention(ctx context.Context, arg string, show bool) error {
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	asked, wrong := whichPaths([]string{arg}, paths)
	if wrong != nil {
		return wrong
	}
	answers, err := a.why(ctx, &connection{}, &agent.Options{Root: "."}, false, paths, nil, asked)
	if err != nil {
		return err
	}
	table, name := answers[0].Convention, cli.Shorten(asked[0], here())
	switch {
	case answers[0].Found:
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%s is in the context already", name)}
	case table == "":
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%s: %s: %s", name, answers[0].Reason, cli.Visible(answers[0].Detail))}
	case show:
		_, err = fmt.Fprint(a.stdout, table)
		return err
	}
	file := filepath.Join(paths.Config, "plugin.toml")
	if err := changeConfig(file, func(before string) string { return withTable(before, table) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: a [[convention]] for %s was added; 'agent why %s' says whether it is found\n", cli.Visible(file), name, name)
	return err
}

// changeConfig changes a configuration, which stays as it was if the change would be
// refused. A link stays one.
func changeConfig(file string, change func(before string) string) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after := change(string(before))
	if err := config.Default().Parse(file, after); err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, []byte(after), mode)
}

// withTable appends a table to a configuration.
func withTable(before, table string) string {
	if strings.TrimSpace(before) == "" {
		return before + table
	}
	return strings.TrimRight(before, "\n") + "\n\n" + table
}
