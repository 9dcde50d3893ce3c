package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
)

// app is the state that the program's commands share. The tests run it with another
// built-in module.
type app struct {
	agent.Program

	stdout, stderr io.Writer

	log cli.LogFlags
}

// logger makes the program's logger. On a terminal a person reads what commands print, and of
// the log what is wrong.
func (a *app) logger() (*slog.Logger, error) {
	level := slog.LevelInfo
	switch {
	case a.log.Verbose:
		level = slog.LevelDebug
	case a.log.Format == "text" && cli.IsTerminal(a.stderr):
		level = slog.LevelWarn
	}
	return a.log.Logger(a.stderr, level)
}

// side prints a message on standard error.
func (a *app) side(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// progress tells a person that something takes long.
func (a *app) progress(line string) {
	_, _ = fmt.Fprintln(a.stderr, line)
}

// confirmed asks a yes/no question. Every answer but yes means no.
func confirmed(out io.Writer, in io.Reader, question string) bool {
	_, _ = fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil { // the line has no end: the user didn't confirm it
		_, _ = fmt.Fprintln(out)
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

// lookOnce calls see with a host that resolves what `agent run` with the same flags would.
func (a *app) lookOnce(ctx context.Context, s *agent.Options, paths *config.Paths, see func(*host.Host) error) (err error) {
	if s.Log, err = a.logger(); err != nil {
		return err
	}
	s.Program = &a.Program
	return agent.Look(ctx, s, paths, see)
}

// addSettings adds the flags that run and resolve share.
func addSettings(cmd *cobra.Command, s *agent.Settings) {
	cmd.Flags().StringArrayVar(&s.Plugins, "plugins", nil, "`directory` of resolver modules (*.wasm), in addition to the configured ones; may be repeated")
	cmd.Flags().StringVar(&s.ConfigFile, "config", "", "configuration `file`, instead of the user's own files")
}

// maxCommand is the length of a command in a list, in characters.
const maxCommand = 60

// oneLine formats a command for a list.
func oneLine(command string) string {
	line := []rune(strings.Join(strings.Fields(command), " "))
	if len(line) > maxCommand {
		line = append(line[:maxCommand-1], '…')
	}
	return cli.Visible(string(line))
}
