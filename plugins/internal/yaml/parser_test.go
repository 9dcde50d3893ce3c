//go:build libyaml

package yaml_test

import (
	"fmt"
	"strings"
	"testing"

	library "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"waymark/plugins/internal/yaml"
	"waymark/sdk-guest/frontmatter/frontmattertest"
	"waymark/test/testenv"
)

const depth = 64

// ours is what Load makes of a text, as text.
func ours(text string) (shown string) {
	defer func() {
		if recover() != nil {
			shown = "panic"
		}
	}()
	n, err := yaml.Load([]byte(text), depth)
	if err != nil {
		return "error: " + err.Error()
	}
	var out strings.Builder
	show(&out, n)
	return out.String()
}

func show(out *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.Alias:
		fmt.Fprintf(out, "*%q ", n.Value)
	case yaml.Scalar:
		fmt.Fprintf(out, "%s %q ", n.Tag, n.Value)
	default:
		fmt.Fprintf(out, "%d %s( ", n.Kind, n.Tag)
		for _, c := range n.Content {
			show(out, c)
		}
		out.WriteString(") ")
	}
}

// theirs is the same of the library.
func theirs(text string) (shown string) {
	defer func() {
		if recover() != nil {
			shown = "panic"
		}
	}()
	var doc library.Node
	if err := library.Load([]byte(text), &doc, library.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(depth)))); err != nil {
		return "error: " + err.Error()
	}
	var out strings.Builder
	showTheirs(&out, doc.Content[0])
	return out.String()
}

func showTheirs(out *strings.Builder, n *library.Node) {
	switch n.Kind {
	case library.AliasNode:
		fmt.Fprintf(out, "*%q ", n.Value)
		return
	case library.ScalarNode:
		tag := n.ShortTag()
		switch tag {
		case "!!bool", "!!int", "!!float", "!!timestamp", "!!merge":
			if n.Style&library.TaggedStyle == 0 {
				tag = yaml.TagOther
			}
		}
		fmt.Fprintf(out, "%s %q ", tag, n.Value)
		return
	case library.SequenceNode:
		fmt.Fprintf(out, "%d %s( ", yaml.Sequence, written(n))
	default:
		fmt.Fprintf(out, "%d %s( ", yaml.Mapping, written(n))
	}
	for _, c := range n.Content {
		showTheirs(out, c)
	}
	out.WriteString(") ")
}

// written is a tag that stands there.
func written(n *library.Node) string {
	if n.Style&library.TaggedStyle == 0 && n.Tag != "!" {
		return ""
	}
	return n.Tag
}

// compare allows one difference: what else than its syntax is wrong with a second
// document.
func compare(t *testing.T, text string) {
	t.Helper()
	got, want := ours(text), theirs(text)
	if got == want || strings.HasSuffix(got, "found multiple") && (strings.HasPrefix(want, "error: ") || want == "panic") {
		return
	}
	t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
}

// seeds are texts of every kind.
func seeds(t testing.TB) []string {
	t.Helper()
	list := []string{
		"", "\n", "# nothing", "--- \n...\n", "...", "a: b\n...\n%x\n", "a: 1\n--- b: 2\n", "a: 1\n--- *x\n", "%YAML 1.2\n--- a\n", "%YAML 2.0\n--- a\n",
		"%TAG ! tag:x,1:\n--- !y z\n", "a: &x b\nc: *x\n", "a: *x\n", "&x a: *x\n", "a: &x [1, *x]\n", "? a\n: b\n", "? [a, b]\n: {c: d}\n", "<<: {a: b}\n",
		"!!str 1", "!!null {a: b}", "! 1", "! [1]", "!<tag:yaml.org,2002:int> x", "!x:y [a]", "!!binary x", "a: !!omap\n", "! {a: b}",
		"a: |2\n   x\n", "a: >-\n  x\n\n  y\n", "a: \"\\x41\\u00e9\\U0001F600\\_\\N\\L\\P\\e\"\n", "a: \"\\z\"\n", "a: 'it''s'\n", "a: \"open\n", "a: [b\n", "a: b: c\n", "\ta: b\n", "a:\n\t- b\n",
		"a: 1\n b: 2\n", "- a\nb: c\n", "a: @x\n", "a: `x\n", "%", "\ufeffa: b\n", "a: \x01\n", "a: \xff\n", "a: \xc3\n", "\xff\xfea\x00:\x00 \x00b\x00\n\x00", "a: b #c\n# d\n\n# e\nf: g\n",
		"- # x\n  - a\n  # y\n- b\n", "a:\n  # x\n  b: c\n  # y\n\n# z\nd: e\n", "a: !<x\n", "a: !x{y z\n", "a: !%zz b\n", "&\n", "*\n", "a: [,]\n", "a: {b c}\n",
		strings.Repeat("[", depth) + strings.Repeat("]", depth), strings.Repeat("[", depth+1), strings.Repeat("- ", depth+2) + "x", "x: " + strings.Repeat("{a: ", 70),
		"a: " + strings.Repeat("x", 1025) + ": y", strings.Repeat("x", 1025) + ": y", strings.Repeat("k: v\n", 2000), "a: " + strings.Repeat("long ", 5000),
	}
	for _, s := range []string{
		"", "~", "null", "Null", "NULL", "nUll", "true", "yes", "on", "y", "FALSE", "<<", "=", "0", "-0", "+0", "-0.0", "007", "0o7", "0x1F", "0b1", "1_000", "_1", "1_", "0x_1", "1e3", "1e", "1e+", "+1.5", "-.5", ".5", "5.", ".",
		".e1", "1.e1", "..", ".inf", "-.INF", "+.nan", ".NaN", "1e999", "-1e999", ".1e999", "18446744073709551615", "+18446744073709551615", "18446744073709551616", "-9223372036854775809", "1:30", "190:20:30", "-", "+", "-x", "+1x",
		"2001-01-01", "2001-1-1", "2001-13-01", "2001-02-30", "2001-01-01T00:00:00Z", "2001-01-01t0:0:0.1+02:00", "2001-01-01 1:2:3.4", "2001-01-01 1:2:3 -5", "20010-01-01", "2001-", "2001_01-01", "0.1_2", "Inf", "nan", ".nanx", "1__0", "0x", "0b2", "09", "-09", "1.2.3",
	} {
		list = append(list, "a: "+s+"\n", "["+s+"]", "- "+s)
	}
	vectors, err := frontmattertest.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		list = append(list, v.Block())
	}
	return list
}

// TestSame: the same trees and the same errors.
func TestSame(t *testing.T) {
	list := seeds(t)
	for _, text := range list {
		compare(t, text)
	}
	for name, block := range frontmattertest.Bombs() {
		if len(block) > 20<<10 { // the library takes seconds
			block = block[:20<<10]
		}
		t.Run(name, func(t *testing.T) { compare(t, block) })
	}
	r := testenv.Rand(t)
	const odd = "&*!|>'\"%@`{}[],:?-#\n\t \r\\~=<\x00\u0085\u2028é"
	for range testenv.Rounds(2_000, 20_000, 2_000_000) {
		text := []byte(list[r.IntN(len(list))])
		text = text[:min(len(text), 400)]
		for range 1 + r.IntN(3) {
			at := r.IntN(len(text) + 1)
			switch other := list[r.IntN(len(list))]; r.IntN(3) {
			case 0:
				text = append(text[:at:at], other[:min(len(other), 200)]...)
			case 1:
				text = append(text[:at:at], append([]byte{odd[r.IntN(len(odd))]}, text[at:]...)...)
			case 2:
				text = append(text[:at:at], text[min(len(text), at+1):]...)
			}
		}
		compare(t, string(text))
	}
}

func FuzzSame(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 4<<10 {
			compare(t, text)
		}
	})
}
