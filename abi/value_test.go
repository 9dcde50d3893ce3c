package abi_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"waymark/abi"
)

func TestValueJSON(t *testing.T) {
	for text, want := range map[string]abi.Value{
		`""`:                   abi.String(""),
		`"a\u00e9\n\"\\\/"`:    abi.String("aé\n\"\\/"),
		`"\ud83d\ude00\ud800"`: abi.String("😀\ufffd"),
		`[]`:                   abi.Strings(),
		` [ "a" , "b,]" ] `:    abi.Strings("a", "b,]"),
	} {
		var got abi.Value
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`null`, `1`, `true`, `{}`, `[1]`, `["a",null]`, `[["a"]]`} {
		var got abi.Value
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, abi.ErrValue) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	if v := abi.Strings("ab", "c"); v.Size() != 3 || !v.IsList() || abi.String("x").IsList() {
		t.Errorf("%+v: size %d", v, v.Size())
	}
}

// FuzzValueJSON compares with what encoding/json does with a string and a
// slice.
func FuzzValueJSON(f *testing.F) {
	f.Add([]byte(`"a\u00e9\ud83d\ude00"`))
	f.Add([]byte(`[ "a","\\\"" ]`))
	f.Add([]byte("\"\xff\\ud800\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got abi.Value
		err := got.UnmarshalJSON(text) // must not panic, whatever the text is
		if !json.Valid(text) {
			return
		}
		var s *string
		var list []*string
		want := abi.Value{}
		switch {
		case json.Unmarshal(text, &s) == nil && s != nil:
			want = abi.String(*s)
		case json.Unmarshal(text, &list) == nil && list != nil:
			want = abi.Strings()
			for _, e := range list {
				if e == nil {
					want = abi.Value{}
					break
				}
				want.List = append(want.List, *e)
			}
		}
		if (want.Text != "" || want.List != nil) && err != nil || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
		if err == nil {
			again, err := json.Marshal(got)
			var back abi.Value
			if err != nil || json.Unmarshal(again, &back) != nil || !reflect.DeepEqual(back, got) {
				t.Fatalf("%s: %+v is written as %s", text, got, again)
			}
		}
	})
}
