package cli_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/cmd/internal/cli"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{cli.Number(0), "0"}, {cli.Number(999), "999"}, {cli.Number(1000), "1,000"},
		{cli.Number(1234567), "1,234,567"}, {cli.Number(-1000), "-1,000"}, {cli.Number(-100), "-100"},
		{cli.Size(1023), "1023 B"}, {cli.Size(1024), "1 KiB"}, {cli.Size(1536), "1.5 KiB"}, {cli.Size(3 << 20), "3 MiB"},
		{cli.Count(1, "find"), "1 find"}, {cli.Count(0, "find"), "0 finds"}, {cli.Count(1200, "find"), "1,200 finds"},
		{cli.Visible("a\x1b[31mb\xff\u202e"), "a\uFFFD[31mb\uFFFD\uFFFD"}, {cli.Visible("naïve 日本"), "naïve 日本"},
		{cli.Shorten("/w/a/b", "/w"), "a/b"}, {cli.Shorten("/v/a", "/w"), "/v/a"}, {cli.Shorten("/w", "/w"), "."}, {cli.Shorten("/w/a", ""), "/w/a"},
		{cli.Short("0123456789abcdef"), "0123456789ab"}, {cli.Short("ab"), "ab"}, {cli.Dash(""), "-"}, {cli.Dash("x"), "x"},
		{cli.Took(1234 * time.Nanosecond), "1µs"}, {cli.Took(1234567 * time.Nanosecond), "1.23ms"}, {cli.Took(1234567 * time.Microsecond), "1.23s"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	for w, want := range map[io.Writer]bool{file: false, device: true, new(strings.Builder): false} {
		if cli.IsTerminal(w) != want {
			t.Errorf("%T: %v", w, !want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table := cli.NewTable(&b, "NAME", "SIZE")
	if err := table.Flush(); err != nil || b.Len() > 0 {
		t.Errorf("an empty table writes %q, %v", b.String(), err)
	}
	table.Row("alpha", "1 B")
	table.Row("b", "22 KiB")
	if err := table.Flush(); err != nil || b.String() != "NAME   SIZE\nalpha  1 B\nb      22 KiB\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestTableOnTerminal: paths are cut so that rows fit, prose goes on below, and states
// have colors.
func TestTableOnTerminal(t *testing.T) {
	t.Parallel()
	rows := func(screen cli.Screen) string {
		var b strings.Builder
		table := cli.NewTable(&b, "SOURCE", "STATUS", "DETAIL")
		table.Screen = screen
		table.Row("a/long/way/down/to/some/AGENTS.md", "ok", "-")
		table.Row("日本/AGENTS.md", "invalid: x", "a sentence that is longer than what is left of a row")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := "SOURCE                             STATUS      DETAIL\n" +
		"a/long/way/down/to/some/AGENTS.md  ok          -\n" +
		"日本/AGENTS.md                     invalid: x  a sentence that is longer than what is left of a row\n"
	if got := rows(cli.Screen{}); got != want {
		t.Errorf("elsewhere:\n%s", got)
	}
	if got := rows(cli.Screen{Width: 200}); got != want {
		t.Errorf("on a wide screen:\n%s", got)
	}
	want = "SOURCE                    STATUS      DETAIL\n" +
		"a/long/w…o/some/AGENTS.md  ok          -\n" +
		"日本/AGENTS.md             invalid: x  a sentence that is\n" +
		"                                       longer than what is\n" +
		"                                       left of a row\n"
	if got := rows(cli.Screen{Width: 59}); got != strings.Replace(want, "SOURCE ", "SOURCE  ", 1) {
		t.Errorf("on a narrow screen:\n%s", got)
	}
	if got := rows(cli.Screen{Width: 10}); !strings.Contains(got, "\na/long…ome/AGENTS.md  ok ") {
		t.Errorf("on a screen that is too narrow:\n%s", got)
	}
	colors := rows(cli.Screen{Color: true})
	for _, want := range []string{"\x1b[1mSOURCE\x1b[0m  ", "  \x1b[32mok\x1b[0m          -\n", "  \x1b[31minvalid: x\x1b[0m  a sentence"} {
		if !strings.Contains(colors, want) {
			t.Errorf("no %q in %q", want, colors)
		}
	}
}

// TestTableNarrow: hashes go before a path is cut, and two paths never become equal.
func TestTableNarrow(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	var b strings.Builder
	table := cli.NewTable(&b, "KIND", "FILE", "NAME", "HASH")
	table.Screen = cli.Screen{Width: 50}
	table.Row("skill", home+"/shop/.claude/skills/one/with/what/is/equal/SKILL.md", "one", "0123456789ab")
	table.Row("skill", home+"/shop/.claude/skills/two/with/what/is/equal/SKILL.md", "two", "ba9876543210")
	table.Row("skill", home+"er", "-", "-")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"…e/with/what/is/equal/SKILL.md  one", "…o/with/what/is/equal/SKILL.md  two", "skill  ~/shop", home + "er"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "0123") || strings.Contains(b.String(), "HASH") {
		t.Errorf("hashes are shown:\n%s", b.String())
	}
}

func TestCutMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path  string
		limit int
		want  string
	}{
		{"a/b/c", 5, "a/b/c"}, {"skills/alpha/SKILL.md", 13, "skil…SKILL.md"}, {"abc", 1, "…"}, {"abc", 2, "…c"}, {"abc", 0, ""},
		{"日本語日本語", 7, "日…本語"}, {"日本語", 2, "…"},
	} {
		if got := cli.CutMiddle(c.path, c.limit); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.path, c.limit, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := cli.Lines{W: &b}
	l.Printf("%d of", 1)
	l.Printf("two")
	if l.Err != nil || b.String() != "1 of\ntwo\n" {
		t.Errorf("%q, %v", b.String(), l.Err)
	}
	l.W = failing{}
	l.Printf("lost")
	l.W = &b
	l.Printf("later")
	if !errors.Is(l.Err, io.ErrClosedPipe) || strings.Contains(b.String(), "later") {
		t.Errorf("%q, %v", b.String(), l.Err)
	}
	if got := cli.VisibleLines("a\tb\n\x1bc", "> "); got != "a    b\n> \uFFFDc" {
		t.Errorf("%q", got)
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	object := map[string]string{"event": "<added>"}
	if err := errors.Join(cli.Event(&b, false, at, object, "added x"), cli.Event(&b, true, at, object, "added x")); err != nil {
		t.Fatal(err)
	}
	if want := "03:04:05  added x\n{\"event\":\"<added>\"}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
