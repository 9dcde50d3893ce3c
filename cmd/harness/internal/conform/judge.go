package conform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// judge says what is wrong with what the resolvers did in a workspace.
func (c *checker) judge(p *workspace) {
	c.checked[p.rule], c.checked[ruleRows], c.checked[ruleReads], c.checked[ruleBudget] = true, true, true, true
	for _, name := range c.names() {
		o := p.outcomes[name]
		if o == nil { // it isn't run any more
			continue
		}
		f := Finding{Resolver: name, Workspaces: []string{p.name}}
		if o.Err != nil {
			c.failure(p, o.Err, f)
			c.stopRunning(name, o.Err)
		}
		c.rows(o, f)
		c.reads(p, o, f)
		c.budget(o, f)
		c.neighbors(p, o, f)
	}
}

// failure is what a failed run amounts to.
func (c *checker) failure(p *workspace, err error, f Finding) {
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

// rows finds resources that the host dropped, or that are there twice.
func (c *checker) rows(o *resolve.Outcome, f Finding) {
	f.Rule, f.Severity = ruleRows, Fail
	for _, w := range o.Warnings {
		switch reason, dropped := droppedRow(w); {
		case dropped:
			f.Detail, f.Hint = "the host drops a resource: "+reason, "see abi/ABI.md, \"resolve\" and \"Sizes\": declare kinds and reads, cut texts, and leave out what the request's root doesn't have"
			c.find(f)
		case strings.Contains(w, "resources in one answer; the first"):
			f.Severity, f.Detail = Warn, "it doesn't heed request.limits.max_resources: over 1,000 resources in one answer"
			f.Hint = "stop at request.limits.max_resources: the host keeps no more, and the answer's size is limited"
			c.find(f)
			f.Severity = Fail
		}
	}
	seen := map[string]bool{}
	for i := range o.Candidates {
		r := &o.Candidates[i]
		c.mode(r, f)
		id := fmt.Sprintf("%s %q %q", r.Kind, r.Path, r.Key)
		if seen[id] {
			f.Detail, f.Hint = "it emits several resources of the same kind, path and key", "give them different keys, or emit one: the first valid one stands and the others are lost"
			c.find(f)
		}
		seen[id] = true
		if r.Status == snapshot.StatusInvalid && r.Error == noReason {
			f.Severity, f.Detail, f.Hint = Warn, "it calls a resource invalid and doesn't say why", "set error to what is wrong and how to mend it: people see it"
			c.find(f)
			f.Severity = Fail
		}
		if Unread(&r.Resource) {
			f.Severity, f.Detail, f.Hint = Warn, "it emits a resource without content", "set its content to the file, in Go guest.File(path): without it nobody can read it"
			c.find(f)
			f.Severity = Fail
		}
	}
}

// Unread reports whether a resource that is read as a text has none, though nothing is wrong
// with it.
func Unread(r *snapshot.Resource) bool {
	text := []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand}
	return r.Status == snapshot.StatusOK && len(r.ContentHash) == 0 && slices.Contains(text, r.Kind)
}

// modes are the values of the attribute mode that hosts and their readers know;
// "" is where it is missing.
var modes = []string{"", "always", "glob", "model", "manual"}

// mode finds attributes that don't say when a resource applies, though they were
// meant to.
func (c *checker) mode(r *snapshot.Candidate, f Finding) {
	mode, globs := r.Attributes["mode"], r.Attributes["globs"]
	f.Severity, f.Hint = Warn, "use always (or leave it out), glob with globs, model, or manual: with any other mode it doesn't always apply, and nobody knows when it does"
	switch {
	case mode.List != nil:
		f.Detail = "the attribute mode is a list, and should be a text"
	case !slices.Contains(modes, mode.Text):
		f.Detail = fmt.Sprintf("the attribute mode is unknown: %q", text.Cut(text.Printable(mode.Text), 100))
	case mode.Text == "glob" && len(globs.List) == 0:
		f.Detail = "the attribute mode is glob, and there is no list of globs"
	default:
		return
	}
	c.find(f)
}

// noReason is what the host writes where a resolver gives none.
const noReason = "the resolver gives no reason"

// droppedRow takes the reason out of the host's warning that it dropped a row.
// The path stands first, in quotes: it differs from row to row.
func droppedRow(warning string) (reason string, ok bool) {
	rest, ok := strings.CutPrefix(warning, "dropped ")
	if !ok {
		return "", false
	}
	if at := strings.Index(rest, ": it"); at >= 0 {
		return rest[at+2:], true
	}
	if at := strings.LastIndex(rest, ": "); at >= 0 {
		return rest[at+2:], true
	}
	return rest, true
}

// reads finds what a resolver asked for and hadn't declared.
func (c *checker) reads(p *workspace, o *resolve.Outcome, f Finding) {
	if !p.plain || p.file != "" {
		return
	}
	f.Rule, f.Severity = ruleReads, Fail
	var paths []string
	for _, d := range o.Denied {
		if d.Reason == vfs.ReasonNotInReads && d.Target == "" && !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	if len(paths) == 0 {
		return
	}
	more := ""
	if len(paths) > 3 {
		paths, more = paths[:3], " and more"
	}
	f.Detail = "it asks for " + strings.Join(paths, ", ") + more + ", which its reads don't cover"
	f.Hint = "add it to reads, or don't look there: what isn't declared doesn't exist for it, whatever is on the disk"
	c.find(f)
}

// neighbors finds resources that suffer from what is wrong with other files.
func (c *checker) neighbors(p *workspace, o *resolve.Outcome, f Finding) {
	before := c.base[f.Resolver]
	if p.victims == nil || o.Err != nil || before == nil {
		return
	}
	have := map[string]bool{}
	for _, row := range rowsOf(o) {
		have[row.text] = true
	}
	for _, row := range rowsOf(before) {
		touched := slices.ContainsFunc(p.victims, func(v string) bool {
			return v == row.path || below(v, row.path) || below(row.path, v)
		})
		if !touched && !have[row.text] {
			f.Rule, f.Severity = p.rule, Warn
			f.Detail = "what is wrong with one file changes the resources of others, for example of " + row.path
			f.Hint = "go on with the next file when one can't be used"
			c.find(f)
			return
		}
	}
}

// foreign reports whether a role is for other resolvers than one with these
// kinds.
func foreign(role abi.Role, kinds []abi.Kind) bool {
	of := map[abi.Role]abi.Kind{
		abi.RoleInstructions: abi.KindInstructionFile, abi.RoleSkills: abi.KindSkill, abi.RoleMCP: abi.KindMCPConfig,
	}
	kind, ok := of[role]
	return ok && !slices.Contains(kinds, kind)
}

// headRoom is the part of a limit, in percent, above which a workspace that is
// somewhat larger than ours would make the run fail.
const headRoom = 75

// budget compares what a run used with its limits.
func (c *checker) budget(o *resolve.Outcome, f Finding) {
	f.Rule = ruleBudget
	if o.LogsDropped > 0 && !withheld(c, f.Resolver) {
		f.Severity, f.Detail = Fail, "it logs more than is kept"
		f.Hint = "log what helps to understand one run, not every step; at debug level if at all"
		c.find(f)
	}
	if o.Err != nil {
		return // going over a limit is a failure already
	}
	limits := c.module.Limits()
	_, files := c.limits()
	files = files.WithDefaults()
	for _, used := range []struct {
		what        string
		used, limit int64
		hint        string
	}{
		{"memory", o.Memory, limits.Memory, "allocate less: read the heads of files, and don't keep what you have looked at"},
		{"time", int64(o.Duration), int64(limits.Time), "do less for each file; harness bench shows fuel, which doesn't depend on the machine"},
		{"opens", int64(o.Used.Opens), int64(files.Opens), "open only what you need; stop at request.limits.max_resources"},
		{"read_bytes", o.Used.ReadBytes, files.ReadBytes, "read only the heads of files"},
		{"entries", int64(o.Used.Entries), int64(files.Entries), "list only directories in which something can be"},
	} {
		if used.limit > 0 && used.used > used.limit/100*headRoom {
			f.Severity, f.Hint = Warn, used.hint
			f.Detail = fmt.Sprintf("it uses more than %d%% of the limit %s", headRoom, used.what)
			c.find(f)
		}
	}
}

// withheld reports whether the host drops a resolver's log lines whatever they
// are, because it reads files with tokens.
func withheld(c *checker, name string) bool {
	for _, r := range c.desc.Resolvers {
		if r.Name == name {
			return vfs.SeesSettings(r.Kinds)
		}
	}
	return true
}
