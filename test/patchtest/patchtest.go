// Package patchtest applies unified diffs in tests: with the program patch, or with its own
// strict parser where a process per diff would take too long. Both refuse a hunk that isn't
// exactly where its head says.
package patchtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"waymark/test/testenv"
)

// Case is a text with what has become of it, and the diff of both, whose names are
// [Name] of its number.
type Case struct{ Before, After, Diff string }

// Name is the path that stands in the diff of the n-th case.
func Name(n int) string { return fmt.Sprintf("f%05d", n) }

// Patch makes After of Before in all cases, then Before of After, by a process
// each. It skips the test where there is no patch.
func Patch(t *testing.T, cases []Case) {
	t.Helper()
	testenv.NeedsPrograms(t, "patch")
	dir := t.TempDir()
	var all strings.Builder
	for i, c := range cases {
		all.WriteString(c.Diff)
		if err := os.WriteFile(filepath.Join(dir, Name(i)), []byte(c.Before), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "patch", append(args, "--batch", "--binary", "-p0", "-d", dir)...)
		cmd.Stdin = strings.NewReader(all.String())
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("fuzz")) || bytes.Contains(out, []byte("offset")) {
			t.Fatalf("patch %v: %v\n%s", args, err, about(out))
		}
	}
	compare := func(what string, want func(Case) string) {
		t.Helper()
		for i, c := range cases {
			got, err := os.ReadFile(filepath.Join(dir, Name(i)))
			if err != nil && !errors.Is(err, os.ErrNotExist) { // patch removes what becomes empty
				t.Fatal(err)
			}
			if string(got) != want(c) {
				t.Fatalf("%s\n%s\nmakes of\n%q\nand\n%q\nthis:\n%q", what, c.Diff, c.Before, c.After, got)
			}
		}
	}
	run()
	compare("applied,", func(c Case) string { return c.After })
	run("--reverse")
	compare("taken back,", func(c Case) string { return c.Before })
}

// about are the lines of patch that tell more than a file's name.
func about(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "patching file ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Apply applies a diff to the text that it was made of, and takes nothing that isn't
// exactly as it should be: line numbers on both sides, counts, context.
func Apply(diff, before string) (string, error) {
	return apply(diff, before, false)
}

// Reverse takes a diff back.
func Reverse(diff, after string) (string, error) {
	return apply(diff, after, true)
}

func apply(diff, text string, reverse bool) (string, error) {
	if diff == "" {
		return text, nil
	}
	rest := split(diff)
	if len(rest) < 3 || !strings.HasPrefix(rest[0], "--- ") || !strings.HasPrefix(rest[1], "+++ ") {
		return "", errors.New("no head with two names")
	}
	rest = rest[2:]
	from := split(text)
	var result []string
	done := 0
	for len(rest) > 0 {
		h, err := readHunk(rest)
		if err != nil {
			return "", err
		}
		rest = rest[h.lines:]
		if reverse {
			h.old, h.now, h.oldStart, h.newStart = h.now, h.old, h.newStart, h.oldStart
		}
		start := place(h.oldStart, h.old)
		if start < done || start+len(h.old) > len(from) {
			return "", fmt.Errorf("a hunk is out of place at line %d", h.oldStart)
		}
		result = append(result, from[done:start]...)
		if at := place(h.newStart, h.now); at != len(result) {
			return "", fmt.Errorf("a hunk says that it stands at line %d of the result, which is %d", at+1, len(result)+1)
		}
		for i, line := range h.old {
			if from[start+i] != line {
				return "", fmt.Errorf("line %d is %q, and %q in the diff", start+i+1, from[start+i], line)
			}
		}
		result = append(result, h.now...)
		done = start + len(h.old)
	}
	return strings.Join(append(result, from[done:]...), ""), nil
}

// place is the line before which a hunk begins, from 0. One without lines names the
// line behind which it stands.
func place(start int, lines []string) int {
	if len(lines) == 0 {
		return start
	}
	return start - 1
}

// hunk has the lines of both sides as they are in the texts.
type hunk struct {
	oldStart, newStart int
	old, now           []string
	lines              int // of the diff
}

func readHunk(rest []string) (h hunk, err error) {
	var oldCount, newCount int
	fields := strings.Fields(rest[0])
	if len(fields) != 4 || fields[0] != "@@" || fields[3] != "@@" {
		return h, fmt.Errorf("%q is no head of a hunk", rest[0])
	}
	h.oldStart, oldCount, err = side(fields[1], "-")
	if err == nil {
		h.newStart, newCount, err = side(fields[2], "+")
	}
	if err != nil {
		return h, err
	}
	for h.lines = 1; h.lines < len(rest); h.lines++ {
		line := rest[h.lines]
		end := len(h.old) == oldCount && len(h.now) == newCount
		if end && line[0] != '\\' {
			break
		}
		switch mark, text := line[0], line[1:]; mark {
		case ' ':
			h.old, h.now = append(h.old, text), append(h.now, text)
		case '-':
			h.old = append(h.old, text)
		case '+':
			h.now = append(h.now, text)
		case '\\':
			if line != "\\ No newline at end of file\n" {
				return h, fmt.Errorf("%q", line)
			}
			switch rest[h.lines-1][0] {
			case '-':
				cut(h.old)
			case '+':
				cut(h.now)
			case ' ':
				cut(h.old)
				cut(h.now)
			}
		default:
			return h, fmt.Errorf("%q in a hunk", line)
		}
	}
	if len(h.old) != oldCount || len(h.now) != newCount {
		return h, fmt.Errorf("%q, and it has %d and %d lines", rest[0], len(h.old), len(h.now))
	}
	return h, nil
}

// cut takes the newline off the last line.
func cut(lines []string) { lines[len(lines)-1] = strings.TrimSuffix(lines[len(lines)-1], "\n") }

// side reads -12,3 or -12, which is one line.
func side(field, mark string) (start, count int, err error) {
	digits, ok := strings.CutPrefix(field, mark)
	if !ok {
		return 0, 0, fmt.Errorf("%q has no %s", field, mark)
	}
	first, second, both := strings.Cut(digits, ",")
	count = 1
	if both {
		if count, err = strconv.Atoi(second); err != nil {
			return 0, 0, err
		}
	}
	start, err = strconv.Atoi(first)
	return start, count, err
}

func split(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}
