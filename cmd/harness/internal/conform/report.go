package conform

import (
	"cmp"
	"slices"
)

// Severity is how bad a finding is.
type Severity string

// The severities. Only Fail makes a module fail its check.
const (
	Fail Severity = "fail"
	Warn Severity = "warn"
	Pass Severity = "pass"
	// Skip is a rule that wasn't looked at; Detail says why.
	Skip Severity = "skip"
)

// Finding is what one rule has to say.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Resolver is empty when it is about the module, or about all resolvers.
	Resolver string `json:"resolver,omitempty"`
	Detail   string `json:"detail"`
	// Workspaces are those it was seen in.
	Workspaces []string `json:"workspaces,omitempty"`
	// Hint tells what to do.
	Hint string `json:"hint,omitempty"`
}

// Report is the result of a check.
type Report struct {
	File      string    `json:"file"`
	Module    string    `json:"module"`
	Version   string    `json:"version"`
	Digest    string    `json:"digest"`
	Resolvers []string  `json:"resolvers"`
	Findings  []Finding `json:"findings"` // in order of rules, the worst first
	// Runs counts calls of resolve.
	Runs  int `json:"runs"`
	Fails int `json:"fails"`
	Warns int `json:"warns"`
	// Passes counts the rules that have nothing against the module.
	Passes int `json:"passes"`
	// Dir is where the workspaces are, when they were to be kept.
	Dir string `json:"dir,omitempty"`
}

// OK reports whether nothing fails.
func (r *Report) OK() bool { return r.Fails == 0 }

// rule is one thing that is checked, and what it means when nothing is found.
type rule struct{ name, passed string }

// The rules, in the order in which they are reported.
const (
	ruleModule      = "module"
	ruleDescribe    = "describe"
	ruleRequest     = "request"
	ruleEmpty       = "empty"
	ruleSample      = "sample"
	ruleRows        = "rows"
	ruleReads       = "reads"
	ruleDeterminism = "determinism"
	ruleIncremental = "incremental"
	ruleContents    = "contents"
	ruleFiles       = "files"
	ruleLinks       = "links"
	ruleParents     = "parents"
	ruleNames       = "names"
	ruleCrowd       = "crowd"
	ruleRoots       = "roots"
	ruleBudget      = "budget"
	ruleExtism      = "extism"
)

var rules = []rule{
	{ruleModule, "it is admitted, with the imports and exports of the ABI"},
	{ruleDescribe, "the description is complete, and promises no more than a host grants"},
	{ruleRequest, "it takes every request that a later host may make, and refuses what it can't answer"},
	{ruleEmpty, "an empty workspace gives no resources, warnings or errors"},
	{ruleSample, "the workspace made from its reads gives resources"},
	{ruleRows, "no resource was dropped by the host, and none was emitted twice"},
	{ruleReads, "it asks for nothing that it didn't declare"},
	{ruleDeterminism, "the same tree gives the same rows: again, on a fresh instance, elsewhere, created in another order"},
	{ruleIncremental, "after every edit the re-used results equal those of a clean run"},
	{ruleContents, "no content of a file makes a run fail, or costs other files' resources"},
	{ruleFiles, "pipes, sockets, directories, unreadable and huge files cost at most their own resource"},
	{ruleLinks, "broken, looping and escaping links cost at most their own resource"},
	{ruleParents, "it survives anything in the place of a directory"},
	{ruleNames, "it survives odd file names"},
	{ruleCrowd, "thousands of files and deep directories stay within the limits"},
	{ruleRoots, "roots that are one file, and roots with a role, are handled"},
	{ruleBudget, "there is head room to every limit"},
	{ruleExtism, "the Extism SDK as it is, without this host around it, gets the same answers"},
}

// find adds a finding; the same one in another workspace is counted there.
func (c *checker) find(f Finding) {
	workspaces := f.Workspaces
	at := slices.IndexFunc(c.found, func(o Finding) bool {
		return o.Rule == f.Rule && o.Resolver == f.Resolver && o.Severity == f.Severity && o.Detail == f.Detail
	})
	if at < 0 {
		f.Workspaces = nil
		c.found = append(c.found, f)
		at = len(c.found) - 1
	}
	for _, w := range workspaces {
		if !slices.Contains(c.found[at].Workspaces, w) {
			c.found[at].Workspaces = append(c.found[at].Workspaces, w)
		}
	}
}

// report sums up. A rule that was looked at and has nothing to say passes.
func (c *checker) report() *Report {
	r := &Report{
		File: c.opts.File, Digest: c.state.Digest, Module: c.state.Name, Version: c.state.Version,
		Resolvers: c.names(), Runs: c.runs, Dir: c.opts.Dir, Findings: []Finding{},
	}
	for _, rule := range rules {
		mine := []Finding{}
		for _, f := range c.found {
			if f.Rule == rule.name {
				mine = append(mine, f)
			}
		}
		if len(mine) == 0 && c.checked[rule.name] {
			mine = []Finding{{Rule: rule.name, Severity: Pass, Detail: rule.passed}}
		}
		if rule.name == ruleExtism && !c.checked[ruleExtism] {
			mine = []Finding{{Rule: rule.name, Severity: Skip, Detail: c.notCompared()}}
		}
		slices.SortStableFunc(mine, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(weight(a.Severity), weight(b.Severity)), cmp.Compare(a.Resolver, b.Resolver))
		})
		r.Findings = append(r.Findings, mine...)
	}
	for _, f := range r.Findings {
		switch f.Severity {
		case Fail:
			r.Fails++
		case Warn:
			r.Warns++
		case Pass:
			r.Passes++
		}
	}
	return r
}

func weight(s Severity) int { return slices.Index([]Severity{Fail, Warn, Pass, Skip}, s) }
