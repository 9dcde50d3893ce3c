package conform

import (
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/snapshot"
)

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
	}
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
func (c *checker) reads(p *place, o *resolve.Outcome, f Finding) {
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
func (c *checker) neighbors(p *place, o *resolve.Outcome, f Finding) {
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
