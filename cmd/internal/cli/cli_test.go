package cli_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/internal/httpapi/problem"
)

func TestCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
		text string
	}{
		{nil, cli.CodeOK, ""},
		{errors.New("x"), cli.CodeFailed, "x"},
		{cli.Usage("wrong %d", 1), cli.CodeUsage, "wrong 1"},
		{fmt.Errorf("%w: start one", problem.Nobody("no agent is running")), cli.CodeNo, "no agent is running: start one"},
		{fmt.Errorf("ask: %w", &problem.Error{Code: 404, Message: "gone"}), cli.CodeNo, "ask: gone"},
		{&problem.Error{Code: 403, Message: "no"}, cli.CodeFailed, "no"},
		{cli.Usage("%w", problem.Nobody("x")), cli.CodeUsage, "x"},
		{fmt.Errorf("more: %w", &cli.Error{Code: cli.CodeNo, Err: io.EOF}), cli.CodeNo, "more: EOF"},
		{&cli.Error{Code: cli.CodeFailed}, cli.CodeFailed, ""},
	} {
		if got := cli.Code(c.err); got != c.want || c.err != nil && c.err.Error() != c.text {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
	if !errors.Is(cli.Usage("%w", io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names, args, want string
	}{
		{"A B", "1 2", ""}, {"A B", "1", "B is missing"}, {"A", "1 2", `unexpected argument "2"`},
		{"A [B]", "1", ""}, {"A [B]", "1 2", ""}, {"A [B]", "", "A is missing"}, {"A [B]", "1 2 3", `unexpected argument "3"`},
		{"A B…", "1", ""}, {"A B…", "1 2 3 4", ""}, {"A B…", "", "A is missing"}, {"[A]", "", ""},
	} {
		err := cli.Named(strings.Fields(c.names)...)(nil, strings.Fields(c.args))
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s with %q: %v, want %q", c.names, c.args, err, c.want)
		}
	}
}

// TestWrong: wrong flags and arguments are wrong usage, of subcommands too.
func TestWrong(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"sub": "A is missing; see 'root sub --help'", "sub --no": "unknown flag: --no; see 'root sub --help'",
		"nothing": `unknown command "nothing" for "root"; see 'root --help'`, "sub a": "",
		"sbu":           `unknown command "sbu" for "root" (did you mean 'root sub'?); see 'root --help'`,
		"leaf":          `unknown command "leaf" for "root" (did you mean 'root group leaf'?); see 'root --help'`,
		"group lef":     `unknown command "lef" for "root group" (did you mean 'root group leaf'?); see 'root group --help'`,
		"group leaf x":  `unexpected argument "x"; see 'root group leaf --help'`,
		"sub a --deap":  `unknown flag: --deap (did you mean --deep?); see 'root sub --help'`,
		"sub a -deep=1": `unknown shorthand flag: 'd' in -deep=1 (did you mean --deep?); see 'root sub --help'`,
		"sub a -edep":   `unknown shorthand flag: 'e' in -edep (did you mean --deep?); see 'root sub --help'`,
		"sub a -x":      `unknown shorthand flag: 'x' in -x; see 'root sub --help'`,
	} {
		sub := &cobra.Command{Use: "sub", Args: cli.Named("A"), RunE: func(*cobra.Command, []string) error { return nil }}
		root := &cobra.Command{Use: "root", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
		sub.Flags().Bool("deep", false, "go deeper")
		group := &cobra.Command{Use: "group"}
		cli.Group(group)
		group.AddCommand(&cobra.Command{Use: "leaf", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {}})
		root.AddCommand(sub, group)
		cli.Wrong(root)
		root.SetArgs(strings.Fields(args))
		err := root.Execute()
		if want == "" && err != nil || want != "" && (cli.Code(err) != cli.CodeUsage || err.Error() != want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": "level=INFO msg=hello", "json": `"msg":"hello"`} {
		var b strings.Builder
		log, err := (&cli.LogFlags{Format: format}).Logger(&b, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("quiet")
		log.Info("hello")
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "quiet") {
			t.Errorf("%s: %s", format, b.String())
		}
	}
	if _, err := (&cli.LogFlags{Format: "xml"}).Logger(io.Discard, slog.LevelInfo); cli.Code(err) != cli.CodeUsage {
		t.Errorf("xml: %v", err)
	}
}

// excerpted is an error with the lines that it is about.
type excerpted struct{ error }

func (excerpted) Excerpt() string { return "  3 | x\n" }

// several is one that is wrong in another place, too.
type several struct{ excerpted }

func (several) Unwrap() []error { return []error{excerpted{errors.New("worse")}} }

// TestReport: an error ends a program with its text, its excerpt and its code;
// one that has been printed already, with the code alone.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, cli.CodeOK, ""},
		{cli.Usage("wrong"), cli.CodeUsage, "prog: wrong\n"},
		{&cli.Error{Code: cli.CodeNo}, cli.CodeNo, ""},
		{several{excerpted{errors.New("bad")}}, cli.CodeFailed, "prog: bad\n  3 | x\nprog: worse\n  3 | x\n"},
		{fmt.Errorf("read: %w", excerpted{errors.New("bad")}), cli.CodeFailed, "prog: read: bad\n  3 | x\n"},
	} {
		var b strings.Builder
		if got := cli.Report(&b, "prog", c.err); got != c.code || b.String() != c.text {
			t.Errorf("%v: code %d, %q", c.err, got, b.String())
		}
	}
}
