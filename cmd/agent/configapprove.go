package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/atomicfile"
	"waymark/internal/udiff"
)

// exposedConfig is a configuration file where chats work: they can write it, so what
// counts is its content as it was approved, of which the agent keeps a copy.
type exposedConfig struct {
	file     string       // absolute
	approved places.Place // the copy
}

// exposed is the copy for a file, in the state of a workspace.
func exposed(file string, w *config.Workspace) *exposedConfig {
	sum := sha256.Sum256([]byte(file))
	return &exposedConfig{file, w.State.In("config", hex.EncodeToString(sum[:6])+".toml")}
}

// errUnapproved says that a file has another content than the approved one.
var errUnapproved = errors.New("has changed since it was approved, and lies where chats work")

// check compares the file with its copy. The error matches errUnapproved for another
// content, and fs.ErrNotExist where nothing was approved yet.
func (e *exposedConfig) check() error {
	approved, err := config.ReadFile(e.approved.Path())
	if err != nil {
		return err
	}
	now, err := config.ReadFile(e.file)
	if err != nil || now != approved { // a file that is gone has changed, too
		return fmt.Errorf("configuration %s %w: what was approved stays in force; look at it with 'agent config approve %s'", e.file, errUnapproved, e.file)
	}
	return nil
}

// approve keeps a content as the approved one.
func (e *exposedConfig) approve(text string) error {
	if err := config.MakePrivate(filepath.Dir(e.approved.Path())); err != nil {
		return err
	}
	return atomicfile.WriteFile(e.approved.Path(), []byte(text), 0o600)
}

// trustConfig has configuration files that chats could write be replaced by their approved
// copies, those too to which a link leads that they can't write. Who starts an agent with
// a file for the first time has approved it.
func (a *app) trustConfig(s *settings, paths *config.Paths, w *config.Workspace, log *slog.Logger) error {
	files := paths.ConfigFiles
	if s.configFile != "" {
		files = []string{s.configFile}
	}
	for i, file := range files {
		own, err := paths.Own.Add(places.Config, file)
		if at := places.Real(own.Path()); err == nil && at != own.Path() {
			_, err = paths.Own.Add(places.Config, at)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, places.ErrExposed) {
			return err
		}
		e := exposed(own.Path(), w)
		if err := a.approved(e, log); errors.Is(err, fs.ErrNotExist) && s.configFile == "" {
			continue // there is none
		} else if err != nil {
			return err
		}
		s.exposed = append(s.exposed, e)
		if s.configFile != "" {
			s.configFile = e.approved.Path()
		} else {
			files[i] = e.approved.Path()
		}
	}
	return nil
}

// approved makes sure that there is an approved content, and says where another one has
// come since.
func (a *app) approved(e *exposedConfig, log *slog.Logger) error {
	err := e.check()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.takeOver()
	case errors.Is(err, errUnapproved) && term.IsTerminal(a.stderr) && term.IsTerminal(os.Stdin):
		if _, err := fmt.Fprintln(a.stderr, err); err != nil {
			return err
		}
		if confirmed(a.stderr, os.Stdin, "Let what is there now count?") {
			return e.takeOver()
		}
		return nil
	case errors.Is(err, errUnapproved):
		log.Warn(err.Error())
		return nil
	}
	return err
}

// unapproved says which files have another content than the approved one.
func (s *settings) unapproved() (err error) {
	for _, e := range s.exposed {
		err = errors.Join(err, e.check())
	}
	return err
}

// takeOver approves what is there now, if it is a configuration.
func (e *exposedConfig) takeOver() error {
	if _, err := config.LoadFile(e.file); err != nil {
		return err
	}
	text, err := config.ReadFile(e.file)
	if err != nil {
		return err
	}
	return e.approve(text)
}

// confirmed asks a question. Whatever isn't a yes is a no.
func confirmed(out io.Writer, in io.Reader, question string) bool {
	_, _ = fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil { // nobody has ended the line
		_, _ = fmt.Fprintln(out)
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

func (a *app) configApproveCommand() *cobra.Command {
	var yes bool
	var root string
	cmd := &cobra.Command{
		Use:   "approve FILE",
		Short: "Let a changed configuration file count that lies in the workspace",
		Long: `A configuration that 'agent run --config FILE' names may lie in the workspace. Whoever acts
for a chat can write it there, so the agent goes by a copy of what was approved: the
content with which it was first started, and from then on what you approve here.

Approve shows what has changed, asks, and takes it over; a running agent follows at once.`,
		Example: `  agent config approve waymark.toml
  agent config approve waymark.toml --yes`,
		Args: cli.Named("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.approveConfig(args[0], root, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing")
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
	e := exposed(file, w)
	before, err := config.ReadFile(e.approved.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("no agent was started for %s with --config %s, or the file isn't in the workspace and needs no approval", w.Root, file)}
	case err != nil:
		return err
	case before == text:
		_, err := fmt.Fprintf(a.stdout, "%s is as it was approved\n", term.Visible(file))
		return err
	}
	if _, err := fmt.Fprint(a.stdout, udiff.Diff("approved", file, before, text)); err != nil {
		return err
	}
	if !yes && !confirmed(a.stderr, os.Stdin, "take this over?") {
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("nothing was approved")}
	}
	if err := e.approve(text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "approved: %s\n", term.Visible(file))
	return err
}
