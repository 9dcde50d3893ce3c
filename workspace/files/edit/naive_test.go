package edit_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/testenv"
	"waymark/workspace/files/edit"
)

// What follows says the rules once more, with other means and without a thought
// of cost, and holds what Apply says of an edit to it.

// check applies edits one by one, and judges each.
func check(t *testing.T, content string, edits []agentapi.Edit) {
	t.Helper()
	whole, all, wholeErr := edit.Apply(content, edits)
	now := content
	for i, e := range edits {
		result, applied, err := edit.Apply(content, edits[:i+1])
		if err != nil {
			if wholeErr == nil {
				t.Fatalf("edit %d fails as the last one: %v", i, err)
			}
			judgeError(t, now, meant(content, now, e), err)
			return
		}
		judge(t, now, meant(content, now, e), result, applied[i])
		if wholeErr == nil && (all[i].Rule != applied[i].Rule || all[i].Count != applied[i].Count) {
			t.Fatalf("edit %d is %v as the last one and %v with the others", i, applied[i], all[i])
		}
		now = result
	}
	if wholeErr != nil || now != whole {
		t.Fatalf("one by one the edits give\n%q\nand together\n%q, %v", now, whole, wholeErr)
	}
}

func judge(t *testing.T, content string, e agentapi.Edit, result string, applied edit.Applied) {
	t.Helper()
	rule, places := explain(content, e.Search)
	if rule != applied.Rule || len(places) != applied.Count {
		t.Fatalf("%q in %q is %s %d times, and told to be %s %d times", e.Search, content, rule, len(places), applied.Rule, applied.Count)
	}
	if len(places) > 1 && !e.ReplaceAll {
		t.Fatalf("one of %d places was taken", len(places))
	}
	if rule == edit.Exact {
		n := 1
		if e.ReplaceAll {
			n = -1
		}
		if want := strings.Replace(content, e.Search, e.Replace, n); result != want {
			t.Fatalf("exact:\n%q\nwant\n%q", result, want)
		}
	}
	if len(applied.Places) < applied.Count {
		return // more than are told
	}
	outside(t, content, result, applied, places)
	if rule == edit.Exact {
		return
	}
	at := 0
	for i, p := range applied.Places {
		at += p.Start
		if i > 0 {
			at -= applied.Places[i-1].End
		}
		spliced := result[at : at+p.New]
		at += p.New
		judgeSplice(t, content, e, content[p.Start:p.End], spliced)
	}
}

// outside holds that nothing changes but what was matched.
func outside(t *testing.T, content, result string, applied edit.Applied, places []int) {
	t.Helper()
	rest, at := result, 0
	for i, p := range applied.Places {
		if p.Start != places[i] || p.Line != 1+strings.Count(content[:p.Start], "\n") {
			t.Fatalf("place %d is told to be %+v, and begins at byte %d", i, p, places[i])
		}
		kept := content[at:p.Start]
		if !strings.HasPrefix(rest, kept) || len(rest) < len(kept)+p.New {
			t.Fatalf("before place %d %q has become %q", i, kept, rest)
		}
		rest, at = rest[len(kept)+p.New:], p.End
	}
	if rest != content[at:] {
		t.Fatalf("behind all places %q has become %q", content[at:], rest)
	}
}

func judgeError(t *testing.T, content string, e agentapi.Edit, err error) {
	t.Helper()
	rule, places := explain(content, e.Search)
	switch {
	case strings.Contains(content[:min(len(content), 8000)], "\x00"), strings.HasPrefix(content, "\xff\xfe"), strings.HasPrefix(content, "\xfe\xff"):
		if !errors.Is(err, edit.ErrNotText) {
			t.Fatalf("what isn't text is %v", err)
		}
	case e.Search != "" && e.Search == e.Replace:
		if !errors.Is(err, edit.ErrSame) {
			t.Fatalf("an edit that changes nothing is %v", err)
		}
	case e.Search == "":
		if !errors.Is(err, edit.ErrEmptySearch) {
			t.Fatalf("of an empty search it says %v", err)
		}
	case len(places) == 0:
		if !errors.Is(err, edit.ErrNotFound) {
			t.Fatalf("what isn't there is %v", err)
		}
	case len(places) > 1 && !e.ReplaceAll:
		var told *edit.Error
		if !errors.Is(err, edit.ErrAmbiguous) || !errors.As(err, &told) || told.Count != len(places) || told.Rule != rule {
			t.Fatalf("%s %d times is %v", rule, len(places), err)
		}
	default:
		t.Fatalf("%q in %q is %s at %v, and told to be %v", e.Search, content, rule, places, err)
	}
}

// explain says by which rule a search is in a text, and where each match begins.
func explain(content, search string) (edit.Rule, []int) {
	var places []int
	for at := 0; search != ""; {
		i := strings.Index(content[at:], search)
		if i < 0 {
			break
		}
		places = append(places, at+i)
		at += i + len(search)
	}
	if len(places) > 0 || search == "" || strings.TrimSpace(search) == "" && !strings.Contains(search, "\n") {
		return edit.Exact, places
	}
	for _, level := range []struct {
		rule edit.Rule
		trim func(string) string
	}{
		{edit.TrailingBlanks, func(s string) string { return strings.TrimRight(s, blanks) }},
		{edit.SurroundingBlanks, func(s string) string { return strings.Trim(s, blanks) }},
	} {
		have, want := split(content), split(search)
		at := 0
		for i := 0; i+len(want) <= len(have); {
			fits := true
			for j := range want {
				fits = fits && level.trim(have[i+j]) == level.trim(want[j])
			}
			n := 1
			if fits {
				places = append(places, at)
				n = len(want)
			}
			at += len(strings.Join(have[i:i+n], ""))
			i += n
		}
		if len(places) > 0 {
			return level.rule, places
		}
	}
	return "", nil
}

// blanks are Unicode's white space.
const blanks = " \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func split(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// judgeSplice holds what came into the place of matched lines to what can be said
// of every line by itself.
func judgeSplice(t *testing.T, content string, e agentapi.Edit, matched, spliced string) {
	t.Helper()
	want := split(e.Replace)
	got := split(spliced)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%q -> %q in %q: %q became %q: "+format, append([]any{e.Search, e.Replace, content, matched, spliced}, args...)...)
	}
	if len(want) == 0 && !strings.HasSuffix(e.Search, "\n") {
		// The end of a line that wasn't searched for stays.
		if spliced != "" && strings.Trim(spliced, "\r\n") != "" {
			fail("something is left")
		}
		return
	}
	// A blank line without a final newline is nothing at all.
	gone := len(got) == len(want)-1 && strings.Trim(want[len(want)-1], blanks) == ""
	if len(got) != len(want) && !gone {
		fail("%d lines of %d", len(got), len(want))
	}
	for i := range got {
		if strings.Trim(got[i], blanks) != strings.Trim(want[i], blanks) {
			fail("line %d has another text", i)
		}
		if i < len(got)-1 && !strings.HasSuffix(got[i], "\n") {
			fail("line %d is glued", i)
		}
	}
	if strings.HasSuffix(matched, "\n") && len(got) > 0 && !strings.HasSuffix(spliced, "\n") {
		fail("what follows is glued on")
	}
	if !strings.HasSuffix(matched, "\n") && strings.HasSuffix(spliced, "\n") && len(got) == len(want) {
		fail("a final newline was added")
	}
	unchanged(fail, e, matched, got)
}

// unchanged holds that lines at both ends of search and replacement that are the
// same in both keep the file's bytes, but for an ending where a line has become
// the last one, or no longer is.
func unchanged(fail func(string, ...any), e agentapi.Edit, matched string, got []string) {
	search, replace, have := split(e.Search), split(e.Replace), split(matched)
	for n := 1; n <= min(len(search), len(replace), len(got)); n++ {
		i, j, k := len(search)-n, len(replace)-n, len(got)-n
		if len(got) != len(replace) || search[i] != replace[j] {
			break
		}
		if strings.Trim(search[i], blanks) == "" {
			continue
		}
		if a, b := strings.TrimRight(have[i], "\r\n"), strings.TrimRight(got[k], "\r\n"); a != b {
			fail("the same line %q changed from %q to %q", search[i], a, b)
		}
	}
	if slices.Equal(search, replace) && strings.Join(got, "") != matched {
		fail("the same lines changed")
	}
}

// endsOf are the endings of a text's lines, each once for each line; a text without any
// has those of old Macs.
func endsOf(text string) map[string]int {
	ends := map[string]int{}
	for _, line := range split(text) {
		body := strings.TrimSuffix(line, "\n")
		switch {
		case body == line:
		case strings.HasSuffix(body, "\r"):
			ends["\r\n"]++
		default:
			ends["\n"]++
		}
	}
	if len(ends) == 0 && strings.Contains(text, "\r") {
		ends["\r"]++
	}
	return ends
}

// meant is an edit in the endings of the file, which it had at first if it has none now.
func meant(first, content string, e agentapi.Edit) agentapi.Edit {
	ends := endsOf(content)
	mixed := len(ends) > 1
	if len(ends) == 0 {
		content = first
		ends = endsOf(content)
	}
	end := "\n"
	switch lf, crlf := ends["\n"], ends["\r\n"]; {
	case len(ends) == 0:
		return e
	case ends["\r"] > 0:
		end = "\r"
	case crlf > lf, crlf == lf && strings.HasSuffix(split(content)[0], "\r\n"):
		end = "\r\n"
	}
	search, replace := endsOf(e.Search), endsOf(e.Replace)
	delete(search, "\r")
	delete(replace, "\r")
	toOther := len(search) == 1 && search[end] > 0 && len(replace) == 1 && replace[end] == 0
	if toOther || mixed && len(search) > 0 {
		return e
	}
	inEnd := func(text string) string {
		var b strings.Builder
		for _, line := range split(text) {
			body := strings.TrimSuffix(line, "\n")
			if body == line {
				b.WriteString(line)
				continue
			}
			b.WriteString(strings.TrimSuffix(body, "\r") + end)
		}
		return b.String()
	}
	e.Search, e.Replace = inEnd(e.Search), inEnd(e.Replace)
	return e
}

// TestEndings: an edit of a file gives what it gives of the same file with LF, in the
// file's endings; what has both keeps them but in lines that were put into others.
func TestEndings(t *testing.T) {
	r := testenv.Rand(t)
	made := 0
	for range testenv.Rounds(5_000, 50_000, 1_000_000) {
		var plain strings.Builder
		if r.IntN(8) == 0 {
			plain.WriteString("\ufeff")
		}
		for range 1 + r.IntN(12) {
			plain.WriteString([]string{"a", "b b", "  c", "", "d\re", "f()"}[r.IntN(6)] + "\n")
		}
		lf := strings.TrimSuffix(plain.String(), strings.Repeat("\n", r.IntN(2)))
		edits := make([]agentapi.Edit, 1+r.IntN(3))
		for i := range edits {
			edits[i] = part(r, lf)
		}
		want, _, failed := edit.Apply(lf, edits)
		for _, e := range edits {
			if failed == nil && strings.Contains(lf, "\n") && strings.Contains(e.Replace, "\n") {
				made++
			}
		}
		joined := false // a CR by itself and an LF
		for i := range edits {
			so, _, _ := edit.Apply(lf, edits[:i+1])
			joined = joined || strings.Contains(so+edits[i].Search+edits[i].Replace, "\r\n")
		}
		if joined {
			continue
		}
		for _, given := range []string{"\n", "\r\n"} {
			asked := slices.Clone(edits)
			for i := range asked {
				asked[i].Search = strings.ReplaceAll(asked[i].Search, "\n", given)
				asked[i].Replace = strings.ReplaceAll(asked[i].Replace, "\n", given)
			}
			for _, end := range []string{"\n", "\r\n"} {
				if !strings.Contains(lf, "\n") {
					break // it has no ending
				}
				got, _, err := edit.Apply(strings.ReplaceAll(lf, "\n", end), asked)
				if (err == nil) != (failed == nil) || err == nil && got != strings.ReplaceAll(want, "\n", end) {
					t.Fatalf("%q with %q: %+v make %q (%v), and with LF %q (%v)", lf, end, asked, got, err, want, failed)
				}
			}
		}
	}
	if made < 1000 {
		t.Errorf("only %d edits of several lines were made", made)
	}
}

// part is an edit of a part of a text that begins and ends anywhere.
func part(r *rand.Rand, text string) agentapi.Edit {
	from := r.IntN(len(text) + 1)
	to := min(len(text), from+1+r.IntN(12))
	put := []string{"", "x", "x\ny", "\nx\n", "x\n\ty\nz", "x\n"}[r.IntN(6)]
	search := text[from:to]
	if strings.HasSuffix(search, "\r") {
		search += text[to : to+1] // by itself it is half of a CRLF, too
	}
	if r.IntN(2) == 0 {
		put = search + put
	}
	return agentapi.Edit{Search: search, Replace: put, ReplaceAll: r.IntN(2) == 0}
}
