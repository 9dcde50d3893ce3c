//go:build !wasip1

package c_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"waymark"
	"waymark/abi"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter/frontmattertest"
)

// seeds are texts that some function of the kit has something to say about.
func seeds() []string {
	return []string{
		"", " ", "{}", "[]", "null", "true", "falsey", "-0", "01", "1.5e+3", "1e", "-", "-9223372036854775808", "-9223372036854775809",
		"9223372036854775807", "9223372036854775808", "99999999999999999999999999", "\"a", "\"\t\"", `"\u00e4\n\/\b\f"`, `"\x"`, `"\u12"`, `"\ud83d\ude00"`, `"\ud83d"`,
		`"\ude00"`, `"\ud83dx"`, "[1,]", "[1 2]", `{"a":1,}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":[{}]},"c":[null,true]}`, "{} {}", "\ufeff{}",
		strings.Repeat("[", 512) + strings.Repeat("]", 512), strings.Repeat("[", 513) + strings.Repeat("]", 513), strings.Repeat("[", 5000),
		"\"\x00\"", "\"a\u2028\"", `"\u0000"`, `{"\u0000":"\u0000a"}`,
		"quotes \" \\ \n\r\t\b\x01\x1f\x7f ünï 😀", "\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82", "\xc3", "ä", "….",
		"---\nname: a\ndescription: \"b\"\n---\nrest\n", "\ufeff---\r\nname: a\r\n---\r\nrest", " --- \t\n---", "---\n---\n", "---", "---\nopen", "--- x\n",
		"a: b\nc: 'd'\n\ne:\n", "a: true\nb: Null\nc: ~\nd: 1.5\ne: 2026-01-01\nf: yes\n", "a: b\na: c", "true: a", "a:b", "a: b: c", "a: b #c", "a: \"b\\n\"", "a: [b]", " a: b",
		"a: \u2028", "a: \u0085", "a: b:", "a-1_b: c", "1a: b", "globs: **/*.ts", "key: value\nkey2: x\nkey : y", "keys: no\nkey:  'q' \nmore", "key:",
		"globs: a, {b,c}/*.ts,, d", "globs: [a, 'b,c', 3]", "globs:\n  - \"a,}b\"\n  - {c,d\n", "globs: {a: b}",
		"globs: " + strings.Repeat("a,", 3000), "globs: [b, \"" + strings.Repeat(`\x01`, 1364) + "\", c]", "globs: [b, \"" + strings.Repeat(`\x01`, 1365) + "\", c]",
	}
}

// The answers of C and Go are the same.
func TestSameAsGo(t *testing.T) {
	o := newOracle(t)
	texts := seeds()
	files, err := filepath.Glob("../../abi/testdata/v1/*/*.json")
	more, err2 := filepath.Glob("../../abi/testdata/v1/*/invalid/*.json")
	if err != nil || err2 != nil || len(files) == 0 || len(more) == 0 {
		t.Fatalf("no vectors (%v, %v)", err, err2)
	}
	for _, name := range append(files, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, v := range vectors(t) {
		texts = append(texts, v.Block())
	}
	for _, text := range texts {
		for _, op := range "jwf" {
			for _, param := range []byte{0, 1} {
				want, _ := goAnswer(byte(op), param, []byte(text))
				if got := o.ask(t, byte(op), param, []byte(text)); got != want {
					t.Errorf("%c %d %q:\ngot  %s\nwant %s", op, param, text, got, want)
				}
			}
		}
	}
}

func vectors(t *testing.T) []frontmattertest.Vector {
	t.Helper()
	all, err := frontmattertest.All()
	if err != nil || len(all) == 0 {
		t.Fatalf("there are %d vectors, %v", len(all), err)
	}
	return all
}

// TestFrontMatter holds the kit to the vectors that all kits share.
func TestFrontMatter(t *testing.T) {
	w := newWorld(t)
	for _, v := range vectors(t) {
		for param, want := range []string{v.Want, v.Lenient} {
			if got := w.answer('s', byte(param), v.Block()); got != want {
				t.Errorf("%s, %d: %q\ngot  %s\nwant %s", v.Name, param, v.Block(), got, want)
			}
		}
	}
	if got := newOracle(t).ask(t, 's', 0, []byte("a: b")); !strings.Contains(got, "outside of a sandbox") {
		t.Errorf("natively: %s", got)
	}
}

// TestVectors holds the kit's reader of requests to the ABI's vectors.
func TestVectors(t *testing.T) {
	o := newOracle(t)
	for folder, valid := range map[string]bool{"request": true, "request/invalid": false} {
		files, err := filepath.Glob("../../abi/testdata/v1/" + folder + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("no vectors (%v)", err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(name) == "index.json" {
				continue
			}
			// The probe has no resolver of that name: whoever gets that far
			// has read a request.
			got := o.ask(t, 'r', 0, text)
			if read := strings.HasPrefix(got, "-module c-probe has no resolver "); read != valid || !read && !strings.HasPrefix(got, "-bad request: ") {
				t.Errorf("%s/%s: %s", folder, filepath.Base(name), got)
			}
		}
	}
}

// checkTruncated checks what a truncated text must be.
func checkTruncated(t testing.TB, s string, n int, got string) {
	t.Helper()
	if len(got) > n || !utf8.ValidString(got) {
		t.Errorf("%q to %d: %q is too long or not UTF-8", s, n, got)
	}
	// A C string ends where a NUL is; of what isn't UTF-8 Go makes no UTF-8.
	if want := guest.Truncate(s, n); utf8.ValidString(s) && !strings.Contains(s, "\x00") && got != want {
		t.Errorf("%q to %d: %q, of Go %q", s, n, got, want)
	}
}

func TestTruncate(t *testing.T) {
	o := newOracle(t)
	for _, s := range []string{"", "abc", "abcdef", "äöü", "日本語", "😀😀", "a\xffb", "\xff\xff\xff\xff", "ab…"} {
		for n := range 16 {
			checkTruncated(t, s, n, o.ask(t, 't', byte(n), []byte(s)))
		}
	}
	if got := o.ask(t, 't', 9, []byte("a\xff\xffbc")); got != "a\uFFFD\uFFFDbc" {
		t.Errorf("of bytes that aren't UTF-8 it makes %q", got)
	}
}

func TestLine(t *testing.T) {
	o := newOracle(t)
	for text, want := range map[string]string{
		"":                                      `[false,""]`,
		"key: a, **/*.ts\nmore":                 `[true,"a, **/*.ts","more"]`,
		"other: x\r\nkey:\t\"q\" # c \r\n- a\n": `[true,"\"q\" # c","- a\n"]`,
		"keys: no\n key: no\nkey":               `[false,""]`,
		"key :spaced":                           `[true,"spaced",""]`,
		"key:":                                  `[true,"",""]`,
	} {
		if got := o.ask(t, 'l', 0, []byte(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// What a host would reject is an error with the reason, in the words of the Go
// SDK.
func TestBadModules(t *testing.T) {
	o := newOracle(t)
	want := []string{
		`module name "Bad" is not`, `module name "a--b" is not`, "module a has no version", "module a has no resolvers", `resolver name "-r" is not`,
		"two resolvers are named r", "resolver r declares no kinds", "declare mcp_config", "resolver r has no resolve function",
	}
	for i, text := range want {
		if got := o.ask(t, 'v', byte(i), nil); !strings.Contains(got, text) {
			t.Errorf("module %d: %q, want %q", i, got, text)
		}
	}
}

func TestVersion(t *testing.T) {
	text, err := os.ReadFile("waymark.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`#define WAYMARK_KIT_VERSION "` + waymark.SDKVersion + `"`, "#define WM_ABI 1\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("waymark.h doesn't say %s", line)
		}
	}
	if abi.Version != 1 {
		t.Error("the kit speaks another version than the host")
	}
}
