package main

import (
	"errors"
	"strings"

	"waymark/cmd/internal/term"
	"waymark/host/resolve"
	"waymark/host/sandbox"
)

// guestOutput is what one run left for its author to read.
type guestOutput struct {
	// Output is what the guest wrote to its standard output and error; of more
	// than 64 KiB the first and the last half.
	Output string `json:"output"`
	// Stack lists the functions that were running when it failed, the innermost
	// first, as far as the module names them.
	Stack []string `json:"stack"`
}

// resolverOutput is that of one of several resolvers.
type resolverOutput struct {
	Resolver string `json:"resolver"` // "module/resolver"
	guestOutput
}

// outputsOf are those of the resolvers that said something or failed.
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

// lines are the parts that there are as text for a terminal, each line behind an
// indent. whose is the resolver's name, or empty where that is known.
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
	if !strings.Contains(o.Output, "\ngoroutine ") { // Go has said more, with files and lines
		part("stack", strings.Join(o.Stack, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
