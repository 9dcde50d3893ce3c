package udiff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/internal/udiff"
	"waymark/test/patchtest"
	"waymark/test/testenv"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "a\n", "a\n", ""},
		{"nothing at all", "", "", ""},
		{"line", "a\nb\n", "a\nx\n", "@@ -1,2 +1,2 @@\n a\n-b\n+x\n"},
		{"new", "", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"emptied", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a newline less", "a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"a newline more", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"none in both", "a\nb", "x\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
		{"carriage returns", "a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = "--- old\n+++ new\n" + want
			}
			if got := udiff.Diff("old", "new", c.before, c.after); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestHeads looks at a second hunk behind one that joins two changes.
func TestHeads(t *testing.T) {
	before := numbered(40)
	after := strings.NewReplacer("line 4\n", "x\n", "line 7\n", "y\nz\n", "line 31\n", "").Replace(before)
	diff := udiff.Diff("a", "b", before, after)
	var heads []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			heads = append(heads, strings.TrimSpace(line))
		}
	}
	if got, want := fmt.Sprint(heads), "[@@ -1,10 +1,11 @@ @@ -28,7 +29,6 @@]"; got != want {
		t.Errorf("heads are %s, want %s\n%s", got, want, diff)
	}
	patchtest.Patch(t, []patchtest.Case{{Before: before, After: after, Diff: udiff.Diff(patchtest.Name(0), patchtest.Name(0), before, after)}})
}

// TestManyChanges holds that no change makes a diff name lines that are the same.
func TestManyChanges(t *testing.T) {
	for _, lines := range []int{100, 1_000, 20_000} {
		before := numbered(lines)
		var after strings.Builder
		changed := 0
		for line := range strings.Lines(before) {
			if strings.HasSuffix(line, "5\n") {
				line = "changed " + line
				changed++
			}
			after.WriteString(line)
		}
		diff := udiff.Diff("a", "b", before, after.String())
		if n := strings.Count(diff, "\n-"); n != changed+1 && n != changed {
			t.Errorf("of %d lines %d have changed, and the diff takes away %d", lines, changed, n)
		}
		if got, err := patchtest.Apply(diff, before); err != nil || got != after.String() {
			t.Errorf("the diff doesn't make the text: %v", err)
		}
	}
}

func TestName(t *testing.T) {
	diff := udiff.Diff("a\nb", "c d", "x\n", "y\n")
	if want := "--- \"a\\nb\"\n+++ c d\n@@"; !strings.HasPrefix(diff, want) {
		t.Errorf("got\n%s", diff)
	}
}

// TestPatch gives diffs of random texts to the program that they are made for.
func TestPatch(t *testing.T) {
	r := testenv.Rand(t)
	for range testenv.Rounds(1, 1, 50) {
		cases := make([]patchtest.Case, 0, 200)
		for len(cases) < cap(cases) {
			c := patchtest.Case{Before: text(r)}
			c.After = changed(r, c.Before)
			name := patchtest.Name(len(cases))
			c.Diff = udiff.Diff(name, name, c.Before, c.After)
			if got, err := patchtest.Apply(c.Diff, c.Before); err != nil || got != c.After {
				t.Fatalf("%v: %q -> %q:\n%s", err, c.Before, c.After, c.Diff)
			}
			if got, err := patchtest.Reverse(c.Diff, c.After); err != nil || got != c.Before {
				t.Fatalf("taken back: %v: %q -> %q:\n%s", err, c.Before, c.After, c.Diff)
			}
			cases = append(cases, c)
		}
		patchtest.Patch(t, cases)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc\n")
	f.Add("", "\n\n")
	f.Add(strings.Repeat("a\nb\n", 60), strings.Repeat("b\na\n", 60))
	f.Fuzz(func(t *testing.T, before, after string) {
		diff := udiff.Diff("a", "b", before, after)
		if got, err := patchtest.Apply(diff, before); err != nil || got != after {
			t.Fatalf("%v:\n%s", err, diff)
		}
		if got, err := patchtest.Reverse(diff, after); err != nil || got != before {
			t.Fatalf("taken back: %v:\n%s", err, diff)
		}
		if (diff == "") != (before == after) {
			t.Fatalf("the diff is %q", diff)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	before := numbered(40_000)
	after := strings.ReplaceAll(before, "77\n", "x\n")
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		udiff.Diff("a", "b", before, after)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// text is some lines of few kinds, so that many are the same.
func text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString(word(r))
	}
	return strings.TrimSuffix(b.String(), strings.Repeat("\n", r.IntN(2)))
}

func word(r *rand.Rand) string {
	words := []string{"a", "b", "\tc", "}", "", " ", "@@ -1 +1 @@", "--- x", "+++ y", "\\ No newline at end of file"}
	return words[r.IntN(len(words))] + []string{"\n", "\n", "\r\n"}[r.IntN(3)]
}

func changed(r *rand.Rand, before string) string {
	var b strings.Builder
	for line := range strings.Lines(before) {
		switch r.IntN(12) {
		case 0:
		case 1:
			b.WriteString(word(r))
		case 2:
			b.WriteString(word(r))
			b.WriteString(line)
		default:
			b.WriteString(line)
		}
	}
	if r.IntN(4) == 0 {
		b.WriteString(word(r))
	}
	return strings.TrimSuffix(b.String(), strings.Repeat("\n", r.IntN(2)))
}
