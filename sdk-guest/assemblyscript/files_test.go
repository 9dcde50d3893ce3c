//go:build !wasip1

package assemblyscript_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/host/sandbox"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/frontmatter/frontmattertest"
)

func TestFiles(t *testing.T) {
	w := newWorld(t, sandbox.Limits{Memory: 64 << 20})
	w.write("a.md", "0123456789")
	w.write("d/a.md", "")
	w.write("bad", "a\xff\xe2\x82b")
	w.write("big", strings.Repeat("0123456789abcdef", 300<<10)) // more than one fs_read gives
	for name, target := range map[string]string{"link": "d", "out": "../..", "broken": "nowhere", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const listing = "a.md:file bad:file big:file broken:link d:dir link:link loop:link out:link"
	row := func(head, size, list, stat, exists string) map[string]string {
		return map[string]string{"head": head, "size": size, "list": list, "stat": stat, "exists": exists}
	}
	with := func(m map[string]string, key, value string) map[string]string {
		m[key] = value
		return m
	}
	all := func(errno, exists string) map[string]string {
		return row("errno "+errno, errno, "errno "+errno, "errno "+errno, exists)
	}
	tests := []struct {
		path string
		want map[string]string
	}{
		{"a.md", row("0123", "10", "errno ENOTDIR", "file 10", "true")},
		{"d/a.md", row("", "0", "errno ENOTDIR", "file 0", "true")},
		{"bad", row("a\ufffd\ufffd\ufffd", "5", "errno ENOTDIR", "file 5", "true")},
		{"big", row("0123", "4915200", "errno ENOTDIR", "file 4915200", "true")},
		{".", with(row("errno EISDIR", "EISDIR", listing, "dir 0", "true"), "entry", "file")},
		{"d", with(row("errno EISDIR", "EISDIR", "a.md:file", "dir 0", "true"), "entry", "file")},
		{"link/a.md", row("", "0", "errno ENOTDIR", "file 0", "true")},
		{"missing", all("ENOENT", "false")},
		{"a.md/x", all("ENOTDIR", "false")},
		{"broken", all("ENOENT", "false")},
		{"loop", all("ELOOP", "true")},
		{"out", all("EACCES", "true")},
		{"", all("EINVAL", "false")},
		{"/a.md", all("EPERM", "true")},
		{"../a.md", all("EPERM", "true")},
	}
	var paths []string
	for _, tt := range tests {
		paths = append(paths, tt.path)
	}
	got := w.attributes("files", map[string]any{"paths": paths})
	for i, tt := range tests {
		if diff := cmp.Diff(tt.want, got[fmt.Sprintf("f%d", i)]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.path, diff)
		}
	}
}

// TestFrontMatter compares the kit with the Go SDK, on texts made of what
// matters to them.
func TestFrontMatter(t *testing.T) {
	pieces := []string{
		"---", "---", "---\n", "\n", "\n", "\r\n", " ", "\t", "\ufeff", "name", "description", "a-b", "_x", ":", ": ", ": ", "\"", "'", "\\", "#", " #", "[", "]",
		"true", "No", "null", "~", "1.0", "foo", "a b", "- x", "|", "ü😀", "\u2028", "\u0085", "\xff", "\x00", "key: text\n", "k2: \"quoted\"\n", "K: 'it'\r\n", "x:\n",
		"- ", "\n  - a", "\n  b: c", "{", "}", ",", ">-\n", "  ", "*", "!", "globs: ", "\\n", "\\u00e4",
	}
	rnd := rand.New(rand.NewPCG(1, 2)) // the same every time
	w := newWorld(t, sandbox.Limits{})
	texts := map[string]string{"seed": "---\nname: foo\n\nversion: 1.2\ndescription: A thing.\n---\nbody\n"}
	for i := range 400 {
		var b strings.Builder
		for range rnd.IntN(14) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		texts[fmt.Sprintf("t%03d", i)] = b.String()
		texts[fmt.Sprintf("t%03d.head", i)] = b.String()
	}
	vectors, err := frontmattertest.All()
	if err != nil || len(vectors) < 100 {
		t.Fatalf("there are %d vectors, %v", len(vectors), err)
	}
	for i, v := range vectors {
		texts[fmt.Sprintf("vector%03d", i)] = v.Block()
	}
	for i, globs := range []string{"a, {b,c}/*.ts,, d", "[a, 'b,c', 3]", "\n  - \"a,}b\"\n  - {c,d", "{a: b}", "**/*.ü, ~", strings.Repeat("ü,", 3000),
		"[b, \"" + strings.Repeat(`\x01`, 1364) + "\", c]", "[b, \"" + strings.Repeat(`\x01`, 1365) + "\", c]"} {
		texts[fmt.Sprintf("globs%d", i)] = "globs: " + globs + "\n"
	}
	for name, text := range texts {
		w.write(name, text)
	}
	got := w.attributes("front-matter", nil)
	for name, text := range texts {
		if diff := cmp.Diff(nativeFrontMatter(text, !strings.HasSuffix(name, ".head")), plainEscapes(got[name])); diff != "" {
			t.Errorf("%s: %q (-Go +AssemblyScript):\n%s", name, text, diff)
		}
	}
	for i, v := range vectors {
		if row := got[fmt.Sprintf("vector%03d", i)]; row["strict"] != v.Want || row["lenient"] != v.Lenient {
			t.Errorf("%s: %q\ngot  %s\nand  %s\nwant %s\nand  %s", v.Name, v.Block(), row["strict"], row["lenient"], v.Want, v.Lenient)
		}
	}
	if len(got) != len(texts) {
		t.Errorf("%d texts of %d", len(got), len(texts))
	}
}

// TestFrontMatterBombs: what a block costs is a multiple of its size.
func TestFrontMatterBombs(t *testing.T) {
	w := newWorld(t, sandbox.Limits{})
	for name, block := range frontmattertest.Bombs() {
		w.write("text", block)
		res, err := w.ask("front-matter", nil)
		if err != nil || res.Fuel > 100_000*frontmatter.MaxSize {
			t.Errorf("%s: %v, %d fuel", name, err, res.Fuel)
			continue
		}
		t.Logf("%s: %d fuel for a byte", name, res.Fuel/frontmatter.MaxSize)
	}
}

// plainEscapes has the escapes of the Go SDK's writer in the place of longer
// ones.
func plainEscapes(row map[string]string) map[string]string {
	for _, name := range []string{"strict", "lenient"} {
		row[name] = strings.NewReplacer(`\u000a`, `\n`, `\u0009`, `\t`, `\u000d`, `\r`).Replace(row[name])
	}
	return row
}

// nativeFrontMatter is the probe's row, made by the Go SDK.
func nativeFrontMatter(text string, complete bool) map[string]string {
	row := map[string]string{}
	valid := func(b []byte) string { return string([]rune(string(b))) } // each bad byte is U+FFFD
	switch block, rest, err := frontmatter.Find([]byte(text), complete); {
	case errors.Is(err, frontmatter.ErrOpen):
		row["found"] = "open"
	case err != nil:
		row["found"] = "none"
	default:
		row["found"], row["block"], row["rest"] = "found", valid(block), valid(rest)
	}
	row["strict"] = frontmattertest.Show(frontmatter.Parse([]byte(text), frontmatter.Options{}))
	v, err := frontmatter.Parse([]byte(text), frontmatter.Options{Lenient: true})
	row["lenient"] = frontmattertest.Show(v, err)
	row["globs"] = strings.Join(v.Get("globs").Globs(), "\n")
	return row
}

// TestTexts compares with Go on texts that aren't always UTF-8.
func TestTexts(t *testing.T) {
	w := newWorld(t, sandbox.Limits{})
	texts := []string{
		"", "abc", "äöü", "a😀b", "\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xc0\x80", "\xe0\x80\x80", "\xf8\x88\x80\x80\x80", "\U0010ffff\uffff",
		"# Title\n", "\n\n##  Two ##\nmore", "\ufeff# With a mark\r\n", "###\n\ntext", " \x00\x1b\x85 x", strings.Repeat("ä", 250), strings.Repeat("😀", 99) + "xy😀z",
	}
	for _, text := range texts {
		w.write("text", text)
		valid := string([]rune(text))
		for _, n := range []int{0, 2, 3, 4, 5, 6, 7, 8, 200} {
			got := w.attributes("texts", map[string]any{"n": n})["text"]
			if got["text"] != valid || got["length"] != fmt.Sprint(len(valid)) || got["cut"] != guest.Truncate(valid, n) {
				t.Errorf("%q, %d: %q; want %q and %q", text, n, got, valid, guest.Truncate(valid, n))
			}
		}
	}
	for text, want := range map[string]string{
		"# Title\n": "Title", "\n\n##  Two ##\nmore": "Two ##", "\ufeff# With a mark\r\n": "With a mark", "###\n\ntext": "text", " \x00\x1b x": "x", "\xff": "",
		strings.Repeat("ä", 201): strings.Repeat("ä", 200) + "…", strings.Repeat("ä", 199) + "😀!": strings.Repeat("ä", 199) + "…", "": "",
	} {
		w.write("text", text)
		if got := w.attributes("texts", nil)["text"]["first"]; got != want {
			t.Errorf("the first line of %q is %q, want %q", text, got, want)
		}
	}
}

func TestEndings(t *testing.T) {
	_, err := newWorld(t, sandbox.Limits{Time: 200 * time.Millisecond}).ask("endings", map[string]any{"how": "loop"})
	if !errors.Is(err, sandbox.ErrDeadline) {
		t.Errorf("a loop ends with %v", err)
	}
	w := newWorld(t, sandbox.Limits{Memory: 16 << 20})
	for how, tt := range map[string]struct {
		kind error
		text string
	}{
		"fail":  {sandbox.ErrGuest, "it can't go on: ünï"},
		"abort": {sandbox.ErrCrashed, "a reason (assembly/index.ts:"},
		"index": {sandbox.ErrCrashed, "Index out of range (~lib/"},
		"throw": {sandbox.ErrCrashed, "thrown (assembly/index.ts:"},
		"eat":   {sandbox.ErrCrashed, ""},
	} {
		_, err := w.ask("endings", map[string]any{"how": how})
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v: %s", how, err, tt.kind, tt.text)
		}
	}
	if res, err := w.ask("endings", map[string]any{"how": "churn"}); err != nil || res.Response.Warnings[0] != fmt.Sprint(400<<20) {
		t.Errorf("what isn't used any more isn't collected: %+v, %v", res, err)
	}
	res, err := w.ask("endings", nil)
	if err != nil || len(res.Logs) != 2 || res.Logs[0].Text != "a line – ünï" || res.Logs[1].Text != "the last one" {
		t.Fatalf("logs: %+v, %v", res, err)
	}
	if got, want := res.Response.Warnings[0], `{"n":-9223372036854775808,"b":true,"l":[]}`; got != want {
		t.Errorf("the writer wrote %s, want %s", got, want)
	}
}
