package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	xterm "golang.org/x/term"
	"golang.org/x/text/width"
)

// Screen is what is known of where a text goes. The zero value is a file, a pipe
// or a terminal of which nothing is known: what is written there is whole, and
// without color.
type Screen struct {
	// Width is how many columns there are; 0 when that isn't known.
	Width int
	// Color says that colors are understood and wanted.
	Color bool
}

// ScreenOf looks at where a writer writes to, and at what the environment says:
// NO_COLOR, CLICOLOR=0 and TERM=dumb mean no colors, COLUMNS is another width.
// Only a terminal has either.
func ScreenOf(w io.Writer) Screen {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) || !xterm.IsTerminal(int(f.Fd())) {
		return Screen{}
	}
	var s Screen
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	} else if n, _, err := xterm.GetSize(int(f.Fd())); err == nil {
		s.Width = n
	}
	kind := os.Getenv("TERM")
	s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("CLICOLOR") != "0" && kind != "" && kind != "dumb"
	return s
}

// Home shows paths below the home directory with ~, on a terminal.
func (s Screen) Home(text string) string {
	home, err := os.UserHomeDir()
	if s.Width == 0 || err != nil || len(home) < 2 || !strings.Contains(text, home) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, home)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		begins := before == "" || strings.ContainsAny(before[len(before)-1:], " =:'\"(")
		if begins && (after == "" || strings.ContainsAny(after[:1], "/,:;)' \"")) {
			b.WriteByte('~')
		} else {
			b.WriteString(home)
		}
		text = after
	}
}

// style is a way to show a text, as ECMA-48 numbers it.
type style string

const (
	plain  style = ""
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

func (s Screen) paint(text string, with style) string {
	if !s.Color || with == plain || text == "" {
		return text
	}
	return "\x1b[" + string(with) + "m" + text + "\x1b[0m"
}

// words are those in which states are told, with how they are shown. What isn't
// here is shown as it is.
var words = map[string]style{
	"ok": green, "ready": green, "found": green, "valid": green, "connected": green, "pass": green,
	"warn": yellow, "stale": yellow, "compiling": yellow, "needs": yellow, "needs_approval": yellow, "quarantined": yellow,
	"waiting": yellow, "drifted": yellow, "away": yellow, "excluded": yellow, "oversize": yellow,
	"fail": red, "failed": red, "invalid": red, "unreadable": red, "rejected": red, "refused": red,
	"revoked": red, "expired": red,
}

// styleOf is how a cell is shown that begins with one of the words.
func styleOf(cell string) style {
	word, _, _ := strings.Cut(cell, " ")
	return words[strings.TrimRight(word, ":,")]
}

// columns is how many columns of a terminal a text takes.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if r < 0x1100 { // where the first wide ones are
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutMiddle shortens a path to a number of columns by leaving out what is in its
// middle: its end says most, and its beginning where it is.
func CutMiddle(path string, limit int) string {
	if columns(path) <= limit {
		return path
	}
	if limit < 1 {
		return ""
	}
	runes := []rune(path)
	head, tail := 0, len(runes)
	for room, first := limit-1, (limit-1)/3; room > 0; {
		next := tail - 1
		if head < len(runes) && first > 0 {
			next = head
		}
		n := columnsOf(runes[next])
		if n > room {
			break
		}
		if room -= n; next == head && first > 0 {
			head++
			first -= n
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// DiffLine returns a line of a unified diff as it is shown: tabs stay, since the
// line may be for a program that applies it, and nothing else that a terminal would
// act on.
func (s Screen) DiffLine(line string) string {
	cells := strings.Split(line, "\t")
	for i := range cells {
		cells[i] = Visible(cells[i])
	}
	with := plain
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "# "):
		with = bold
	case strings.HasPrefix(line, "@@ "):
		with = cyan
	case strings.HasPrefix(line, "+"):
		with = green
	case strings.HasPrefix(line, "-"):
		with = red
	}
	return s.paint(strings.Join(cells, "\t"), with)
}
