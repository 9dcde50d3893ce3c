package serverlog_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"waymark/test/testenv"
	"waymark/workspace/mcp/serverlog"
)

// secret has what encodings treat differently: quotes, a backslash, a slash, a
// blank, a plus, other letters, one of them beyond 16 bits.
const secret = "s3cr \"t\\/+é-\U0001f511<&>%41=?(zZ9)"

// encoded gives a value in all encodings that are to be found.
func encoded(v string) map[string]string {
	quoted := func(html bool) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if err := enc.Encode(v); err != nil {
			panic(err)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	var ascii strings.Builder
	for _, r := range quoted(false) {
		if r < 0x80 {
			ascii.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	list := map[string]string{
		"plain": v, "query": url.QueryEscape(v), "path": url.PathEscape(v), "%20": strings.ReplaceAll(url.QueryEscape(v), "+", "%20"),
		"small": lower(url.QueryEscape(v)), "hex": hex.EncodeToString([]byte(v)), "HEX": fmt.Sprintf("%X", v),
		"json": quoted(true), "json without HTML": quoted(false), "ASCII": ascii.String(), "PHP": strings.ReplaceAll(quoted(false), "/", `\/`),
	}
	for before := range 3 {
		for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawStdEncoding} {
			list[fmt.Sprint("base64 ", name, before)] = enc.EncodeToString([]byte("us:"[:before] + v))
		}
	}
	return list
}

func lower(escaped string) string {
	for i := 0; i+2 < len(escaped); i++ {
		if escaped[i] == '%' {
			escaped = escaped[:i] + strings.ToLower(escaped[i:i+3]) + escaped[i+3:]
		}
	}
	return escaped
}

// TestEncodings: every kind of value is found in every encoding, whatever stands around.
func TestEncodings(t *testing.T) {
	random := testenv.Rand(t)
	values := []string{secret, "sec-r3", "hunter22", "ghp_AbCdEfGhIjKlMnOp0123", "correct horse battery staple", "/K7MDENG/bPxRfiCYEXAMPLEKEY+=", strings.Repeat("0123456789abcdef-", 60)}
	for range 20 {
		b := make([]byte, 6+random.IntN(60))
		for i := range b {
			b[i] = byte(' ' + random.IntN(0x5f))
		}
		values = append(values, string(b))
	}
	for _, value := range values {
		r := serverlog.NewRedactor("another-value-1", value)
		for name, text := range encoded(value) {
			for _, around := range []string{"", "|", " ", "\n", `"`, "é", "{\"x\":\""} {
				got := r.String(around + text + around)
				rest := strings.ReplaceAll(got, serverlog.Mask, "")
				if !strings.Contains(got, serverlog.Mask) || len(rest) > 2*len(around)+8 {
					t.Errorf("%s of %q: %q became %q", name, value, around+text+around, got)
				}
			}
		}
	}
}

// TestKept: nothing is damaged that isn't the value, however like it.
func TestKept(t *testing.T) {
	r := serverlog.NewRedactor("hunter22", "the-token-of-mine", "sqlite-password")
	for _, text := range []string{
		"", "hunter", "hunter2", "the-token-of-yours", "sqlite:///home/me/data.db", "someone@example.com", "550e8400-e29b-41d4-a716-446655440000", "Europe/Berlin",
		"/home/me/hunter2/2", base64.StdEncoding.EncodeToString([]byte("hunter, and more text")), `{"path":"/home/me","token":null}`, "the\x00token\xff", "HUNTER22",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got := string(r.Bytes([]byte(text))); got != text {
			t.Errorf("%q became %q as bytes", text, got)
		}
	}
	if got := serverlog.NewRedactor("", "short", "x").String("short x"); got != "short x" {
		t.Errorf("what is too short is found: %s", got)
	}
}

// TestLinesOfValue: each line of a key is found, and the head that all keys have isn't.
func TestLinesOfValue(t *testing.T) {
	const one, two = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
	r := serverlog.NewRedactor("-----BEGIN PRIVATE KEY-----\n" + one + "\r\n" + two + "\n-----END PRIVATE KEY-----\n")
	if got := r.String("-----BEGIN PRIVATE KEY-----\\n" + one + "\\n" + two); got != "-----BEGIN PRIVATE KEY-----\\n[redacted]\\n[redacted]" {
		t.Error(got)
	}
	if got := serverlog.NewRedactor("ab\ncd\nef").String("x ab\ncd\nef ab"); got != "x [redacted] ab" {
		t.Error(got)
	}
}

// TestOverlap: values that overlap, or follow each other, are one.
func TestOverlap(t *testing.T) {
	r := serverlog.NewRedactor("abcdef1", "def1ghi2", "abcdef1ghi2xyz")
	for text, want := range map[string]string{
		"-abcdef1ghi2-": "-[redacted]-", "abcdef1def1ghi2": "[redacted]", "abcdef1 def1ghi2": "[redacted] [redacted]", "abcdef1ghi2xyz!": "[redacted]!",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestWith(t *testing.T) {
	one := serverlog.NewRedactor("first-value-1", "true", "first-value-1")
	two := one.With("second-value-2")
	const text = "first-value-1 second-value-2 true"
	if got := one.String(text); got != serverlog.Mask+" second-value-2 true" {
		t.Error(got)
	}
	if got := two.String(text); got != serverlog.Mask+" "+serverlog.Mask+" true" {
		t.Error(got)
	}
	var none *serverlog.Redactor
	if none.String(text) != text || string(none.Bytes([]byte(text))) != text || none.With("first-value-1").String(text) == text {
		t.Error("the nil one")
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", slog.Any("r", two), slog.Any("rs", []any{two}))
	fmt.Fprintf(&out, "%v %+v %#v %s %q", two, two, two, two, two)
	if strings.Contains(out.String(), "second") || strings.Contains(out.String(), "7365636f6e64") {
		t.Errorf("it shows its values: %s", &out)
	}
}

// What exceeds the bound isn't looked for.
func TestBounds(t *testing.T) {
	long := strings.Repeat("0123456789abcdef-", serverlog.MaxBytes/17+1)
	r := serverlog.NewRedactor(long, "second-value-2")
	if got := r.String("second-value-2 " + long[:1000] + " x"); !strings.HasPrefix(got, "second-value-2 "+serverlog.Mask) || len(got) > 300 {
		t.Errorf("%.400s", got)
	}
}

func TestJSON(t *testing.T) {
	r := serverlog.NewRedactor(secret, "value \"one\"", "12345678901", "two,3")
	for doc, want := range map[string]string{
		`{"b" : [1, true,null, "x"],` + "\n" + `"a":{}}`:             `{"b" : [1, true,null, "x"],` + "\n" + `"a":{}}`,
		`{"value \"one\"":"a value \u0022one\" b","n":-12345678901}`: `{"[redacted]":"a [redacted] b","n":"-[redacted]"}`,
		`"` + strings.Repeat(`\"`, 9) + `"`:                          `"` + strings.Repeat(`\"`, 9) + `"`,
		`not json: value "one"`:                                      `"not json: [redacted]"`,
		`["{\"value \\\"one\\\"\":1}"]`:                              `["{\"[redacted]\":1}"]`,
		`{"x":12345678901e1}`:                                        `{"x":"[redacted]e1"}`,
		``:                                                           ``,
		`["x"]`:                                                      `["x"]`,
	} {
		if got := r.JSON(json.RawMessage(doc)); string(got) != want {
			t.Errorf("%s became %s, want %s", doc, got, want)
		}
	}
	doc, err := json.Marshal(map[string]any{"deep": []any{map[string]any{"s": secret}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.JSON(doc)); got != `{"deep":[{"s":"[redacted]"}]}` {
		t.Error(got)
	}
	across := serverlog.NewRedactor(`abc","defghi`)
	if got := string(across.JSON(json.RawMessage(`["abc","defghi"]`))); got != `"[\"[redacted]\"]"` {
		t.Errorf("across strings: %s", got)
	}
}

// Whatever the value and the text are: no encoding of the value comes out, a text without
// it is left, and JSON stays JSON.
func FuzzRedact(f *testing.F) {
	f.Add(secret, "some text ")
	f.Add("0123456789abcdef", "\\")
	f.Add("%%%%%%%%\\\\\\\\", "%")
	f.Add("\xff\xfe\x00\x01\x80\x80\x80\x80x", "\xe2\x82")
	f.Add(`{"a":"0123456789"}`, `"`)
	f.Add("a\nb\nc\nd\n", "\n")
	f.Fuzz(func(t *testing.T, value, around string) {
		r := serverlog.NewRedactor(value)
		if got := r.String(around); !strings.Contains(got, serverlog.Mask) && got != around {
			t.Fatalf("%q became %q", around, got)
		}
		if doc, err := json.Marshal(map[string]string{around + value: value + around}); err == nil {
			if got := r.JSON(doc); !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
		}
		if len(value) < serverlog.MinValue || len(value) > 256 || strings.ContainsAny(value, "\r\n") || !utf8.ValidString(value) || strings.Contains(serverlog.Mask, value) {
			return
		}
		forms := encoded(value)
		for _, name := range slices.Sorted(maps.Keys(forms)) {
			if got := r.String(around + forms[name] + around); !strings.Contains(got, serverlog.Mask) {
				t.Fatalf("%s of %q isn't found in %q", name, value, around+forms[name]+around)
			}
		}
	})
}

func BenchmarkString(b *testing.B) {
	var values []string
	for i := range 40 {
		values = append(values, fmt.Sprintf("value-%d-%x", i, uint64(i+1)*0x9E3779B97F4A7C15))
	}
	r := serverlog.NewRedactor(values...)
	for name, text := range map[string]string{
		"text": strings.Repeat("The quick brown fox jumps over the lazy dog, and says so.\n", 20000),
		"json": strings.Repeat(`{\"path\":\"C:\\Users\\x\",\"n\":[1,2,3]}%20\n`, 20000),
		"hit":  strings.Repeat(values[7], 20000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.String(text)
			}
		})
	}
}
