package edit_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/patchtest"
	"waymark/test/testenv"
	"waymark/workspace/files/edit"
)

// FuzzApply makes one edit and holds it to the rules as naive_test.go has them, and
// its diff to what came of it.
func FuzzApply(f *testing.F) {
	for _, c := range []struct {
		content, search, replace string
		all                      bool
	}{
		{"\ta\n\tb\n", "  a\n  b\n", "  a\n    x\n  b\n", false},
		{"a\r\nb\r\n", "a\nb", "b", false},
		{"a  \n\nb", "a\n\nb\n", "\nb\n", false},
		{"  a\n\ta\n", "a \n", "", true},
		{" ab\n", "ab ", "", false},
		{"─── a", "──── a", "b", false},
		{"\xe2\xe2\x94\x80 a", "\xe2\x94\x80\x80 a", "b", false},
		{"\u0085a\u2028\n", "a\n", "b\u00a0\n", true},
	} {
		f.Add(c.content, c.search, c.replace, c.all)
	}
	f.Fuzz(func(t *testing.T, content, search, replace string, all bool) {
		checkDiff(t, content, []agentapi.Edit{{Search: search, Replace: replace, ReplaceAll: all}})
	})
}

// FuzzEdits makes two edits that are likely to fit: what they say is cut from the
// content, and spoiled by numbers.
func FuzzEdits(f *testing.F) {
	for seed := range uint64(20) {
		f.Add("func a() {\n\tif b {\n\t\tc()\n\t}\n\n\treturn d\n}\n", seed)
		f.Add("a:\r\n    b: 1\r\n    c:\r\n        - d\r\n\r\n        - d", seed)
	}
	f.Fuzz(func(t *testing.T, content string, seed uint64) {
		r := testenv.RandOf(seed, 0)
		checkDiff(t, content, []agentapi.Edit{likely(r, content), likely(r, content)})
	})
}

// TestRandom makes random edits and gives their diffs to patch.
func TestRandom(t *testing.T) {
	r := testenv.Rand(t)
	rules := map[edit.Rule]int{}
	for range testenv.Rounds(1, 1, 50) {
		cases := make([]patchtest.Case, 0, 200)
		for tries := 0; len(cases) < cap(cases); tries++ {
			content := file(r)
			edits := make([]agentapi.Edit, 0, 3)
			for range 1 + r.IntN(3) {
				edits = append(edits, likely(r, content))
			}
			check(t, content, edits)
			result, applied, err := edit.Apply(content, edits)
			if err != nil {
				if tries > 100_000 {
					t.Fatal("edits that fit are too rare")
				}
				continue
			}
			for _, a := range applied {
				rules[a.Rule]++
			}
			diff := edit.Diff(patchtest.Name(len(cases)), content, result)
			cases = append(cases, patchtest.Case{Before: content, After: result, Diff: diff})
		}
		patchtest.Patch(t, cases)
	}
	if len(rules) != 3 {
		t.Errorf("only these rules were met: %v", rules)
	}
}

// TestRepetitions looks for lines of two kinds in what begins like them again and
// again: matches begin within others.
func TestRepetitions(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(2_000, 20_000, 2_000_000) {
		search := make([]string, 1+r.IntN(12))
		for i := range search {
			search[i] = []string{"a", "b"}[r.IntN(2)]
		}
		var content []string
		for range r.IntN(6) {
			content = append(content, search[:r.IntN(len(search)+1)]...)
		}
		e := agentapi.Edit{Search: strings.Join(search, "\n") + "\n", Replace: "x\n", ReplaceAll: r.IntN(2) == 0}
		check(t, strings.Join(content, " \n"), []agentapi.Edit{e})
	}
}

// checkDiff checks edits, and that the diff makes what they make, and takes it back.
func checkDiff(t *testing.T, content string, edits []agentapi.Edit) {
	t.Helper()
	check(t, content, edits)
	result, _, err := edit.Apply(content, edits)
	if err != nil {
		return
	}
	diff := edit.Diff("f", content, result)
	if got, err := patchtest.Apply(diff, content); err != nil || got != result {
		t.Fatalf("the diff makes %q (%v) of %q, and the edits %q:\n%s", got, err, content, result, diff)
	}
	if got, err := patchtest.Reverse(diff, result); err != nil || got != content {
		t.Fatalf("taken back the diff makes %q (%v) of %q, which was %q:\n%s", got, err, result, content, diff)
	}
}

// file is some lines of a program.
func file(r *rand.Rand) string {
	texts := []string{"a", "b()", "if c {", "}", "}", "", "", "  ", "return d", "# ───"}
	units := []string{"\t", "  ", "    ", " \t"}
	unit := units[r.IntN(len(units))]
	ends := []string{"\n", "\n", "\r\n"}
	end := ends[r.IntN(len(ends))]
	var b strings.Builder
	level := 0
	for range r.IntN(25) {
		text := texts[r.IntN(len(texts))]
		if text == "}" && level > 0 {
			level--
		}
		if text != "" {
			b.WriteString(strings.Repeat(unit, level))
		}
		b.WriteString(text)
		b.WriteString([]string{"", "", "", " ", "\t", "  "}[r.IntN(6)])
		if r.IntN(20) == 0 {
			b.WriteString("\r")
		}
		b.WriteString(end)
		if strings.HasSuffix(text, "{") {
			level++
		}
	}
	return strings.TrimSuffix(b.String(), strings.Repeat(end, r.IntN(2)))
}

// likely is an edit of what stands in a text, with blanks that a model may get
// wrong.
func likely(r *rand.Rand, content string) agentapi.Edit {
	all := strings.SplitAfter(content, "\n")
	from := r.IntN(len(all))
	some := all[from:min(len(all), from+1+r.IntN(5))]
	e := agentapi.Edit{Search: strings.Join(some, ""), ReplaceAll: r.IntN(3) == 0}
	var b strings.Builder
	for _, line := range some {
		switch r.IntN(6) {
		case 0:
			continue
		case 1:
			line = strings.Replace(line, "a", "other", 1)
		case 2:
			b.WriteString(strings.Repeat("\t", r.IntN(3)) + "new\n")
		}
		b.WriteString(line)
	}
	e.Replace = b.String()
	// The same mistakes in both, then perhaps one more.
	for range r.IntN(3) {
		spoil := spoils[r.IntN(len(spoils))]
		e.Search = spoil(e.Search)
		if r.IntN(8) > 0 {
			e.Replace = spoil(e.Replace)
		}
	}
	return e
}

var spoils = []func(string) string{
	func(s string) string { return strings.ReplaceAll(s, "\t", "    ") },
	func(s string) string { return strings.ReplaceAll(s, "    ", "\t") },
	func(s string) string { return strings.ReplaceAll(s, "  ", "    ") },
	func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") },
	func(s string) string { return strings.ReplaceAll(s, " \n", "\n") },
	func(s string) string { return strings.ReplaceAll(s, "\n", " \n") },
	func(s string) string { return strings.TrimSuffix(s, "\n") },
	func(s string) string { return s + "\n" },
	func(s string) string { return strings.TrimLeft(s, " \t") },
	func(s string) string { return "\n" + s },
}
