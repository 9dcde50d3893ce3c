package conform_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/cmd/harness/internal/conform"
)

// misdeed is a resolver of testdata/bad: the rule that it breaks, and what the
// report says. Any rule may be the first to find one without a rule.
type misdeed struct{ resolver, rule, detail string }

// misdeeds are checked together where they read the same, since making the
// workspaces takes most of the time.
var misdeeds = [][]misdeed{
	{{"always-there", "rows", "there is no such file"}},
	{{"explodes-in-depth", "crowd", "the run fails: limit exceeded"}},
	{{"hoards-memory", "crowd", "the run fails: crashed: it needs more memory than the 64 MiB that a run may have: fatal error: out of memory"}},
	{{"nests-recursively", "contents", "the run fails: crashed"}},
	{
		{"undeclared-kind", "rows", `its kind is not declared: "hook"`},
		{"content-outside-reads", "rows", "it names a file that the resolver may not read"},
		{"bad-path", "rows", "its path is not a clean path relative to the root"},
		{"long-name", "rows", "its name is longer than 256 bytes"},
		{"twice", "rows", "several resources of the same kind, path and key"},
		{"asks-for-more", "reads", "it asks for package.json, which its reads don't cover"},
		{"demands-something", "empty", "there are no rules here"},
		{"crashes-on-empty", "contents", "slice bounds out of range [:1] with length 0"},
		{"gives-up", "files", "the run fails: resolver error: open rules/alpha.md: I/O error"},
		{"reads-everything", "files", "the run fails: crashed"},
		{"shows-links", "determinism", "for the same links at another place: rules/alpha.md tells where the root lies"},
		{"floods-answer", "crowd", "are allowed"},
		{"floods-logs", "budget", "it logs more than is kept"},
		{"counts-in-units", "incremental", "aren't those of a clean run"},
	},
}

// TestBad: each of them fails, for its own reason, and the report says what to
// do.
func TestBad(t *testing.T) {
	t.Parallel()
	file := guest(t, "./testdata/bad")
	for _, group := range misdeeds {
		t.Run(group[0].resolver, func(t *testing.T) {
			t.Parallel()
			only := []string{"unknown-modes", "no-content"}
			if len(group) == 1 {
				only = nil
			}
			for _, bad := range group {
				only = append(only, bad.resolver)
			}
			r := check(t, file, options(only...))
			for _, bad := range group {
				bad.found(t, r)
			}
			if len(group) > 1 {
				onlyItsOwn(t, r)
				warned(t, r)
			}
		})
	}
}

// TestEndless: what doesn't end is ended, and run no more.
func TestEndless(t *testing.T) {
	t.Parallel()
	opts, ended := options("never-ends"), misdeed{"never-ends", "", "deadline exceeded"}
	r := checkWithin(t, 200*time.Millisecond, ended, conform.Options{File: guest(t, "./testdata/bad"), Host: opts, Extism: child})
	ended.found(t, r)
}

// checkWithin gives each call a short time, and a longer one when the machine stood
// still: not only the resolver that doesn't end has exceeded it, or not even describing
// the module has ended.
func checkWithin(t *testing.T, limit time.Duration, endless misdeed, opts conform.Options) *conform.Report {
	t.Helper()
	const late = "deadline exceeded"
	for opts.Host.Limits.Time = limit; ; opts.Host.Limits.Time *= 4 {
		r, err := conform.Check(t.Context(), opts)
		again := opts.Host.Limits.Time <= time.Minute
		switch {
		case err != nil && (!again || !strings.Contains(err.Error(), late)):
			t.Fatal(err)
		case err == nil && (!again || !slices.ContainsFunc(r.Findings, func(f conform.Finding) bool {
			return f.Resolver != endless.resolver && (strings.Contains(f.Detail, late) || strings.Contains(f.Detail, endless.detail))
		})):
			return r
		}
	}
}

func (bad misdeed) found(t *testing.T, r *conform.Report) {
	t.Helper()
	at := slices.IndexFunc(r.Findings, func(f conform.Finding) bool {
		return f.Severity == conform.Fail && (f.Rule == bad.rule || bad.rule == "") && f.Resolver == bad.resolver && strings.Contains(f.Detail, bad.detail)
	})
	if at < 0 {
		t.Errorf("%s: nothing says that %s: %s; but:\n%s", bad.resolver, bad.rule, bad.detail, lines(r))
		return
	}
	if f := r.Findings[at]; f.Hint == "" || r.OK() || r.Fails == 0 {
		t.Errorf("no hint, or it passes: %+v", f)
	}
}

// onlyItsOwn: a resolver with one fault fails by nothing else.
func onlyItsOwn(t *testing.T, r *conform.Report) {
	t.Helper()
	own := map[string][]string{"gives-up": {"files", "links"}, "twice": {"rows"}, "shows-links": {"determinism"}, "long-name": {"rows"}}
	for _, f := range r.Findings {
		if rules := own[f.Resolver]; rules != nil && f.Severity == conform.Fail && !slices.Contains(rules, f.Rule) {
			t.Errorf("%s fails by the rule %s, too: %s %v", f.Resolver, f.Rule, f.Detail, f.Workspaces)
		}
	}
}

// warned: attributes that don't say when a resource applies are warned of, each once, and so
// is a resource without content.
func warned(t *testing.T, r *conform.Report) {
	t.Helper()
	var got []string
	for _, f := range r.Findings {
		if f.Resolver == "unknown-modes" && f.Rule == "rows" {
			got = append(got, string(f.Severity)+" "+f.Detail)
			if !strings.Contains(f.Hint, "use always") {
				t.Errorf("the hint is %q", f.Hint)
			}
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f conform.Finding) bool {
		return f.Resolver == "no-content" && f.Rule == "rows" && f.Severity == conform.Warn && strings.Contains(f.Hint, "guest.File(path)")
	}) {
		t.Error("nothing says that no-content emits resources without content")
	}
	slices.Sort(got)
	want := []string{
		"warn the attribute mode is a list, and should be a text",
		"warn the attribute mode is glob, and there is no list of globs",
		`warn the attribute mode is unknown: "alway"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestAgain: a second check says the same.
func TestAgain(t *testing.T) {
	t.Parallel()
	file := write(t, fixed(description, nothing))
	r, again := check(t, file, options()), check(t, file, options())
	if r.OK() || lines(again) != lines(r) || again.Runs != r.Runs {
		t.Errorf("a second check says something else:\n%s\n%s", lines(r), lines(again))
	}
}
