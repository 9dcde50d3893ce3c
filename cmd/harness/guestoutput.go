package main

import (
	"errors"
	"fmt"
	"strings"

	"waymark/cmd/internal/cli"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// guestOutput is the output of one run for the module's author.
type guestOutput struct {
	// Output is the guest's standard output and error. Of more than 64 KiB it has the first
	// and last half.
	Output string `json:"output"`
	// Stack lists the functions that were running when it failed, innermost first, with
	// names if the module has them.
	Stack []string `json:"stack"`
}

// resolverOutput is the output of one of several resolvers.
type resolverOutput struct {
	Resolver string `json:"resolver"` // "module/resolver"
	guestOutput
}

// outputsOf returns the output of the resolvers that wrote something or failed.
func outputsOf(outcomes []resolve.Outcome) []resolverOutput {
	list := []resolverOutput{}
	for i := range outcomes {
		if out := outputOf(&outcomes[i]); out.Output != "" || len(out.Stack) > 0 {
			list = append(list, resolverOutput{outcomes[i].Resolver, out})
		}
	}
	return list
}

func outputOf(o *resolve.Outcome) guestOutput {
	out := guestOutput{Output: o.Output, Stack: []string{}}
	var failed *sandbox.RunError
	if errors.As(o.Err, &failed) {
		out.Stack = append(out.Stack, failed.Stack...)
	}
	return out
}

// lines formats the parts that exist for a terminal, with each line indented. whose is the
// resolver's name, or empty if it is clear.
func (o *guestOutput) lines(indent, whose string) string {
	if whose != "" {
		whose = " of " + cli.Visible(whose)
	}
	var b strings.Builder
	part := func(title, body string) {
		if body = strings.TrimRight(body, "\n"); body != "" {
			b.WriteString(indent + title + whose + "\n" + indent + "  | " + cli.VisibleLines(body, indent+"  | ") + "\n")
		}
	}
	part("output", strings.Join(folded(strings.Split(firstTrace(o.Output), "\n")), "\n"))
	if !strings.Contains(o.Output, "\ngoroutine ") { // Go's own traceback says more, with files and lines
		part("stack", strings.Join(o.Stack, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// firstTrace leaves out the goroutines below the first in Go's traceback of a fatal error:
// they waited.
func firstTrace(output string) string {
	const other = "\n\ngoroutine "
	at := strings.LastIndex("\n"+output, "\nfatal error: ")
	if at < 0 {
		return output
	}
	before, rest, found := strings.Cut(output[at:], other)
	if !found {
		return output
	}
	first, _, more := strings.Cut(rest, other)
	if more {
		first += "\n\n… and other goroutines: --json has them"
	}
	return output[:at] + before + other + first
}

// folded joins equal lines that follow each other.
func folded(lines []string) (list []string) {
	for at := 0; at < len(lines); {
		n := 1
		for at+n < len(lines) && lines[at+n] == lines[at] {
			n++
		}
		line := lines[at]
		if n > 1 && line != "" {
			line += fmt.Sprintf(" (%d times)", n)
		}
		list = append(list, line)
		at += n
	}
	return list
}
