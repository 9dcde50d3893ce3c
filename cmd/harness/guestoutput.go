package main

import (
	"errors"
	"strings"

	"waymark/cmd/internal/term"
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
		whose = " of " + term.Visible(whose)
	}
	var b strings.Builder
	part := func(title, body string) {
		if body = strings.TrimRight(body, "\n"); body != "" {
			b.WriteString(indent + title + whose + "\n" + indent + "  | " + term.VisibleLines(body, indent+"  | ") + "\n")
		}
	}
	part("output", o.Output)
	if !strings.Contains(o.Output, "\ngoroutine ") { // Go's own traceback says more, with files and lines
		part("stack", strings.Join(o.Stack, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
