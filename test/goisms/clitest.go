// This file holds what the tests of every program ask of its command line:
// Help looks at the help of all commands.

package goisms

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// width is that of a terminal as it opens.
const width = 80

// goTypes are the placeholders that pflag makes of the type of a flag. They say
// nothing to who reads help: a word in backquotes in the flag's text says what
// it takes.
var goTypes = []string{
	"string", "strings", "stringArray", "int", "ints", "int32", "int64", "uint", "uint32", "uint64", "float", "float32", "float64",
	"bytesHex", "bytesBase64", "duration", "count", "value", "stringToString",
}

// Help checks the help of a program's commands: it fits 80 columns, no flag's
// placeholder is the name of a type of Go, and every command says what it is
// for.
func Help(t *testing.T, root *cobra.Command) {
	t.Helper()
	var text bytes.Buffer
	root.SetOut(&text)
	walk(root, func(cmd *cobra.Command) {
		text.Reset()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%s --help has a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if cmd.Short == "" {
			t.Errorf("%s says nothing about itself", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, usage := pflag.UnquoteUsage(f); slices.Contains(goTypes, name) {
				t.Errorf("%s --%s takes a %q: put what it takes into backquotes in %q", cmd.CommandPath(), f.Name, name, usage)
			}
		})
	})
}

// walk calls f for a command and all below it that are shown.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			walk(sub, f)
		}
	}
}
