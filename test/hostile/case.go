package hostile

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

// The classes, as in the checklist of what the sandbox must survive.
const (
	ClassTime      = "time"
	ClassCalls     = "calls"
	ClassMemory    = "memory"
	ClassStack     = "stack"
	ClassAnswers   = "answers"
	ClassCompiling = "compiling"
	ClassLoading   = "loading"
	ClassFiles     = "files"
	ClassState     = "state"
	ClassEndurance = "endurance"
)

// Outcomes of a case: what became of the hostile module.
const (
	Ready    = "ready"    // it ran; what it says is in the rows
	Rejected = "rejected" // refused when it was loaded
	Absent   = "absent"   // there is no such plugin
	Deadline = "deadline" // the rest are kinds of failed runs
	Crashed  = "crashed"
	Guest    = "guest"
	Answer   = "answer"
	Limit    = "limit"
	Canceled = "canceled"
	Hung     = "hung" // the child had to be killed
	Died     = "died" // the child died by itself
)

// Case is one attack.
type Case struct {
	// Name is unique, made of words, hyphens and slashes.
	Name  string
	Class string

	// Module builds the hostile module, which is put into the plugin directory
	// as hostile.wasm. Nil means that there is none.
	Module func() []byte
	// Plugins fills the plugin directory further.
	Plugins func(dir string) error
	// Workspace fills the root, a directory below the case's own: what is
	// beside the root is outside.
	Workspace func(root string) error
	// During runs while the engine loads and resolves, until its context ends.
	During func(ctx context.Context, dirs Dirs) error
	// Builtin runs the built-in resolvers on the workspace, too.
	Builtin bool
	// Memo lets the engine remember results, which it doesn't elsewhere.
	Memo bool
	// Drive replaces load and refresh, for cases that are a story.
	Drive func(ctx context.Context, b *Bench) error

	// Rounds is how often the engine refreshes; 0 means once. Roots is the
	// number of roots; 0 means one.
	Rounds, Roots int
	// NamedRoots are roots in the root, as a user names them: "path", or
	// "role path". Links of the root lead none of them out of it.
	NamedRoots []string
	// Procs is GOMAXPROCS for the case; 0 leaves it.
	Procs int
	// Nobody runs the case without root's power over files.
	Nobody bool
	// Limits and FileLimits replace the fields of what the runner gives.
	Limits     sandbox.Limits
	FileLimits vfs.Limits

	Want Want
	// Within is the time to the outcome; 0 means the deadline and 50 ms.
	Within time.Duration
	// Memory is by how many MiB the process may grow; 0 means 96: module and
	// blocks may have 16 each, twice with the spare, and what the engine needs.
	Memory int
}

// Dirs are the directories of a running case.
type Dirs struct {
	Base    string // everything is below it
	Root    string // the workspace
	Plugins string
}

// Want is what must come out. An empty list of outcomes means Ready.
type Want struct {
	// Outcomes lists what may become of the hostile module.
	Outcomes []string
	// Text is a regular expression that its error, if there is one, matches.
	Text string
	// Rows, unless nil, lists exactly the rows beside the victim's, as
	// "kind:path status error". A row that starts with "~" is a regular
	// expression.
	Rows []string
	// Warning is a regular expression that one of the warnings matches.
	Warning string
	// States, unless nil, lists "file state error…" for every plugin but the
	// victim, by prefix.
	States []string
}

func rejected(text string) Want { return Want{Outcomes: []string{Rejected}, Text: text} }

// ends says that the module fails in one of these ways.
func ends(outcomes ...string) Want { return Want{Outcomes: outcomes} }

func (w Want) saying(text string) Want { w.Text = text; return w }

func rows(list ...string) Want {
	if list == nil {
		list = []string{}
	}
	return Want{Rows: list}
}

func (w Want) warning(text string) Want { w.Warning = text; return w }

// outcomes fills in the default.
func (w Want) outcomes() []string {
	if w.Outcomes == nil {
		return []string{Ready}
	}
	return w.Outcomes
}

// check compares what came out with what is wanted and lists the differences.
func (w Want) check(r *Result) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !slices.Contains(w.outcomes(), r.Outcome) {
		add("outcome %s, want %s", r.Outcome, strings.Join(w.outcomes(), " or "))
	}
	if w.Text != "" && r.Error != "" && !regexp.MustCompile(w.Text).MatchString(r.Error) {
		add("the error doesn't say %q", w.Text)
	}
	if w.Rows != nil && !slices.EqualFunc(w.Rows, r.Rows, matches) {
		add("rows %q, want %q", r.Rows, w.Rows)
	}
	if w.Warning != "" && !slices.ContainsFunc(r.Warnings, regexp.MustCompile(w.Warning).MatchString) {
		add("no warning says %q: %q", w.Warning, r.Warnings)
	}
	if w.States != nil && !slices.EqualFunc(w.States, r.States, matches) {
		add("plugins %q, want %q", r.States, w.States)
	}
	return wrong
}

// matches compares a wanted line with one that came out: by prefix, or, after
// "~", as a regular expression.
func matches(want, got string) bool {
	if pattern, ok := strings.CutPrefix(want, "~"); ok {
		return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got)
	}
	return strings.HasPrefix(got, want)
}

// Cases returns the corpus. Names are unique.
func Cases() []Case {
	return slices.Concat(textCases(), callCases(), memoryCases(), stackCases(), compilingCases(), loadingCases(), fileCases(), rootCases(), unitCases(), patternCases(), nameCases(), enduranceCases())
}

// Timed reports whether a deadline is among the ends that the case may come to,
// so that it takes as long as its time is.
func (c *Case) Timed() bool {
	return slices.Contains(c.Want.outcomes(), Deadline) || strings.Contains(c.Want.Text, Deadline)
}

// options are the engine's for a case, with all its deadlines stretched.
func (c *Case) options(dirs Dirs, builtin []byte, cache string, stretch int) host.Options {
	opts := host.Options{
		PluginDirs: []string{dirs.Plugins},
		NoMemo:     !c.Memo,
		Limits:     c.limits(),
		FileLimits: c.FileLimits,
	}
	for _, dir := range dirs.roots(c.Roots) {
		opts.Roots = append(opts.Roots, host.RootSpec{Path: dir})
	}
	opts.Roots = append(opts.Roots, c.namedRoots(dirs)...)
	if c.Builtin {
		opts.Builtin, opts.CacheDir = func() ([]byte, error) { return builtin, nil }, cache
		opts.Limits.Time, opts.Limits.Memory = 2*time.Second, 0
	}
	stretched := func(d time.Duration) sandbox.Limits { return limits(d * time.Duration(max(stretch, 1))) }
	opts.Limits.Time = stretched(opts.Limits.Time).Time
	// The victim runs under the operator's defaults, as an innocent would.
	opts.Plugins = []plugin.Entry{{Name: victimName, Limits: stretched(5 * time.Second), Rank: 1}}
	return opts
}

const (
	// deadline is the time of one call where time is the point, short so that
	// a hundred kills don't take minutes; callTime is it elsewhere.
	deadline = 100 * time.Millisecond
	callTime = 500 * time.Millisecond
	// grace is how much later a kill may come.
	grace = 50 * time.Millisecond
	// caseMemory is what a module may use, and its blocks again.
	caseMemory = 16 << 20
)

func (c *Case) limits() sandbox.Limits {
	l := c.Limits
	if l.Time == 0 {
		l.Time = callTime
	}
	if l.Memory == 0 {
		l.Memory = caseMemory
	}
	return l
}

func (c *Case) within() time.Duration {
	if c.Within > 0 {
		return c.Within
	}
	return c.limits().Time + grace
}

func (c *Case) memory() int64 {
	if c.Memory > 0 {
		return int64(c.Memory) << 20
	}
	return 96 << 20
}

// limits is a deadline alone.
func limits(t time.Duration) sandbox.Limits { return sandbox.Limits{Time: t} }

// fewOpens is a limit that a thousand runs reach soon.
var fewOpens = vfs.Limits{Opens: 100}
