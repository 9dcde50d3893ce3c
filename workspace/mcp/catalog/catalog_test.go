package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"waymark/workspace/mcp/catalog"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		marks          catalog.Marks
	}{
		{"plain", "Adds a and b.\n\tReally.", "Adds a and b.\n\tReally.", 0},
		{"windows", "a\r\nb", "a\nb", 0},
		{"accents", "Größe: für 東京 и мир", "Größe: für 東京 и мир", 0},
		{"emoji", "⚠️ 👩‍💻 👍🏽 🏳️‍🌈", "⚠️ 👩‍💻 👍🏽 🏳️‍🌈", 0},
		{"persian", "می\u200cخواهم", "می\u200cخواهم", 0},
		{"arabic numbers", "\u06005", "\u06005", 0},
		{"zero width", "a\u200bb\u2060c\ufeffd\u00ade", "abcde", catalog.Invisible},
		{"joiners that join nothing", "a\u200d\u200d b\u200c", "a b", catalog.Invisible},
		{"bidi", "a\u202eb\u2066c\u200f", "abc", catalog.Invisible},
		{"tags", "x\U000E0001\U000E0068\U000E0069y", "xy", catalog.Invisible},
		{"selectors as letters", "a\ufe01\ufe02\ufe03\U000E0100b", "a\ufe01b", catalog.Invisible},
		{"fillers", "a\u3164\u2800b\u2028c", "abc", catalog.Invisible},
		{"colors", "\x1b[31mred\x1b[0m", "red", catalog.Escapes},
		{"title", "a\x1b]0;evil\x07b\x1b]8;;x\x1b\\c", "abc", catalog.Escapes},
		{"a title without an end", "a\x1b]0;look", "a0;look", catalog.Escapes},
		{"a sequence without an end", "a\x1b[12", "a", catalog.Escapes},
		{"C1", "a\u009b31mb\u0090x\u009cc", "abc", catalog.Escapes},
		{"others", "a\x00b\rc\x7fd\x1b", "abcd", catalog.Escapes},
		{"both", "\x1b[1m\u200b", "", catalog.Escapes | catalog.Invisible},
		{"not UTF-8", "a\xffb", "a\uFFFDb", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, marks := catalog.Clean(c.in)
			if got != c.want || marks != c.marks {
				t.Errorf("got %q, %b", got, marks)
			}
		})
	}
}

// TestCleanIsLinear: sequences without an end don't take the time of their square.
func TestCleanIsLinear(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"\x1b]", "\u009d", "\x1b[", "\u009b0", "\x1b]\x1b", "\u200d", "x\u200d"} {
		got, _ := catalog.Clean(strings.Repeat(unit, 1<<19)) // minutes, else
		if len(got) > 1<<21 {
			t.Errorf("%q: %d bytes are left", unit, len(got))
		}
	}
}

// FuzzClean: what has been cleaned is clean.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a\u200db", "\x1b[3\u200b1m", "\x1b]x\u009c", "\xed\xa0\x80", "\u200c\u200d\ufe0fx\ufe0f\u200d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, _ := catalog.Clean(s)
		if twice, marks := catalog.Clean(once); twice != once || marks != 0 || !utf8.ValidString(once) {
			t.Errorf("%q is cleaned to %q, and that to %q (%b)", s, once, twice, marks)
		}
	})
}

// FuzzAdd: whatever a server lists as a tool, what is taken of it can be encoded, is
// within the limits, and holds nothing that can't be seen.
func FuzzAdd(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"a"}`, `{"name":"a","inputSchema":{"type":"object","properties":{"x\u200b":{"description":"\u001b[1m é \ud800","default":1e400}}}}`,
		`{"name":"a","name":"b","inputSchema":{"a":1,"a":"\u2063"}}`, `[]`, `{"name":"a","annotations":{"title":"\u202e"}}`,
		"{\"name\":\"a\",\"inputSchema\":{\"\xff\":\"\xfe \\u200b\"}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := catalog.NewBuilder(catalog.Limits{Schema: 500, Depth: 5})
		tool, ok := b.Add(raw)
		if !ok {
			return
		}
		if _, err := json.Marshal(&tool); err != nil {
			t.Fatal(err)
		}
		if tool.InputSchema != nil && (!json.Valid(tool.InputSchema) || tool.InputSchema[0] != '{' || !utf8.Valid(tool.InputSchema)) {
			t.Errorf("the schema is %q", tool.InputSchema)
		}
		for _, s := range []string{tool.Name, tool.Title, tool.Description} {
			if clean, _ := catalog.Clean(s); clean != s {
				t.Errorf("%q isn't clean", s)
			}
		}
	})
}

func TestSchemaStays(t *testing.T) {
	t.Parallel()
	b := catalog.NewBuilder(catalog.Limits{})
	tool, ok := b.Add([]byte(`{"name":"a","inputSchema":{"z":1.50,"a":"é \u00e9 \/","big":12345678901234567890,"d":"x\u200by","e":"\"q\u200b\"","n\u200b":null},"annotations":null}`))
	if !ok {
		t.Fatal("it isn't taken")
	}
	want := `{"z":1.50,"a":"é \u00e9 \/","big":12345678901234567890,"d":"xy","e":"\"q\"","n\u200b":null}`
	if string(tool.InputSchema) != want {
		t.Errorf("the schema is %s\nwant %s", tool.InputSchema, want)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	b := catalog.NewBuilder(catalog.Limits{})
	b.Server(strings.Repeat("n", 500), "t\x1b[1m", "", strings.Repeat("i", 100_000))
	for range 1000 {
		b.Add([]byte("[]"))
	}
	c := b.Catalogue()
	if len(c.Findings) > 205 || c.Findings[len(c.Findings)-1].Code != "more_findings" || len(c.ServerName) > 128 || c.ServerTitle != "t" || len(c.Instructions) > 64<<10 {
		t.Errorf("%d findings, the last %+v", len(c.Findings), c.Findings[len(c.Findings)-1])
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	tool := func(name string, length int) catalog.Tool {
		return catalog.Tool{Name: name, Description: strings.Repeat("d", length)}
	}
	c := &catalog.Catalogue{Tools: []catalog.Tool{tool("a", 10), tool("b", 1000), tool("c", 10), tool("d", 10)}}
	for _, want := range []struct {
		number int
		length int64
		names  string
		left   int
	}{{0, 0, "abcd", 0}, {2, 0, "ab", 2}, {0, 110, "ac", 2}, {0, 10, "", 4}} {
		tools, left := c.Fit(want.number, want.length)
		names, size := "", 0
		for i := range tools {
			encoded, err := json.Marshal(&tools[i])
			if err != nil {
				t.Fatal(err)
			}
			names += tools[i].Name
			size += len(encoded) + 1
		}
		if diff := cmp.Diff(want.names, names); diff != "" || left != want.left || tools == nil || want.length > 0 && int64(size) > want.length {
			t.Errorf("%d, %d: %q, %d left, %d bytes", want.number, want.length, names, left, size)
		}
	}
}
