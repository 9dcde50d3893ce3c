package conform

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"waymark/abi"
	"waymark/cmd/harness/internal/extism"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

const (
	// maxCompared bounds the workspaces in which a resolver is run by another
	// host, too: they differ in what a resolver finds, and hosts in little.
	maxCompared = 24
	// extismFactor is how much longer a call may take there. Neither the SDK
	// nor its kernel is made for speed.
	extismFactor = 10
)

// comparison is one question that both hosts are asked.
type comparison struct {
	resolver string
	at       *workspace
	what     string // the request, when it is not the host's own
	text     string
	filter   *vfs.Filter
}

// extism has a module that passed everything else answer under the Extism SDK
// as it is, in a process with limits, and compares the answers with ours.
func (c *checker) extism(ctx context.Context) error {
	if c.opts.Extism == nil || c.fails() {
		return nil // the report says so
	}
	c.checked[ruleExtism] = true
	own := c.module.Limits()
	_, files := c.limits()
	job := extism.Job{Wasm: c.wasm, Limits: extism.Limits{Memory: own.Memory, Time: extismFactor * own.Time}}
	list := c.comparisons()
	for _, q := range list {
		job.Questions = append(job.Questions, extism.Question{
			Root: filepath.Join(q.at.root, q.at.file), View: q.at.outcomes[q.resolver].View, Limits: files, Input: []byte(q.text),
		})
	}
	answers, err := c.opts.Extism.Run(ctx, job)
	c.runs += max(len(answers)-1, 0)
	f := Finding{Rule: ruleExtism, Severity: Fail}
	var fault *extism.Fault
	if err != nil && !errors.As(err, &fault) {
		return err
	}
	if len(answers) > 0 {
		if d := c.describedThere(&answers[0]); d != "" {
			f.Detail, f.Hint = d, runsAnywhere
			c.find(f)
			return nil
		}
		if err := c.compareAll(ctx, list, answers[1:]); err != nil {
			return err
		}
	}
	if fault != nil {
		f.Detail, f.Hint = "under the stock Extism SDK it "+fault.Text, "a host that doesn't meter modules must be able to load and run it, too; harness bench shows what it costs here"
		if at := len(answers) - 1; at >= 0 && at < len(list) {
			f.Resolver, f.Workspaces = list[at].resolver, []string{list[at].at.name}
			f.Detail += list[at].asked()
		}
		c.find(f)
	}
	return nil
}

const runsAnywhere = "other hosts run modules by the same ABI: rely on nothing that abi/ABI.md doesn't say, above all of handles, of freed blocks and of what happens before describe"

// fails reports whether anything has failed.
func (c *checker) fails() bool {
	return slices.ContainsFunc(c.found, func(f Finding) bool { return f.Severity == Fail })
}

// notCompared says why the module wasn't run under the stock SDK.
func (c *checker) notCompared() string {
	if c.fails() {
		return "it isn't run under the stock Extism SDK before everything else passes"
	}
	return "it isn't run under the stock Extism SDK: there is no process to do that in"
}

// comparisons are what every resolver is asked: the host's own request in some
// workspaces of each sort, and all the others in the sample.
func (c *checker) comparisons() []comparison {
	var list []comparison
	for _, r := range c.resolvers() {
		var workspaces []*workspace
		var sample *workspace
		for _, p := range c.seen {
			if p.outcomes[r.Name] == nil || p.outcomes[r.Name].Filter == nil {
				continue
			}
			if workspaces = append(workspaces, p); p.name == "sample" {
				sample = p
			}
		}
		for i := range min(len(workspaces), maxCompared) {
			p := workspaces[i*len(workspaces)/min(len(workspaces), maxCompared)]
			list = append(list, comparison{r.Name, p, "", c.request(&r, p).json(), p.outcomes[r.Name].Filter})
		}
		if sample == nil {
			continue
		}
		for _, probe := range slices.Concat(soundRequests(), unsoundRequests(), configRequests(r.ReadsFromConfig)) {
			list = append(list, comparison{r.Name, sample, probe.name, probe.text(c.request(&r, sample)), sample.outcomes[r.Name].Filter})
		}
	}
	return list
}

// request is the host's own request in a workspace.
func (c *checker) request(r *abi.Resolver, p *workspace) request {
	return request{
		resolver: r.Name, config: orEmpty(c.entry().Config[r.Name]), root: filepath.Base(p.root), file: p.file, role: p.role,
	}
}

// compareAll asks here what was asked there. Of each resolver the first
// difference is reported: the others tend to be the same.
func (c *checker) compareAll(ctx context.Context, list []comparison, answers []extism.Answer) error {
	var differs []string
	for i := range answers {
		q := &list[i]
		if slices.Contains(differs, q.resolver) {
			continue
		}
		ours, failed, err := c.here(ctx, q)
		if err != nil {
			return err
		}
		if d := c.differs(q, ours, failed, &answers[i]); d != "" {
			differs = append(differs, q.resolver)
			c.find(Finding{
				Rule: ruleExtism, Severity: Fail, Resolver: q.resolver, Hint: runsAnywhere, Workspaces: []string{q.at.name},
				Detail: d + q.asked(),
			})
		}
	}
	return nil
}

func (q *comparison) asked() string {
	if q.what == "" {
		return ""
	}
	return ", at a request " + q.what
}

// here asks the module in this host. The first error is the module's.
func (c *checker) here(ctx context.Context, q *comparison) (answer string, failed, err error) {
	root, err := vfs.OpenRoot(filepath.Join(q.at.root, q.at.file), vfs.RootOptions{})
	if err != nil {
		return "", nil, err
	}
	ask := asker{c: c, ctx: ctx, root: root, filter: q.filter, resolver: abi.Resolver{Name: q.resolver}}
	answer, failed = ask.ask(q.text)
	return answer, failed, errors.Join(ctx.Err(), root.Close())
}

// differs tells two answers apart, in a few words. Two failures are the same
// when the module gives the same reason, or when it gives none.
func (c *checker) differs(q *comparison, ours string, failed error, theirs *extism.Answer) string {
	reason := cmp.Or(theirs.Crash, "resolver error: "+string(theirs.Error))
	if withheld(c, q.resolver) {
		reason = "its own words are withheld, because it reads files that hold tokens"
	}
	reason = strings.ReplaceAll(reason, q.at.root, ".")
	switch {
	case failed == nil && theirs.Failed:
		return "under the stock Extism SDK a run fails that doesn't fail here: " + reason
	case failed != nil && !theirs.Failed:
		return "a run fails here that doesn't fail under the stock Extism SDK: " + errText(failed)
	case failed != nil:
		var run *sandbox.RunError
		guest := errors.As(failed, &run) && errors.Is(run, sandbox.ErrGuest)
		if withheld(c, q.resolver) || guest == (theirs.Crash == "") && (!guest || sameText(run.GuestText, string(theirs.Error))) {
			return ""
		}
		return "under the stock Extism SDK a run fails otherwise: " + reason + "; and here: " + errText(failed)
	}
	text, err := answerThere(theirs.Output, withheld(c, q.resolver))
	switch {
	case err != nil:
		return "under the stock Extism SDK its answer isn't one: " + err.Error()
	case text != ours:
		return "under the stock Extism SDK it answers differently: " + firstDifference(text, ours)
	}
	return ""
}

// answerThere spells an answer as asker.ask does. A host leaves out the warnings
// of resolvers that read files with tokens.
func answerThere(output []byte, withheld bool) (string, error) {
	var r abi.Response
	if err := json.Unmarshal(output, &r); err != nil {
		return "", err
	}
	if withheld {
		r.Warnings = nil
	}
	return spell(&r)
}

// describedThere compares what the module says of itself.
func (c *checker) describedThere(a *extism.Answer) string {
	if a.Failed {
		return "under the stock Extism SDK describe fails: " + a.Crash + string(a.Error)
	}
	var d abi.Description
	if err := json.Unmarshal(a.Output, &d); err != nil {
		return "under the stock Extism SDK describe answers something that is not a Description: " + err.Error()
	}
	theirs, err := spell(&d)
	ours, err2 := spell(c.desc)
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	if theirs != ours {
		return "under the stock Extism SDK it describes itself differently: " + firstDifference(theirs, ours)
	}
	return ""
}

// sameText compares an error text as the host shows it, on one line and cut,
// with the text itself.
func sameText(shown, whole string) bool {
	words := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
	}
	shown, whole = words(shown), words(whole)
	if head, cut := strings.CutSuffix(shown, "…"); cut && strings.HasPrefix(whole, head) {
		return true
	}
	return shown == whole
}
