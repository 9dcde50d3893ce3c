package cli_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
)

// program is a program with one command.
func program(out io.Writer) *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things", Long: "Prog does things.\n" + strings.Repeat("word ", 30) + "\n\n  as it is:   " + strings.Repeat("x", 10) + "\n\nThe end\nof it."}
	sub := &cobra.Command{Use: "sub FILE", Short: "Do " + strings.Repeat("more and ", 12) + "less", Example: "  prog sub x", RunE: func(*cobra.Command, []string) error { return nil }}
	sub.Flags().String("out", "", "the `file` to write "+strings.Repeat("and so on ", 12))
	root.AddCommand(sub, cli.VersionCommand("prog", out, 7))
	cli.Root(root, out, out)
	return root
}

func TestHelpText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	root := program(&b)
	root.SetArgs(nil)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Prog does things. word word ", "\n\n  as it is:   xxxxxxxxxx\n\nThe end of it.\n\nUsage:\n  prog COMMAND\n\nCommands:\n",
		"\n  sub          Do more and ", "\n               more and", "\n  -h, --help      help for prog\n      --version   print the version\n",
		"\n'prog COMMAND --help' says more about a command.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	root = program(&b)
	root.SetArgs([]string{"sub", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Usage:\n  prog sub FILE [flags]\n\nExamples:\n  prog sub x\n\nFlags:\n", "      --out file   the file to write and so on"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, arg := range []string{"version", "--version"} {
		var b bytes.Buffer
		root := program(&b)
		root.SetArgs([]string{arg})
		if err := root.Execute(); err != nil || !strings.HasPrefix(b.String(), "prog ") || !strings.HasSuffix(b.String(), ", resolver ABI 7\n") {
			t.Errorf("%s: %v, %q", arg, err, b.String())
		}
		lines = append(lines, b.String())
	}
	if lines[0] != lines[1] {
		t.Errorf("%q", lines)
	}
	root := program(failing{})
	root.SetArgs([]string{"--version"})
	if err := root.Execute(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("nowhere to write to: %v", err)
	}
}

// failing is a writer to which nothing can be written.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
