package output

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"waymark/agentapi"
)

// MaxRendered is how much of the end of an output is rendered, in bytes: what a progress bar
// writes in hours.
const MaxRendered = 4 << 20

// ShowRendered is Show of what a terminal shows of data.
func ShowRendered(data []byte, last bool) (string, *agentapi.OutputTruncated) {
	shown := Rendered(data)
	head := Piece{Data: shown[:min(len(shown), HeadBytes)]}
	tail := Piece{Offset: int64(max(len(head.Data), len(shown)-TailBytes))}
	tail.Data = shown[tail.Offset:]
	return Show(head, tail, int64(len(shown)), last)
}

// Controls reports whether a terminal would show a text otherwise than it is: it has carriage
// returns within lines, escapes or other control characters.
func Controls(s string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == '\x7f'
	})
}

// maxColumn limits where a line may be continued, so that an escape doesn't make a line of
// any length.
const maxColumn = 1000

// escape is a sequence of ECMA-48 or xterm, whose first group has the numbers of a control
// sequence, and the second its final letter.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^\x1b(?:\\[([0-9;:<=>?]*)[ -/]*([@-~])|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")
})

// Rendered returns the lines that a terminal shows after an output: what a carriage return or
// a backspace lets overwrite, or an escape erase, is gone, and so are colors, titles and other
// control characters. Nothing scrolls away, and clearing the screen or moving to an absolute
// place erases nothing.
func Rendered(data []byte) []byte {
	t := terminal{lines: [][]rune{nil}}
	for len(data) > 0 {
		if data[0] == 0x1b {
			if m := escape().FindSubmatch(data[:min(len(data), 4096)]); m != nil {
				t.control(string(m[1]), string(m[2]))
				data = data[len(m[0]):]
				continue
			}
			data = data[1:]
			continue
		}
		n := bytes.IndexByte(data, 0x1b)
		if n < 0 {
			n = len(data)
		}
		for _, r := range string(data[:n]) {
			t.put(r)
		}
		data = data[n:]
	}
	var b bytes.Buffer
	for i, line := range t.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(line))
	}
	return b.Bytes()
}

// terminal is a screen that never scrolls.
type terminal struct {
	lines       [][]rune
	row, column int
}

func (t *terminal) put(r rune) {
	switch {
	case r == '\n':
		if t.row++; t.row == len(t.lines) {
			t.lines = append(t.lines, nil)
		}
		t.column = 0
	case r == '\r':
		t.column = 0
	case r == '\b':
		t.column = max(t.column-1, 0)
	case r < ' ' && r != '\t' || r == '\x7f':
	default:
		line := t.lines[t.row]
		for len(line) < t.column {
			line = append(line, ' ')
		}
		if t.column < len(line) {
			line[t.column] = r
		} else {
			line = append(line, r)
		}
		t.lines[t.row], t.column = line, t.column+1
	}
}

// control handles a control sequence.
func (t *terminal) control(numbers, letter string) {
	n, err := strconv.Atoi(numbers)
	given := err == nil
	line := t.lines[t.row]
	switch letter {
	case "K":
		switch {
		case n == 0 && t.column < len(line):
			t.lines[t.row] = line[:t.column]
		case n == 1:
			for i := range min(t.column+1, len(line)) {
				line[i] = ' '
			}
		case n == 2:
			t.lines[t.row] = nil
		}
	case "J":
		if n == 0 { // what is below
			t.lines[t.row] = line[:min(t.column, len(line))]
			t.lines = t.lines[:t.row+1]
		}
	case "G":
		t.column = min(max(n-1, 0), maxColumn)
	case "C", "D", "A", "B", "E", "F":
		if !given || n == 0 {
			n = 1
		}
		switch letter {
		case "C":
			t.column = min(t.column+n, max(maxColumn, t.column))
		case "D":
			t.column = max(t.column-n, 0)
		case "A", "F":
			t.row = max(t.row-n, 0)
		case "B", "E":
			t.row = min(t.row+n, len(t.lines)-1)
		}
		if letter == "E" || letter == "F" {
			t.column = 0
		}
	}
}
