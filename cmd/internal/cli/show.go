package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waymark/internal/text"
)

// Lines prints lines until one can't be written.
type Lines struct {
	W   io.Writer
	Err error // of the first write that failed
}

// Printf prints a line.
func (l *Lines) Printf(format string, args ...any) {
	if l.Err == nil {
		_, l.Err = fmt.Fprintf(l.W, format+"\n", args...)
	}
}

// IsTerminal reports whether what is written is read by a person at once, and
// kept by nobody. A device such as /dev/null counts as well.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// JSON prints indented JSON, which both people and programs read.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Event prints something that has happened, on one line: the time and the text
// for a person, or an object for a program.
func Event(w io.Writer, asJSON bool, at time.Time, object any, text string) error {
	if !asJSON {
		_, err := fmt.Fprintf(w, "%s  %s\n", at.Format(time.TimeOnly), text)
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(object)
}

// Visible replaces what a terminal would act on: names and texts come from
// workspaces and modules.
func Visible(s string) string {
	return text.Printable(s)
}

// VisibleLines is Visible for text of several lines, with an indent before all
// but the first.
func VisibleLines(text, indent string) string {
	list := strings.Split(text, "\n")
	for i, line := range list {
		list[i] = Visible(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(list, "\n"+indent)
}

// Dash shows that there is nothing.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Shorten shows a path below base as relative to it.
func Shorten(path, base string) string {
	if rel, err := filepath.Rel(base, path); base != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		path = rel
	}
	return Visible(path)
}

// Short is the beginning of a hash, enough to tell two apart.
func Short(hash string) string { return hash[:min(12, len(hash))] }

// Size is a number of bytes.
func Size(n int64) string {
	in := func(unit float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/unit), ".0") }
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return in(1<<10) + " KiB"
	}
	return in(1<<20) + " MiB"
}

// Count is a number of things: "1 find", "3 finds".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(int64(n)) + " " + what + "s"
}

// Number parts the thousands of a number, which fuel has many of.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Took is a duration without the digits that differ at each run anyway.
func Took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
