package conform

import (
	"errors"
	"strings"

	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// judge says what is wrong with what the resolvers did in a workspace.
func (c *checker) judge(p *place) {
	c.looked[p.rule], c.looked[ruleRows], c.looked[ruleReads], c.looked[ruleBudget] = true, true, true, true
	for _, name := range c.names() {
		o := p.outcomes[name]
		if o == nil { // it isn't run any more
			continue
		}
		f := Finding{Resolver: name, Workspaces: []string{p.name}}
		if o.Err != nil {
			c.failure(p, o.Err, f)
			c.mourn(name, o.Err)
		}
		c.rows(o, f)
		c.reads(p, o, f)
		c.budget(o, f)
		c.neighbors(p, o, f)
	}
}

// failure is what a failed run amounts to.
func (c *checker) failure(p *place, err error, f Finding) {
	f.Rule, f.Severity = p.rule, Fail
	if p.lenient && errors.Is(err, sandbox.ErrGuest) {
		f.Severity = Warn
	}
	f.Detail, f.Hint = "the run fails: "+strings.ReplaceAll(errText(err), p.root, "."), hintFor(err)
	if p.hint != "" && errors.Is(err, sandbox.ErrGuest) {
		f.Hint = p.hint
	}
	c.find(f)
}

// errText is an error without the names of module and resolver, which stand
// before it.
func errText(err error) string {
	var run *sandbox.RunError
	if !errors.As(err, &run) {
		return err.Error()
	}
	text := run.Kind.Error()
	for _, more := range []string{run.Detail, run.GuestText} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// hintFor says what to do about a failed run.
func hintFor(err error) string {
	switch {
	case errors.Is(err, sandbox.ErrDeadline):
		return "it doesn't end, or takes much too long: bound every loop and every recursion by what the request's limits leave a use for; it was not run any further"
	case errors.Is(err, sandbox.ErrLimit), errors.Is(err, vfs.ErrLimit):
		return "read only the heads of files, list only directories that you need, and stop at request.limits.max_resources; harness bench shows what a run uses"
	case errors.Is(err, sandbox.ErrAnswer) && strings.Contains(err.Error(), "are allowed"):
		return "stop at request.limits.max_resources and cut texts: the size of an answer is limited, whatever there is in the workspace"
	case errors.Is(err, sandbox.ErrAnswer):
		return "answer with the JSON of a Response (abi/ABI.md, \"JSON\"): make texts valid UTF-8 and cut them to the sizes given there"
	case errors.Is(err, sandbox.ErrCrashed):
		return "a panic or trap ends the whole run: check lengths before you index, bound recursion and what you allocate; --keep DIR keeps the workspaces for harness run"
	}
	return "an error fails the whole run, and the agent shows stale rows: put what is wrong with one file into that resource's status and error, or into warnings"
}
