package resources

import (
	"fmt"
	"io"
	"strings"

	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

// HasDiscovery reports whether there is anything to tell of a discovery: something
// is asked for, or still to come.
func HasDiscovery(d snapshot.Discovery) bool { return d.Pending() || len(d.Sources) > 0 }

// PrintDiscovery prints what became of each source that is asked for, and what is
// still to come; nothing where there is nothing of that.
func PrintDiscovery(w io.Writer, d snapshot.Discovery) error {
	if !HasDiscovery(d) {
		return nil
	}
	if _, err := fmt.Fprintf(w, "discovery %s\n", d.Summary()); err != nil {
		return err
	}
	if len(d.Sources) == 0 {
		return nil
	}
	t := cli.NewTable(w, "SOURCE", "OUTCOME", "DETAIL")
	for i := range d.Sources {
		s := &d.Sources[i]
		t.Row(cli.Dash(cli.Visible(s.Name)), Outcome(s.Outcome), cli.Dash(cli.Visible(s.Error)))
	}
	return t.Flush()
}

// Outcome is an outcome in words.
func Outcome(o snapshot.Outcome) string {
	return cli.Dash(cli.Visible(strings.ReplaceAll(string(o), "_", " ")))
}
