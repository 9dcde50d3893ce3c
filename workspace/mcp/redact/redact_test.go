package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waymark/test/randtest"
	"waymark/workspace/mcp/redact"
)

// secret has what encodings treat differently: quotes, a backslash, a slash, a
// blank, a plus, other letters, one of them beyond 16 bits.
const secret = "s3cr \"t\\/+é-\U0001f511<&>%41=?zZ9"

// escaped gives a value in all encodings that are to be found.
func escaped(v string) map[string]string {
	list := map[string]string{
		"plain": v, "query": url.QueryEscape(v), "path": url.PathEscape(v),
		"hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"%x with blanks": fmt.Sprintf("% x", v), "colons": strings.ReplaceAll(fmt.Sprintf("% x", v), " ", ":"),
		"q": strconv.Quote(v), "+q": strconv.QuoteToASCII(v),
	}
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	list["json"] = string(doc)
	twice, err := json.Marshal(string(doc))
	if err != nil {
		panic(err)
	}
	list["json twice"] = string(twice)
	for name, format := range map[string]string{"percent": "%%%02x", "u": `\u%04x`, "U": `\U%08x`, "x": `\x%02x`, "octal": `\%03o`, "u twice": `\\u%04x`} {
		var b strings.Builder
		if strings.HasPrefix(strings.ToLower(name), "u") {
			for _, r := range v {
				switch {
				case r > 0xffff && strings.HasPrefix(name, "u"):
					b.WriteString(strings.ReplaceAll(strings.Trim(strings.ToLower(strconv.QuoteToASCII(v[strings.IndexRune(v, r):][:4])), `"`), `\u`, format[:len(format)-4]))
				default:
					fmt.Fprintf(&b, format, r)
				}
			}
		} else {
			for _, c := range []byte(v) {
				fmt.Fprintf(&b, format, c)
			}
		}
		list[name] = b.String()
	}
	delete(list, "u") // a pair of surrogates isn't what %q writes
	delete(list, "u twice")
	for i := range 3 {
		for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawStdEncoding} {
			whole := enc.EncodeToString([]byte("ABC"[:i] + v))
			list[fmt.Sprint(name, i)] = strings.TrimRight(whole, "=")[i*8/6:] // the digits that have something of it
		}
	}
	mime := base64.StdEncoding.EncodeToString([]byte(v))
	list["lines"] = mime[:9] + "\r\n" + mime[9:]
	return list
}

// left is the longest run of a value that is in a text, in bytes of the value.
func left(text, value string) int {
	most := 0
	for i := range len(value) {
		for i+most < len(value) && strings.Contains(text, value[i:i+most+1]) {
			most++
		}
	}
	return most
}

func TestEncodings(t *testing.T) {
	r := redact.New("another-value-1", secret)
	for name, text := range escaped(secret) {
		for _, around := range []string{"", "|", " ", "\n", `"`, "é", "{\"x\":\""} {
			got := r.String(around + text + around)
			rest := strings.ReplaceAll(got, redact.Mask, "")
			if !strings.Contains(got, redact.Mask) || len(rest) > 2*len(around)+6 {
				t.Errorf("%s: %q became %q", name, around+text+around, got)
			}
		}
	}
}

// TestTwice: all pairs of encodings, as programs make them.
func TestTwice(t *testing.T) {
	quote := func(v string) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	each := func(format string) func(string) string {
		return func(v string) string {
			var b strings.Builder
			for _, c := range []byte(v) {
				fmt.Fprintf(&b, format, c)
			}
			return b.String()
		}
	}
	lines := func(v string) string {
		var b strings.Builder
		for v = base64.StdEncoding.EncodeToString([]byte(v)); len(v) > 76; v = v[76:] {
			b.WriteString(v[:76] + "\n")
		}
		return b.String() + v
	}
	encodings := map[string]func(string) string{
		"json": quote, "path": url.PathEscape, "form": url.QueryEscape, "percent": each("%%%02X"), "PERCENT": each("%%%02x"), "u": each(`\u%04x`), "x": each(`\x%02x`),
		"hex": each("%02x"), "HEX": each("%02X"), "base64": func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
		"base64url": func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) }, "lines": lines,
		"base64 behind one": func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u" + v)) },
		"base64 behind two": func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + v)) },
	}
	for _, value := range []string{"pa$$ \"w%rd/1+é\\x?<&=9 and more", "0123-4567/AbCd+EfGh_98765432"} {
		r := redact.New("another-value-1", value)
		for name, first := range encodings {
			if got := r.String(first(value)); !strings.Contains(got, redact.Mask) {
				t.Errorf("%s: %q became %q", name, first(value), got)
			}
			for outer, second := range encodings {
				text := second(first(value))
				for _, around := range []string{"", "|", "é", "see: "} {
					got := r.String(around + text + around)
					rest := strings.ReplaceAll(got, redact.Mask, "")
					// What is left are less than MinPart bytes, in both encodings, and quotes.
					if !strings.Contains(got, redact.Mask) || len(rest) > 2*len(around)+max(16, len(text)/4) {
						t.Errorf("%s in %s: %q became %q", name, outer, around+text+around, got)
					}
				}
				var b strings.Builder
				w := r.Writer(&b)
				for i := range text {
					_, _ = w.Write([]byte(text[i : i+1]))
				}
				if err := w.Flush(); err != nil || b.String() != r.String(text) {
					t.Errorf("%s in %s: written it became %q, at once %q (%v)", name, outer, b.String(), r.String(text), err)
				}
			}
		}
	}
}

// TestTwiceOrdinary: what is encoded twice and isn't a value stays.
func TestTwiceOrdinary(t *testing.T) {
	r := redact.New(secret)
	for _, text := range []string{
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("https://example.com/a%20b?x=%7B%22y%22%3A1%7D ", 20))),
		strings.Repeat(`{\"url\":\"https:\/\/example.com\/%2525\",\"text\":\"a\\nb\"}`, 20), strings.Repeat("%2541%2542%25", 100),
		hex.EncodeToString([]byte(strings.Repeat("Some text, and more. ", 50))),
	} {
		if got := r.String(text); got != text {
			t.Errorf("%.100q became %.100q", text, got)
		}
	}
}

func TestParts(t *testing.T) {
	const value = "t0ken-AbCdEfGhIj/K"
	r := redact.New(value)
	for i := range value {
		for j := i; j <= len(value); j++ {
			text := "<" + value[i:j] + ">"
			want := text
			if j-i >= redact.MinPart {
				want = "<" + redact.Mask + ">"
			}
			if got := r.String(text); got != want {
				t.Errorf("%s became %s, want %s", text, got, want)
			}
		}
	}
	if got := r.String(value + value[3:] + "," + value[:9] + "-"); got != redact.Mask+","+redact.Mask+"-" {
		t.Error(got)
	}
}

// What is ordinary is left, and the ordinary of what isn't.
func TestOrdinary(t *testing.T) {
	for _, value := range []string{
		"", "1", "true", "debug", "short77", "localhost", "production", "Development", "00000000", "--------", "=-=-=-=-=", "127.0.0.1:8080", "2001:db8::1:2",
		"en_US.UTF-8", "C.UTF-8", "/home/someone/project", "/usr/local/bin:/usr/bin:/bin", "./tools/server.js", "~/notes/today", "/tmp/TestSomething123456/001",
		"https://api.example.com/v1/projects", "http://localhost:8080", `{"level":"verbose"}`, "[]", redact.Mask, "redacted",
	} {
		if !redact.Ordinary(value) {
			t.Errorf("%q isn't ordinary", value)
		}
		if text := "x " + value + " y"; redact.New(value).String(text) != text {
			t.Errorf("%q isn't left", value)
		}
	}
	for _, c := range []struct{ value, text, want string }{
		{"Bearer abcd1234efgh", "Bearer something; Bearer abcd1234efgh", "Bearer something; Bea" + redact.Mask},
		{"postgres://me:hunter2hunter3@db.example.com:5432/app", "postgres://db.example.com:5432/app hunter2hunter3", "postgres://db.example.com:5432/app " + redact.Mask},
		{"https://h.example.com/x?key=abcdefgh1", "https://h.example.com/x?key=abcdefgh1", "https://h.example.com/x?" + redact.Mask},
		{"https://hooks.example.com/services/T024BE7LD/x9x8x7x6x5x4", "https://hooks.example.com/services/ x9x8x7x6x5x4", "https://hooks.example.com/services/ " + redact.Mask},
		{`{"type":"service","token":"0a1b2c3d4e","pin":123456789}`, `{"type":"service","token": 0a1b2c3d4e 123456789}`, `{"type":"service","token": ` + redact.Mask + " " + redact.Mask + "}"},
		{"-----BEGIN PRIVATE KEY-----\nMIIabcdefgh\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIabcdefgh", "-----BEGIN PRIVATE KEY-" + redact.Mask},
		{"/K7MDENG/bPxRfiCYEXAMPLEKEY", "/K7MDENG/", redact.Mask},
		{"/run/user/0a1b2c3d4e5f/x", "/run/user/ 0a1b2c3d4e5f", "/run/user/ " + redact.Mask},
		{"my-production-7f6", "in production", "in production"},
		{"correct horse battery staple", "correct+horse%20battery", redact.Mask},
		{"passwordpassword1", "passwordpassword1", "p" + redact.Mask},
	} {
		if got := redact.New(c.value).String(c.text); got != c.want {
			t.Errorf("with %q\n%q became\n%q, want\n%q", c.value, c.text, got, c.want)
		}
	}
}

func TestWith(t *testing.T) {
	one := redact.New("first-value-1", "true", "first-value-1")
	two := one.With("second-value-2")
	const text = "first-value-1 second-value-2 true"
	if got := one.String(text); got != redact.Mask+" second-value-2 true" {
		t.Error(got)
	}
	if got := two.String(text); got != redact.Mask+" "+redact.Mask+" true" {
		t.Error(got)
	}
	if one.With("first-value-1", "x") != one {
		t.Error("what adds nothing makes a new one")
	}
	var none *redact.Redactor
	if none.String(text) != text || string(none.Bytes([]byte(text))) != text || none.With("first-value-1").String(text) == text {
		t.Error("the nil one")
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", slog.Any("r", two), slog.Any("rs", []any{two}))
	fmt.Fprintf(&out, "%v %+v %#v %s %q", two, two, two, two, two)
	if left(out.String(), "second-value-2") > len("-value") {
		t.Errorf("it shows its values: %s", &out)
	}
}

// What exceeds the bound isn't looked for, and costs nothing.
func TestBounds(t *testing.T) {
	long := strings.Repeat("0123456789abcdef-", redact.MaxBytes/17+1)
	r := redact.New(long, "second-value-2")
	if got := r.String("second-value-2 456789abcdef"); got != "second-value-2 "+redact.Mask {
		t.Error(got)
	}
}

func TestJSON(t *testing.T) {
	r := redact.New(secret, "value \"one\"", "12345678901", "two,3")
	q := func(s string) string { return strconv.QuoteToASCII(s) }
	for doc, want := range map[string]string{
		`{"b" : [1, true,null, "x"],` + "\n" + `"a":{}}`:             `{"b" : [1, true,null, "x"],` + "\n" + `"a":{}}`,
		`{"value \"one\"":"a value \u0022one\" b","n":-12345678901}`: `{"[redacted]":"a [redacted] b","n":"-[redacted]"}`,
		`"` + strings.Repeat(`\"`, 9) + `"`:                          `"` + strings.Repeat(`\"`, 9) + `"`,
		`not json: value "one"`:                                      `"not json: [redacted]"`,
		`["{\"value \\\"one\\\"\":1}"]`:                              `["{\"[redacted]\":1}"]`,
		`{"x":12345678901e1}`:                                        `{"x":"[redacted]e1"}`,
		``:                                                           ``,
		`[` + q("x") + `]`:                                           `["x"]`,
	} {
		got := r.JSON(json.RawMessage(doc))
		if string(got) != want {
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
	across := redact.New(`abc","defghi`)
	if got := string(across.JSON(json.RawMessage(`["abc","defghi"]`))); got != `"[\"[redacted]\"]"` {
		t.Errorf("across strings: %s", got)
	}
}

func TestError(t *testing.T) {
	r := redact.New("some-secret-1")
	err := fmt.Errorf("open some-secret-1: %w", fs.ErrNotExist)
	got := r.Error(err)
	if got.Error() != "open [redacted]: file does not exist" || !errors.Is(got, fs.ErrNotExist) || errors.Unwrap(got) != nil {
		t.Error(got)
	}
	if s := fmt.Sprintf("%+v %#v", got, got); strings.Contains(s, "some-secret") {
		t.Error(s)
	}
	if plain := errors.New("x"); r.Error(plain) != plain || r.Error(nil) != nil {
		t.Error("what has nothing isn't left")
	}
}

// A stream comes out as the text would, wherever it is cut.
func TestWriter(t *testing.T) {
	rnd := randtest.Rand(t)
	r := redact.New(secret, "other-secret-2")
	var text strings.Builder
	forms := escaped(secret)
	names := slices.Sorted(maps.Keys(forms)) // so that a seed repeats it
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		text.WriteString(name + "=" + forms[name] + strings.Repeat("\u00e9 . ", rnd.IntN(200)) + "other-secret-2\n")
	}
	want := r.String(text.String())
	for range 20 {
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+rnd.IntN(40))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := errors.Join(w.Flush(), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("got\n%q\nwant\n%q", out.String(), want)
		}
	}
	// A value without an end, and none at all.
	var out bytes.Buffer
	w := r.Writer(&out)
	for range 20000 {
		if _, err := w.Write([]byte("other-secret-2")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil || strings.ReplaceAll(out.String(), redact.Mask, "") != "" {
		t.Errorf("%v: %.200q", err, out.String())
	}
	out.Reset()
	w = (*redact.Redactor)(nil).Writer(&out)
	if _, err := w.Write([]byte("x")); err != nil || w.Flush() != nil || out.String() != "x" {
		t.Error(err, out.String())
	}
}

// After a Flush a value goes on to be found, by its part.
func TestFlush(t *testing.T) {
	var out bytes.Buffer
	w := redact.New("0a1b2c3d4e5f6g7h").Writer(&out)
	for _, s := range []string{"x 0a1b2c3d", "4e5f6g7h y"} {
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "x [redacted][redacted] y" {
		t.Error(got)
	}
}

// Whatever the value and the text are: no encoding of the value comes out, what
// comes out has nothing more to take out, a stream is no different, and a text
// without it is left.
func FuzzRedact(f *testing.F) {
	f.Add(secret, "some text ", uint8(3))
	f.Add("0123456789abcdef", "\\", uint8(0))
	f.Add("%%%%%%%%\\\\\\\\", "%", uint8(9))
	f.Add("\xff\xfe\x00\x01\x80\x80\x80\x80x", "\xe2\x82", uint8(1))
	f.Add(`{"a":"0123456789"}`, `"`, uint8(2))
	f.Fuzz(func(t *testing.T, value, around string, cut uint8) {
		r := redact.New(value)
		if got := r.String(around); !strings.Contains(got, redact.Mask) && got != around {
			t.Fatalf("%q became %q", around, got)
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		text := around + value + around
		for rest := text; rest != ""; {
			n := min(len(rest), 1+int(cut))
			_, _ = w.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		_ = w.Flush()
		if got := r.String(text); out.String() != got {
			t.Fatalf("the stream: %q, the text: %q", out.String(), got)
		}
		if doc, err := json.Marshal(map[string]string{text: text}); err == nil {
			if got := r.JSON(doc); !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
		}
		// What stands around it may belong to an escape; and a text may show a value
		// by what is left around a mask, when the value has one.
		if redact.Ordinary(value) || strings.ContainsAny(value+around, `[]\%`) || strings.ContainsAny(around, "0123456789abcdefABCDEF:") {
			return
		}
		if _, err := url.Parse(value); strings.ContainsAny(value, "{[:/") || err != nil && strings.Contains(value, "%") {
			return // of documents and addresses parts are left
		}
		for name, form := range escaped(value) {
			if len(form) < redact.MinPart || !strings.Contains(r.String(around+form+around), redact.Mask) && decodes(name, value) {
				t.Fatalf("%s of %q isn't found in %q", name, value, around+form+around)
			}
			if got := r.String(around + form + around); decodes(name, value) && strings.Contains(got, form) {
				t.Fatalf("%s of %q is left in %q", name, value, got)
			}
		}
	})
}

// decodes reports whether an encoding keeps all of a value: JSON has no bytes that
// aren't UTF-8.
func decodes(name, value string) bool {
	valid := strings.ToValidUTF8(value, "") == value
	switch name {
	case "json", "json twice", "U":
		return valid
	}
	return true
}

func BenchmarkString(b *testing.B) {
	var values []string
	for i := range 40 {
		values = append(values, fmt.Sprintf("value-%d-%x", i, uint64(i+1)*0x9E3779B97F4A7C15))
	}
	r := redact.New(values...)
	for name, text := range map[string]string{
		"text":  strings.Repeat("The quick brown fox jumps over the lazy dog, and says so.\n", 20000),
		"json":  strings.Repeat(`{\"path\":\"C:\\Users\\x\",\"n\":[1,2,3]}%20\n`, 20000),
		"hit":   strings.Repeat(values[7], 20000),
		"twice": base64.StdEncoding.EncodeToString([]byte(strings.Repeat(`{"path":"https://example.com/a%20b"}`, 10000))),
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
