package conform

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"waymark/host/resolve"
)

// row is one resource as text, without its root, to be compared.
type row struct{ path, text string }

// rowsOf spells what a run gave, in its order.
func rowsOf(o *resolve.Outcome) []row {
	rows := make([]row, 0, len(o.Candidates))
	for i := range o.Candidates {
		c := &o.Candidates[i]
		r := c.Resource
		r.Source = relative(r.Source, o.Root)
		text, err := json.Marshal(&r)
		if err != nil { // it is of texts and numbers
			text = []byte(err.Error())
		}
		path := relative(c.Path, o.Root)
		rows = append(rows, row{path, path + " " + string(text) + " " + string(r.Payload)})
	}
	return rows
}

func relative(path, root string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return rel
	}
	return path
}

// difference tells two outcomes apart, in a few words; it is empty when they
// are the same. Only the sources' roots may differ: where a workspace lies is none
// of a resolver's business.
func difference(a, b *resolve.Outcome) string {
	if a.Err != nil || b.Err != nil {
		switch {
		case a.Err != nil && b.Err != nil:
			return ""
		case a.Err != nil:
			return "one run fails (" + errText(a.Err) + ") and the other doesn't"
		}
		return "one run fails (" + errText(b.Err) + ") and the other doesn't"
	}
	x, y := rowsOf(a), rowsOf(b)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			return y[i].path + " is found only once"
		case i >= len(y):
			return x[i].path + " is found only once"
		case x[i].path != y[i].path:
			return x[i].path + " comes where " + y[i].path + " came"
		case x[i].text == y[i].text:
		case strings.ReplaceAll(x[i].text, a.Root, "") == strings.ReplaceAll(y[i].text, b.Root, ""):
			return x[i].path + " tells where the root lies"
		default:
			return x[i].path + ": " + firstDifference(x[i].text, y[i].text)
		}
	}
	if !slices.Equal(a.Warnings, b.Warnings) {
		return "its warnings differ"
	}
	return ""
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	const around = 40
	cut := func(s string) string {
		return strings.ToValidUTF8(s[min(max(0, i-around/2), len(s)):min(len(s), i+around)], "\uFFFD")
	}
	return "…" + cut(a) + "… and …" + cut(b) + "…"
}
