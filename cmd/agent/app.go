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
	"waymark/cmd/internal/term"
	"waymark/host"
	"waymark/host/config"
)

// app is the program: what its commands share. The tests run it with another
// built-in module.
type app struct {
	agent.Program

	stdout, stderr io.Writer

	log cli.LogFlags
}

// logger makes the program's logger.
func (a *app) logger() (*slog.Logger, error) {
	level := slog.LevelInfo
	if a.log.Verbose {
		level = slog.LevelDebug
	}
	return a.log.Logger(a.stderr, level)
}

// side tells something on standard error.
func (a *app) side(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// progress prints a line for a person: something takes long.
func (a *app) progress(line string) {
	_, _ = fmt.Fprintln(a.stderr, line)
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

// lookOnce calls look with a host that looks at what `agent run` with the same flags
// would look at.
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

// maxCommand is how much of a command a list shows, in characters.
const maxCommand = 60

// oneLine is a command as a list shows it.
func oneLine(command string) string {
	line := []rune(strings.Join(strings.Fields(command), " "))
	if len(line) > maxCommand {
		line = append(line[:maxCommand-1], '…')
	}
	return term.Visible(string(line))
}
