package authors

import (
	"fmt"
	"regexp"
	"strings"
)

// Step is one thing to do with a page.
type Step struct {
	Line int // of the page
	// File is the file to write, with Text; empty for commands.
	File string
	Text string
	// Background commands run on until the page ends; Eventually ones are
	// repeated until they print what they should.
	Background, Eventually bool
	// Want is what is printed, a line each; nil means that it doesn't matter.
	Want []string
}

var (
	fence  = regexp.MustCompile("^```([a-z]*)$")
	remark = regexp.MustCompile(`^<!-- (file: (\S+)|background|eventually) -->$`)
)

// Parse reads the steps of a page. A block of sh is run; a block of any language
// behind <!-- file: PATH --> is written; a block of text behind one of sh is
// what that prints. <!-- background --> and <!-- eventually --> stand before
// blocks of sh. Other blocks mean nothing.
//
// # Errors
//
// For a remark without a block that it could be about, and for a block that
// isn't closed.
func Parse(page string) (steps []Step, err error) {
	lines := strings.Split(page, "\n")
	var next Step // what a remark said
	var marked bool
	for i := 0; i < len(lines); i++ {
		if m := remark.FindStringSubmatch(lines[i]); m != nil {
			next, marked = Step{File: m[2], Background: m[1] == "background", Eventually: m[1] == "eventually"}, true
			continue
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if marked && strings.TrimSpace(lines[i]) != "" {
				return nil, fmt.Errorf("line %d: no block follows the remark above", i+1)
			}
			continue
		}
		start := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			continue
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block isn't closed", start)
		}
		body := lines[start:i]
		next.Line, next.Text = start, strings.Join(body, "\n")+"\n"
		switch {
		case next.File != "", m[1] == "sh":
			steps = append(steps, next)
		case marked:
			return nil, fmt.Errorf("line %d: the remark above is for a block of sh", start)
		case m[1] == "text" && len(steps) > 0 && steps[len(steps)-1].File == "":
			steps[len(steps)-1].Want = body
		}
		next, marked = Step{}, false
	}
	return steps, nil
}

// progress is what the programs say, with or without the time, when loading a module
// takes longer than a moment. A page doesn't show it: whether it comes depends on how
// fast the machine is.
var progress = regexp.MustCompile(`^(?:\d\d:\d\d:\d\d )?(?:compiling .* …|loading the built-in resolvers, .* …)$`)

// Matches reports whether an output is what a page says. In its lines "…" stands
// for anything and blanks for any number of blanks; a line that is just "…"
// stands for any lines. Empty lines don't count, and neither do lines of the output
// that only say what takes long.
func Matches(want []string, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for _, line := range want {
		line = plain(line)
		switch line {
		case "":
			continue
		case "…":
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		for i, part := range strings.Split(line, "…") {
			if i > 0 {
				pattern.WriteString(`.*`)
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		pattern.WriteString("\n")
	}
	pattern.WriteString(`$`)
	var lines strings.Builder
	for line := range strings.SplitSeq(output, "\n") {
		if line = plain(line); line != "" && !progress.MatchString(line) {
			lines.WriteString(line + "\n")
		}
	}
	return regexp.MustCompile(pattern.String()).MatchString(lines.String())
}

// plain makes one blank of many, and none at the ends.
func plain(line string) string { return strings.Join(strings.Fields(line), " ") }
