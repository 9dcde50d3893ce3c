package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/testenv"
)

// These tests look at what was counted, so that none depends on how fast a machine
// is: what a hostile request makes the agent do must be bounded.

// once skips what nothing runs beside: the race detector would only make it slow.
func once(t *testing.T) {
	t.Helper()
	if testenv.Race {
		t.Skip("there are no goroutines here")
	}
}

const large = 1 << 17 // of bytes: what is quadratic shows with an eighth of a megabyte, too

// TestWork makes edits that would be quadratic if they were done naively, and
// allows so much work for each byte of what came in and goes out.
func TestWork(t *testing.T) {
	once(t)
	unique := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name            string
		content         string
		search, replace string
		all             bool
		want            error
	}{
		{"lines that are all the same", strings.Repeat("a\n", large/2), strings.Repeat(" a\n", 9_000) + "b\n", "x\n", false, ErrNotFound},
		{"nearly periodic lines", strings.Repeat(strings.Repeat("a\n", 100)+"b\n", large/202), strings.Repeat(" a\n", 101) + "b\n", "x\n", false, ErrNotFound},
		{"newlines", strings.Repeat("\n", large), strings.Repeat("\n", 9_000) + "a", "x\n", false, ErrNotFound},
		{"carriage returns", strings.Repeat("\r", large), strings.Repeat("\r", 1000) + "a", "x\n", false, ErrNotFound},
		{"blanks", strings.Repeat(" ", large), strings.Repeat("\t", 1000) + "a", "x\n", false, ErrNotFound},
		{"one line", strings.Repeat("ab", large/2), strings.Repeat("ab", large/4) + "c", strings.Repeat("ab", large/4) + "d", false, ErrNotFound},
		{"one repeated character", strings.Repeat("a", large), strings.Repeat("a", large/2) + "b", "x", false, ErrNotFound},
		{"a longer search", "a\n", strings.Repeat("a\n", large), "x", false, ErrNotFound},
		{"a search of many lines", unique(100_000, "%d \n"), unique(100_000, "%d\n"), "x", false, ErrNotFound},
		{"a search of as many lines as may be", unique(maxLines, "\t%d\n"), unique(maxLines, " %d\n"), unique(maxLines, " x%d\n"), false, nil},
		{"pairs in no order", unique(3_000, "\t%d\n"), unique(3_000, " %d\n"), unique(maxLines, " %d\n"), false, nil},
		{"inserted lines", "\ta\n", " a\n", " a\n" + strings.Repeat("  b\n", maxLines-1), false, nil},
		{"everywhere", strings.Repeat("a", large), "a", "b", true, nil},
		{"everywhere, larger", strings.Repeat("a", large), "a", "bb", true, nil},
		{"everywhere, too large", strings.Repeat("a", large), "a", strings.Repeat("b", 1000), true, ErrTooLarge},
		{"everywhere by lines", strings.Repeat("a\n", large/2), " a\n", " b\n", true, nil},
		{"everywhere by lines, too large", strings.Repeat("a\n", large/2), " a\n", strings.Repeat(" b\n", 1000), true, ErrTooLarge},
		{"an indent of a large file", strings.Repeat("\t", large) + "a\n", " a\n", strings.Repeat(" a\n", 1000), false, ErrTooLarge},
		{"levels of a large file", strings.Repeat(" ", large) + "a\n", "\ta\n", "\ta\n" + strings.Repeat("\t", 1000) + "b\n", false, nil},
		{"ambiguous", strings.Repeat("a\n", large/2), "a\n", "b\n", false, ErrAmbiguous},
		{"ambiguous by lines", strings.Repeat("a\n", large/2), " a\n", "b\n", false, ErrAmbiguous},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &work{}
			result, applied, err := apply(w, c.content, []agentapi.Edit{{Search: c.search, Replace: c.replace, ReplaceAll: c.all}})
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			// 15 lines looked at for each line, and the table of the pairs.
			size := len(c.content) + len(c.search) + len(c.replace) + len(result)
			rows := countLines(c.content) + countLines(c.search) + countLines(c.replace)
			if bound := 15*rows + size + maxCells; w.done > bound {
				t.Errorf("work is %d, more than %d, for %d bytes in %d lines", w.done, bound, size, rows)
			}
			if len(applied) > 0 && len(applied[0].Places) > MaxPlaces {
				t.Errorf("%d places are kept", len(applied[0].Places))
			}
			var e *Error
			if errors.As(err, &e) && len(e.Lines) > MaxPlaces {
				t.Errorf("%d lines are kept", len(e.Lines))
			}
		})
	}
}

// TestManyEdits makes 1,000 edits by lines of a fifth of a megabyte. Of a whole one
// they must be allowed, and not much more.
func TestManyEdits(t *testing.T) {
	once(t)
	var b strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&b, "\tthe line with the number %08d\n", i)
	}
	content := b.String()
	edits := make([]agentapi.Edit, 1000)
	for i := range edits {
		edits[i] = agentapi.Edit{
			Search:  fmt.Sprintf("    the line with the number %08d\n", i*5),
			Replace: fmt.Sprintf("    the line with another number %08d\n", i*5),
		}
	}
	w := &work{}
	result, applied, err := apply(w, content, edits)
	if err != nil || len(applied) != len(edits) {
		t.Fatalf("%d edits were made: %v", len(applied), err)
	}
	if n := strings.Count(result, "\tthe line with another number"); n != len(edits) {
		t.Errorf("%d lines have changed", n)
	}
	if 5*w.done > maxWork/2 {
		t.Errorf("work is %d, five times of which is more than half of %d", w.done, maxWork)
	}
	// As much was done before.
	_, _, err = apply(&work{done: maxWork - w.done/2}, content, edits)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("too much work is %v", err)
	}
}

// TestErrorsQuoteNothing looks for the content of a file in what is told of it.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	content := "a\npassword = " + secret + "\nb\nkey = ssssss\n"
	for _, e := range []agentapi.Edit{
		{Search: "a\npassword = x\nb\n", Replace: "y"},
		{Search: "password = HUNTER2\n", Replace: "y"},
		{Search: "a\npassword  = " + secret + "\nb", Replace: "y"},
		{Search: "key = sss\nc", Replace: secret},
		{Search: "key = ssssssss", Replace: "y"},
	} {
		_, _, err := Apply(content, []agentapi.Edit{e})
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "U+0073") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
