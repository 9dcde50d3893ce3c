package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mitchellh/go-wordwrap"
)

// Table lines up columns. The header is written with the first row, so a table
// without rows writes nothing. All of it is written at once, by Flush.
//
// On a terminal, rows are made to fit it and states have colors: columns of paths are cut in
// their middle, the last column goes on below, and the home directory is ~. Elsewhere every
// cell is written as it is.
type Table struct {
	// Screen is where it is shown; NewTable finds it out.
	Screen Screen

	w      io.Writer
	header []string
	rows   [][]string
}

// NewTable begins a table, which may go without a header.
func NewTable(w io.Writer, header ...string) *Table {
	return &Table{w: w, Screen: ScreenOf(w), header: header}
}

// List writes rows as JSON or as a table of their cells; for people none is said where
// there are no rows.
func List[T any](w io.Writer, asJSON bool, rows []T, none string, header []string, cells func(*T) []string) error {
	if asJSON {
		return JSON(w, rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	t := NewTable(w, header...)
	for i := range rows {
		t.Row(cells(&rows[i])...)
	}
	return t.Flush()
}

// Row adds a row. Cells are shown as they are: see Visible.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Flush writes the table. It is for once.
func (t *Table) Flush() error {
	if len(t.rows) == 0 {
		return nil
	}
	rows := t.rows
	if len(t.header) > 0 {
		rows = slices.Insert(slices.Clone(rows), 0, t.header)
	}
	rows = t.fit(rows)
	pad := padding(rows)
	var b strings.Builder
	for i, row := range rows {
		indent := 0
		for c, cell := range row {
			style := t.styleOf(i, c, cell)
			if c < len(row)-1 {
				b.WriteString(t.Screen.paint(cell, style) + strings.Repeat(" ", pad[c]+gap-columns(cell)))
				indent += pad[c] + gap
				continue
			}
			lines := []string{cell}
			if rest := t.Screen.Width - indent; rest >= proseMin {
				lines = strings.Split(wordwrap.WrapString(cell, uint(rest)), "\n")
			}
			for n, line := range lines {
				if n > 0 {
					b.WriteString("\n" + strings.Repeat(" ", indent))
				}
				b.WriteString(t.Screen.paint(line, style))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// gap is between two columns.
const gap = 2

// padding is how wide each column is: as its widest cell, but for those that end
// a row, after which nothing is to be lined up.
func padding(rows [][]string) []int {
	var pad []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(pad) {
				pad = append(pad, 0)
			}
			if c < len(row)-1 {
				pad[c] = max(pad[c], columns(cell))
			}
		}
	}
	return pad
}

// pathMin is the least that is left of a path, in columns, and proseMin of a sentence: less
// tells nothing. proseMax is what a sentence in the last column counts at most: it goes on
// below, and doesn't cut paths.
const (
	pathMin  = 20
	proseMin = 12
	proseMax = 20
)

// pathColumns are the headers of columns of paths.
var pathColumns = []string{"PATH", "SOURCE", "FILE", "ROOT", "DIRECTORY"}

// fit returns rows that fit the screen if they can: without hashes, which nobody reads there,
// and with paths that are cut, but never so far that two become equal.
func (t *Table) fit(rows [][]string) [][]string {
	if t.Screen.Width == 0 {
		return rows
	}
	fitted := make([][]string, len(rows))
	for i, row := range rows {
		fitted[i] = make([]string, len(row))
		for c, cell := range row {
			fitted[i][c] = t.Screen.Home(cell)
		}
	}
	if at := slices.Index(t.header, "HASH"); at >= 0 && t.over(fitted) > 0 {
		for i, row := range fitted {
			fitted[i] = slices.Delete(row, at, at+1)
		}
		t.header = slices.Delete(slices.Clone(t.header), at, at+1)
	}
	for at, name := range t.header {
		if over := t.over(fitted); over > 0 && slices.Contains(pathColumns, name) {
			cut(fitted, at, over)
		}
	}
	return fitted
}

// over is by how much rows are wider than the screen.
func (t *Table) over(rows [][]string) (over int) {
	pad := padding(rows)
	for _, row := range rows {
		wide := 0
		for c, cell := range row {
			if c < len(row)-1 {
				wide += pad[c] + gap
			} else if c < len(t.header) && slices.Contains(pathColumns, t.header[c]) {
				wide += columns(cell)
			} else {
				wide += min(columns(cell), proseMax)
			}
		}
		over = max(over, wide-t.Screen.Width)
	}
	return over
}

// cut shortens the paths of a column by some columns, or by less if two would become equal.
func cut(rows [][]string, at, over int) {
	whole := map[string]bool{}
	for _, row := range rows {
		if at < len(row) {
			whole[row[at]] = true
		}
	}
	widest := 0
	for path := range whole {
		widest = max(widest, columns(path))
	}
	for limit := max(pathMin, widest-over); limit < widest; limit++ {
		short := map[string]bool{}
		for path := range whole {
			short[CutMiddle(path, limit)] = true
		}
		if len(short) < len(whole) {
			continue
		}
		for _, row := range rows {
			if at < len(row) {
				row[at] = CutMiddle(row[at], limit)
			}
		}
		return
	}
}

// styleOf is how a cell is shown.
func (t *Table) styleOf(row, column int, cell string) style {
	switch {
	case len(t.header) == 0:
		return plain
	case row == 0:
		return bold
	case column < len(t.header) && (t.header[column] == "STATUS" || t.header[column] == "STATE" || t.header[column] == "REASON"):
		return styleOf(cell)
	}
	return plain
}
