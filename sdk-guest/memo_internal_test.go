package guest

import (
	"reflect"
	"strings"
	"testing"
)

func TestPartBetweenRuns(t *testing.T) {
	for _, want := range []Part{
		{},
		{Note: "n"},
		{Rows: `{"kind":"skill","path":"a"}`, Warnings: []string{"", "w", strings.Repeat("long ", 100)}, Note: strings.Repeat("n", 20_000)},
	} {
		if got, ok := decodePart(string(want.encode())); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, ok, want)
		}
	}
	for _, bad := range []string{"", "\x05ab", "\x80", "\xff\xff\xff\xff\xff", "\x00\x01", "\x00\x01\x09"} {
		if p, ok := decodePart(bad); ok {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func FuzzPart(f *testing.F) {
	f.Add("\x01n\x01\x01w{}")
	f.Add("\x00\xff\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := decodePart(s)
		if !ok {
			return
		}
		if again, ok := decodePart(string(p.encode())); !ok || !reflect.DeepEqual(again, p) {
			t.Errorf("%+v comes back as %+v", p, again)
		}
	})
}
