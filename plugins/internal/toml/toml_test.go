//go:build !wasip1

package toml_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	bstoml "github.com/BurntSushi/toml"

	"waymark/plugins/internal/toml"
	"waymark/sdk-guest/jsonlite"
	"waymark/test/testenv"
)

var documents = []string{
	"", "\n", "# comment", "a = 1", "a.b.c = 1\na.b.d = 2", "[a]\nb = 1\n[a.c]\nd = 2", "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1",
	"a = \"x\\n\\u00e9\\U0001F600\\e\\x41\"", "a = 'C:\\x'", "a = \"\"\"\nx \\\n   y\"\"\"\"\"", "a = '''\nx'''''",
	"a = [1, 2, # c\n 3,]", "a = {b = 1, c = {d = 2},}", "a = {\n}", "a = 0xff_ff", "a = -0", "a = +-0", "a = +1_000", "a = 1e06", "a = -inf", "a = nan",
	"a = 1979-05-27T07:32:00.5-07:00", "a = 1979-05-27 07:32", "a = 07:32:00", "a = 2023-02-29", "\"\" = 1", "'a b'.\"c\" = 1",
	"[a]\n[a]", "a = 1\na = 2", "a = {b = 1}\na.c = 2", "a = []\n[[a]]", "[[a]]\n[a]", "[a.b]\n[a]\nb.c = 1", "a.b = 1\n[a]", "a.b = 1\n[a.c]",
	"a = 01", "a = 1__0", "a = .5", "a = 5.", "a = tru", "a = ", "a", "[a", "[a]b", "a = 1 b = 2", "a = \"\\q\"", "a = \"\n\"", "a = '''", "\x00", "a = \"\xff\"",
	"[mcp_servers.x]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = { TOKEN = \"t\" }", "a = 9223372036854775808", "a = 1e999", "a = 0b101", "\r", "a = 1\r\n",
}

// TestLikeTheLibrary: what Parse takes, the library takes, and makes the same of it.
func TestLikeTheLibrary(t *testing.T) {
	for _, doc := range documents {
		check(t, []byte(doc))
	}
	r := testenv.Rand(t)
	taken := 0
	rounds := testenv.Rounds(500, 5000, 500_000)
	for range rounds {
		if check(t, []byte(randomDocument(r))) {
			taken++
		}
	}
	if taken < rounds/10 {
		t.Errorf("only %d of %d random documents are TOML", taken, rounds)
	}
}

func FuzzParse(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) { check(t, doc) })
}

func check(t *testing.T, doc []byte) (taken bool) {
	t.Helper()
	got, err := toml.Parse(doc)
	if err != nil {
		var syntax *toml.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > strings.Count(string(doc), "\n")+1 {
			t.Fatalf("%q: %v", doc, err)
		}
		return false
	}
	var want map[string]any
	if err := bstoml.Unmarshal(doc, &want); err != nil {
		t.Fatalf("%q was taken: %s; the library says %v", doc, got.Raw(), err)
	}
	if have := plainTree(got); !same(have, want) {
		t.Fatalf("%q\ngives %v\nwant  %v", doc, have, want)
	}
	return true
}

func plainTree(v jsonlite.Value) any {
	switch v.Kind() {
	case jsonlite.Object:
		m := map[string]any{}
		for k, e := range v.Members() {
			m[k] = plainTree(e)
		}
		return m
	case jsonlite.Array:
		list := []any{}
		for e := range v.Elements() {
			list = append(list, plainTree(e))
		}
		return list
	case jsonlite.String:
		s, _ := v.Text()
		return s
	case jsonlite.Bool:
		b, _ := v.Bool()
		return b
	}
	return json.Number(v.Raw())
}

// same compares a value with the library's, of which dates and floats without a number
// are texts here.
func same(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k, e := range w {
			if one, ok := g[k]; !ok || !same(one, e) {
				return false
			}
		}
		return true
	case []map[string]any:
		list := make([]any, len(w))
		for i := range w {
			list[i] = w[i]
		}
		return same(got, list)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case int64:
		return got == json.Number(strconv.FormatInt(w, 10))
	case float64:
		if math.IsNaN(w) || math.IsInf(w, 0) {
			s, ok := got.(string)
			f, err := strconv.ParseFloat(strings.TrimLeft(s, "+"), 64)
			return ok && err == nil && (f == w || math.IsNaN(w)) || strings.HasSuffix(s, "nan") && math.IsNaN(w)
		}
		n, ok := got.(json.Number)
		f, err := n.Float64()
		return ok && err == nil && f == w
	case time.Time:
		_, ok := got.(string)
		return ok
	}
	return reflect.DeepEqual(got, want)
}

// randomDocument puts pieces together that often make a document.
func randomDocument(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var b strings.Builder
	for range r.IntN(8) {
		key := pick("a", "b", "c", "a.b", "b.c", `"q k"`, "c.a.b")
		switch r.IntN(6) {
		case 0:
			b.WriteString("[" + key + "]")
		case 1:
			b.WriteString("[[" + key + "]]")
		default:
			b.WriteString(key + " = " + randomValue(r, 0))
		}
		b.WriteString(pick("\n", "\n", "\n", "\r\n", " # c\n", ""))
	}
	text := []byte(b.String())
	if len(text) > 0 && r.IntN(4) == 0 {
		const odd = "\"'[]{}=.,#\n\\_-+0e:T x"
		text[r.IntN(len(text))] = odd[r.IntN(len(odd))]
	}
	return string(text)
}

func randomValue(r *rand.Rand, depth int) string {
	values := []string{
		"1", "-17", "0x1F", "1_000", "3.5", "6e-3", "true", "false", `"text"`, `'raw\'`, `"\t\"\u00e9"`, "\"\"\"a\n\\\n  b\"\"\"",
		"'''\na'b'''", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "inf",
	}
	if depth > 3 || r.IntN(3) > 0 {
		return values[r.IntN(len(values))]
	}
	if r.IntN(2) == 0 {
		return "[" + randomValue(r, depth+1) + ", " + randomValue(r, depth+1) + "\n]"
	}
	return "{a = " + randomValue(r, depth+1) + ", b.c = " + randomValue(r, depth+1) + "}"
}

// TestSuite runs TOML's own test suite, which the library has with it.
func TestSuite(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/BurntSushi/toml").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(strings.TrimSpace(string(dir)), "internal", "toml-test", "tests")
	valid, invalid := 0, 0
	err = filepath.WalkDir(suite, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".toml" || filepath.Dir(path) == suite {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(suite, path)
		_, err = toml.Parse(text)
		switch {
		case strings.HasPrefix(name, "valid"):
			valid++
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			check(t, text)
		case !newlyValid[name]:
			invalid++
			if err == nil {
				t.Errorf("%s was taken", name)
			}
		}
		return nil
	})
	if err != nil || valid < 100 || invalid < 200 {
		t.Errorf("%d valid and %d invalid documents: %v", valid, invalid, err)
	}
}

// newlyValid are documents that were invalid in TOML 1.0 and aren't any more.
var newlyValid = map[string]bool{
	"invalid/datetime/no-secs.toml":            true,
	"invalid/inline-table/linebreak-01.toml":   true,
	"invalid/inline-table/linebreak-02.toml":   true,
	"invalid/inline-table/linebreak-03.toml":   true,
	"invalid/inline-table/linebreak-04.toml":   true,
	"invalid/inline-table/trailing-comma.toml": true,
	"invalid/local-datetime/no-secs.toml":      true,
	"invalid/local-time/no-secs.toml":          true,
	"invalid/string/basic-byte-escapes.toml":   true,
}

func TestErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"a = 1\nb = secret-token\n":        "invalid TOML in line 2: neither text, number, boolean nor date",
		"a = 1\n\n\"secret\" = 1\na = 2":   "invalid TOML in line 4: the key is defined already",
		"[secret":                          "invalid TOML in line 1: ] is expected",
		strings.Repeat("a.", 64) + "a = 1": "invalid TOML in line 1: nested deeper than 64 levels",
		"a = " + strings.Repeat("[", 100):  "invalid TOML in line 1: nested deeper than 64 levels",
	} {
		if _, err := toml.Parse([]byte(doc)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", doc, err, want)
		}
	}
}

// TestLarge: a table with many keys takes time in proportion to them.
func TestLarge(t *testing.T) {
	var b strings.Builder
	for i := range 50_000 {
		b.WriteString("k" + strconv.Itoa(i) + " = 1\n")
	}
	check(t, []byte(b.String()))
}
