package jsonlite_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/sdk-guest/jsonlite"
)

var lenient = jsonlite.Options{AllowDuplicates: true, AllowInvalidUTF8: true}

var documents = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `-1.5e+10`, `""`, ` { "a" : [ 1 , {"b":null} ] } `,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\u0000\/\b\f\n\r\t\\\""`,
	"\"\xff\"", "{\"\xff\":1}", "\"\x01\"", "\"a\nb\"", "\xef\xbb\xbf{}", "", " ", "{", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
	`[1,]`, `[,1]`, `[1 2]`, `{1:2}`, `{"a" 1}`, `01`, `-`, `1.`, `.1`, `1e`, `1e+`, `+1`, `NaN`, `Infinity`, `tru`, `nul`, `truee`, `'a'`,
	`"\x"`, `"\u12g4"`, `"\u12"`, `"abc`, `"abc\`, `{} {}`, `[]]`, "[\u00a01]", "[1]\x00", "/**/1", "{\"k\":\"v\"}\n\t\r ",
	`{"a":{"a":{"a":1},"b":[[],[[]]]}}`, `"\ud800\udbff"`, `"\ud800\u0041"`, `1e400`, `123456789012345678901234567890`,
	strings.Repeat("[", 512) + strings.Repeat("]", 512),
}

func TestParseAgreesWithOthers(t *testing.T) {
	for _, doc := range documents {
		checkParse(t, []byte(doc))
	}
}

func FuzzParse(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(checkParse)
}

// checkParse compares Parse with encoding/json where it is lenient and with
// jsontext where it is strict, and a walk of the view with what encoding/json
// makes of the document.
func checkParse(t *testing.T, doc []byte) {
	t.Helper()
	v, err := jsonlite.Parse(doc, lenient)
	if tooDeep(err) {
		return
	}
	if want := json.Valid(doc); (err == nil) != want {
		t.Fatalf("lenient %q: %v, encoding/json says %v", doc, err, want)
	}
	_, strictErr := jsonlite.Parse(doc, jsonlite.Options{})
	if want := jsontext.Value(doc).IsValid(); (strictErr == nil) != want {
		t.Fatalf("strict %q: %v, jsontext says %v", doc, strictErr, want)
	}
	if err != nil {
		return
	}
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	wantText, _ := json.Marshal(want)
	gotText, _ := json.Marshal(tree(t, v))
	if string(gotText) != string(wantText) {
		t.Fatalf("walking %q gives %s, want %s", doc, gotText, wantText)
	}
}

func tooDeep(err error) bool {
	var syntax *jsonlite.SyntaxError
	return errors.As(err, &syntax) && strings.HasPrefix(syntax.Reason, "nested deeper")
}

// tree turns a view into what encoding/json decodes into an any.
func tree(t *testing.T, v jsonlite.Value) any {
	t.Helper()
	switch v.Kind() {
	case jsonlite.Object:
		m := map[string]any{}
		for k, e := range v.Members() {
			m[k] = tree(t, e)
		}
		return m
	case jsonlite.Array:
		list := []any{}
		for e := range v.Elements() {
			list = append(list, tree(t, e))
		}
		return list
	case jsonlite.String:
		s, ok := v.Text()
		if !ok {
			t.Fatal("a string has no text")
		}
		return s
	case jsonlite.Bool:
		b, _ := v.Bool()
		return b
	case jsonlite.Number:
		return json.Number(v.Raw())
	case jsonlite.Null:
		return nil
	}
	t.Fatalf("a value without kind: %q", v.Raw())
	return nil
}

func TestDepth(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat(`{"a":[`, n/2) + strings.Repeat("]}", n/2)) }
	if _, err := jsonlite.Parse(deep(512), jsonlite.Options{}); err != nil {
		t.Errorf("512 levels: %v", err)
	}
	if _, err := jsonlite.Parse(deep(514), jsonlite.Options{}); !tooDeep(err) {
		t.Errorf("514 levels: %v", err)
	}
	if _, err := jsonlite.Parse(deep(4), jsonlite.Options{MaxDepth: 3}); !tooDeep(err) {
		t.Errorf("4 levels with MaxDepth 3: %v", err)
	}
	if _, err := jsonlite.Parse([]byte(strings.Repeat("[", 1<<20)), jsonlite.Options{}); !tooDeep(err) {
		t.Errorf("a million levels: %v", err)
	}
}

func TestErrorsDontQuote(t *testing.T) {
	_, err := jsonlite.Parse([]byte(`{"token": sk-secret}`), jsonlite.Options{})
	if want := "invalid JSON at offset 10: a value is expected"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = jsonlite.Parse([]byte(`{"secret":1,"secret":2}`), jsonlite.Options{})
	if want := "invalid JSON at offset 12: duplicate key"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestManyKeys(t *testing.T) {
	var w jsonlite.Writer
	w.BeginObject()
	for i := range int64(1000) {
		w.Key(strings.Repeat("k", int(i)))
		w.Int(i)
	}
	if _, err := jsonlite.Parse(append(w.Bytes(), '}'), jsonlite.Options{}); err != nil {
		t.Error(err)
	}
	w.Key("kkk")
	w.Null()
	w.EndObject()
	if _, err := jsonlite.Parse(w.Bytes(), jsonlite.Options{}); err == nil {
		t.Error("a duplicate among many keys passed")
	}
	v, err := jsonlite.Parse(w.Bytes(), lenient)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := v.Get("kkk"); !ok || m.Kind() != jsonlite.Null {
		t.Errorf("Get returned %q, want the last one", m.Raw())
	}
}

func TestAccessors(t *testing.T) {
	v, err := jsonlite.Parse([]byte(`{"s":"x","n":-7,"f":1.0,"big":9223372036854775808,"b":true,"z":null}`), jsonlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) jsonlite.Value {
		m, ok := v.Get(key)
		if !ok {
			t.Errorf("no %s", key)
		}
		return m
	}
	if n, err := get("n").Int(); n != -7 || err != nil {
		t.Errorf("n: %d, %v", n, err)
	}
	for _, key := range []string{"s", "f", "big", "b", "z"} {
		if _, err := get(key).Int(); !errors.Is(err, jsonlite.ErrNotInteger) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if b, ok := get("b").Bool(); !b || !ok {
		t.Error("b isn't true")
	}
	if _, ok := get("s").Bool(); ok {
		t.Error("a string is a boolean")
	}
	if _, ok := get("n").Text(); ok {
		t.Error("a number is a string")
	}
	if _, ok := v.Get("missing"); ok {
		t.Error("a missing key was found")
	}
	var none jsonlite.Value
	for range none.Elements() {
		t.Error("the zero value has elements")
	}
	for range none.Members() {
		t.Error("the zero value has members")
	}
	for k := range v.Members() {
		if k != "s" {
			t.Errorf("first member is %s", k)
		}
		break
	}
}

var withComments = jsonlite.Options{AllowComments: true}

func TestComments(t *testing.T) {
	for doc, want := range map[string]string{
		"// c\n{\"a\": 1, // d\n \"b\": [1, 2,], /* e */ }": `{"a":1,"b":[1,2]}`,
		"\xef\xbb\xbf[1]":               `[1]`,
		`{"//": "/* no */", "b,": "]"}`: `{"//":"/* no */","b,":"]"}`,
		"[1 /*, 2 */, // 3,\r\n]//":     `[1]`,
		`[{},[],"",]`:                   `[{},[],""]`,
		`/***/1/* * / */`:               `1`,
		`["\"//",]`:                     `["\"//"]`,
	} {
		v, err := jsonlite.Parse([]byte(doc), withComments)
		if err != nil {
			t.Errorf("%q: %v", doc, err)
			continue
		}
		if got, _ := json.Marshal(tree(t, v)); string(got) != want {
			t.Errorf("%q: %s, want %s", doc, got, want)
		}
		if _, err := jsonlite.Parse([]byte(doc), jsonlite.Options{}); err == nil && doc != `{"//": "/* no */", "b,": "]"}` {
			t.Errorf("%q is JSON without comments", doc)
		}
	}
	for _, doc := range []string{
		`[,]`, `{,}`, `[1,,]`, `{"a":,}`, `[1,2,,3]`, `/* open`, `/`, `[1]/`, `1/2`, `/ /1`, `tr/**/ue`, `1/**/2`, `"/*`, `["a\`, `,`, `// only`, `[1/*,]`,
	} {
		if v, err := jsonlite.Parse([]byte(doc), withComments); err == nil {
			t.Errorf("%q was taken: %s", doc, v.Raw())
		}
	}
}

// TestCommentsKeepPlaces: errors point into the document as it is.
func TestCommentsKeepPlaces(t *testing.T) {
	doc := []byte("{ // one\n /* two\n */ \"a\": x }")
	_, err := jsonlite.Parse(doc, withComments)
	var syntax *jsonlite.SyntaxError
	if !errors.As(err, &syntax) || doc[syntax.Offset] != 'x' || syntax.Line(doc) != 3 {
		t.Errorf("%v", err)
	}
}

// FuzzComments: JSON is the same with comments between its tokens, a comma at the end
// and everything else that is allowed; and nothing else is JSON for it.
func FuzzComments(f *testing.F) {
	for i, doc := range documents {
		f.Add([]byte(doc), uint64(i))
	}
	f.Add([]byte("{\"a\":[1,2]} // c"), uint64(7))
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		_, _ = jsonlite.Parse(doc, withComments) // must not panic
		strict, err := jsonlite.Parse(doc, jsonlite.Options{})
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		text := decorate(r, strict)
		v, err := jsonlite.Parse([]byte(text), withComments)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, _ := json.Marshal(tree(t, v))
		want, _ := json.Marshal(tree(t, strict))
		if string(got) != string(want) {
			t.Fatalf("%q\ngives %s\nwant  %s", text, got, want)
		}
	})
}

// decorate writes a value with comments and trailing commas.
func decorate(r *rand.Rand, v jsonlite.Value) string {
	gap := func() string { return []string{"", " ", "// ]\n", "/* , */", "/**/", "\n"}[r.IntN(6)] }
	comma := func() string { return []string{"", ","}[r.IntN(2)] }
	var parts []string
	switch v.Kind() {
	case jsonlite.Object:
		for k, e := range v.Members() {
			parts = append(parts, gap()+string(jsonlite.AppendString(nil, k))+gap()+":"+gap()+decorate(r, e)+gap())
		}
	case jsonlite.Array:
		for e := range v.Elements() {
			parts = append(parts, gap()+decorate(r, e)+gap())
		}
	default:
		return gap() + string(v.Raw()) + gap()
	}
	text := strings.Join(parts, ",")
	if len(parts) > 0 {
		text += comma() + gap()
	}
	if v.Kind() == jsonlite.Object {
		return gap() + "{" + text + "}" + gap()
	}
	return gap() + "[" + text + "]" + gap()
}
