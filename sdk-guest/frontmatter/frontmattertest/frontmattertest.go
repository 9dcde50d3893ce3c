// Package frontmattertest holds blocks of front matter with the results that the readers of
// all kits must return: in Go, in C and in AssemblyScript.
//
// # Guarantees
//
// If a vector has a value, a YAML library reads the same (a test of package frontmatter
// checks that). All kits have the same values and the same errors.
//
// # Limits
//
// For tests only.
package frontmattertest

import (
	_ "embed"
	"encoding/json"
	"strings"

	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/jsonlite"
)

//go:embed vectors.json
var vectors []byte

// Vector is a block with what must come of it.
type Vector struct {
	Name string `json:"name"`
	// Lines are those of the block, without their ends.
	Lines []string `json:"lines"`
	// Want is what Show makes of the value, or of the error.
	Want string `json:"want"`
	// Lenient is the same for a lenient reader.
	Lenient string `json:"lenient"`
}

// Block is the block of a vector.
func (v Vector) Block() string {
	if len(v.Lines) == 0 {
		return ""
	}
	return strings.Join(v.Lines, "\n") + "\n"
}

// All returns the vectors.
//
// # Errors
//
// Those of encoding/json.
func All() (all []Vector, err error) {
	err = json.Unmarshal(vectors, &all)
	return all, err
}

// Bombs are blocks that would cost more than their size in a careless reader:
// most are as long as a block may be. By their names.
func Bombs() map[string]string {
	fill := func(head, piece, tail string) string {
		n := (frontmatter.MaxSize - len(head) - len(tail)) / len(piece)
		return head + strings.Repeat(piece, n) + tail
	}
	return map[string]string{
		"text of lines":       fill("a: b\n", " c\n", ""),
		"text in quotes":      fill("a: \"b\n", " c\n", " \"\n"),
		"text in quotes, one": fill("a: '", "''", "'\n"),
		"escapes":             fill("a: \"", `\n`, "\"\n"),
		"texts of two lines":  fill("a:\n", "- b\n  c\n", ""),
		"quotes of two lines": fill("a:\n", "- 'b\n  c'\n", ""),
		"two literal lines":   fill("a:\n", "- |\n  b\n  c\n", ""),
		"literal":             fill("a: |\n", " c\n", ""),
		"folded":              fill("a: >\n", " c\n", ""),
		"blank lines":         fill("a: |+\n b\n", "\n", ""),
		"items":               fill("a:\n", "- b\n", ""),
		"empty items":         fill("a:\n", "-\n", ""),
		"items in brackets":   fill("a: [", "b,", "]\n"),
		"quoted in brackets":  fill("a: [", "'b',", "]\n"),
		"lists in brackets":   fill("a: [", "[],", "]\n"),
		"maps in brackets":    fill("a: [", `{"b":1},`, "]\n"),
		"items in lines":      fill("a: [\n", "b,\n", "]\n"),
		"open brackets":       fill("a: ", "[", "\n"),
		"open braces":         fill("a: ", `{"a":`, "\n"),
		"dashes":              fill("a:\n", "- ", "\n"),
		"keys":                fill("", "a:\n b:\n", ""),
		"comments":            fill("a: [", "#\n", "]\n"),
		"hashes":              fill("a: ", "# ", "\n"),
		"open quotes":         fill("a: ['", "',''", "\n"),
		"globs":               fill("globs: ", "{,", "\n"),
		"too long":            fill("a: ", "b", "") + "bc\n",
	}
}

// Show makes one text of what Parse returns, which every kit can make, too: JSON
// without blanks, in which {"=": "1.0"} is a value of kind Other, or the error's
// text.
func Show(v frontmatter.Value, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	show(&b, v)
	return b.String()
}

func show(b *strings.Builder, v frontmatter.Value) {
	switch v.Kind {
	case frontmatter.Null:
		b.WriteString("null")
	case frontmatter.Bool:
		b.WriteString(v.Text)
	case frontmatter.Other:
		b.WriteString(`{"=":`)
		text(b, v.Text)
		b.WriteString("}")
	case frontmatter.String:
		text(b, v.Text)
	case frontmatter.List:
		b.WriteString("[")
		for i, item := range v.List {
			comma(b, i)
			show(b, item)
		}
		b.WriteString("]")
	case frontmatter.Map:
		b.WriteString("{")
		for i, m := range v.Map {
			comma(b, i)
			text(b, m.Key)
			b.WriteString(":")
			show(b, m.Value)
		}
		b.WriteString("}")
	}
}

func comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(",")
	}
}

// text writes a string as all kits write it: through the SDK's own writer.
func text(b *strings.Builder, s string) {
	var w jsonlite.Writer
	w.String(s)
	b.Write(w.Bytes())
}
