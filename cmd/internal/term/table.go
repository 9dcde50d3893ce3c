package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table lines up columns. The header is written with the first row, so a table
// without rows writes nothing. All of it is written at once, by Flush.
//
// On a terminal, columns of paths are cut in their middle where a row is wider
// than that, and states have colors; elsewhere every cell is written as it is.
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
	t.fit(rows)
	pad := padding(rows)
	var b strings.Builder
	for i, row := range rows {
		for c, cell := range row {
			b.WriteString(t.Screen.paint(cell, t.styleOf(i, c, cell)))
			if c < len(row)-1 {
				b.WriteString(strings.Repeat(" ", pad[c]+gap-columns(cell)))
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

// pathMin is the least that is left of a path, in columns: less tells nothing.
// proseMax is what a last column without paths counts at most: a sentence goes on
// in the next line, and doesn't cut paths.
const (
	pathMin  = 20
	proseMax = 20
)

// fit cuts paths so that rows fit the screen.
func (t *Table) fit(rows [][]string) {
	at := slices.IndexFunc(t.header, func(name string) bool { return name == "PATH" || name == "SOURCE" })
	if t.Screen.Width == 0 || at < 0 {
		return
	}
	pad := padding(rows)
	rest, widest := 0, 0
	for _, row := range rows {
		others := 0
		for c, cell := range row {
			switch {
			case c == at:
				widest = max(widest, columns(cell))
			case c < len(row)-1:
				others += pad[c]
			default:
				others += min(columns(cell), proseMax)
			}
		}
		rest = max(rest, others+gap*(len(row)-1))
	}
	limit := max(pathMin, t.Screen.Width-rest)
	if widest <= limit {
		return
	}
	for i, row := range rows {
		if len(row) > at && columns(row[at]) > limit {
			rows[i] = slices.Clone(row)
			rows[i][at] = CutMiddle(row[at], limit)
		}
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
