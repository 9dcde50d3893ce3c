package edit_test

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/files/edit"
)

// TestRules runs the table of the package comment.
func TestRules(t *testing.T) {
	rows := table(t)
	if len(rows) < 30 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		name, want := row[0], row[4]
		t.Run(name, func(t *testing.T) {
			e := agentapi.Edit{
				Search: unquote(t, row[2]), Replace: unquote(t, row[3]),
				ReplaceAll: name == "all" || strings.HasSuffix(name, " all"),
			}
			result, applied, err := edit.Apply(unquote(t, row[1]), []agentapi.Edit{e})
			if message, ok := strings.CutPrefix(want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), message) {
					t.Fatalf("error %v, want %q", err, message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(applied[0].Rule) + " " + strconv.Quote(result); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// table returns the rows below the head of the table in doc.go.
func table(t *testing.T) [][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, block := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		code, ok := block.(*comment.Code)
		if !ok {
			continue
		}
		for text := range strings.Lines(code.Text) {
			cells := strings.Split(text, "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if len(cells) != 5 {
				t.Fatalf("a row has %d cells: %s", len(cells), text)
			}
			rows = append(rows, cells)
		}
	}
	return rows[min(2, len(rows)):]
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	text, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return text
}
