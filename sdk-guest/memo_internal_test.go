package guest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestPartBetweenRuns(t *testing.T) {
	for _, want := range []Part{
		{},
		{Note: "n"},
		{Warnings: []string{"", "w", strings.Repeat("long ", 100)}, Note: strings.Repeat("n", 20_000)},
	} {
		var got Part
		if ok := got.decode(string(want.encode())); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, ok, want)
		}
	}
	for _, bad := range []string{"", "\x05ab", "\x80", "\xff\xff\xff\xff\xff", "\x00\x01", "\x00\x01\x09", "\x00\x00x"} {
		var p Part
		if p.decode(bad) {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestBadRows(t *testing.T) {
	for _, bad := range []string{"{", "{}]", "1", `{"path":1}`, `{"content":1}`, `{"attributes":{"a":1}}`, `{"kind":"a","kind":"b"}`} {
		if _, err := (Rows{text: bad, size: len(bad)}).Decode(); !errors.Is(err, ErrRows) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestAnswer: an answer that is put together of pieces is the answer.
func TestAnswer(t *testing.T) {
	a, b, c := Encode(Resource{Path: "a"}), Encode(Resource{Path: "b"}), Encode(Resource{Path: "c"})
	kernel := "????," + a.text + "????," + b.text + "????," + c.text
	inKernel := func(r Rows) Rows {
		return Rows{block: uint64(strings.Index(kernel, r.text)), size: r.size}
	}
	whole := func(rows ...Rows) string {
		resp := encodeResponse(&Response{Rows: rows, Resources: []Resource{{Path: "d"}}, Warnings: []string{"w"}})
		var out strings.Builder
		from := 0
		for _, b := range resp.blocks {
			out.Write(resp.text[from:b.at])
			from = b.at
			out.WriteString(kernel[b.block : b.block+uint64(b.size)])
		}
		out.Write(resp.text[from:])
		if out.Len() != resp.len() {
			t.Errorf("%d bytes, %d told", out.Len(), resp.len())
		}
		return out.String()
	}
	want := whole(a, b, c)
	for _, rows := range [][]Rows{
		{inKernel(a), inKernel(b), inKernel(c)}, {{}, inKernel(a), b, {}, inKernel(c)}, {a, inKernel(b), c}, {inKernel(a), b, c},
	} {
		if got := whole(rows...); got != want {
			t.Errorf("%+v:\ngot  %s\nwant %s", rows, got, want)
		}
	}
}

func FuzzPart(f *testing.F) {
	f.Add("\x01n\x01\x01w")
	f.Add("\x00\xff\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		var p, again Part
		if !p.decode(s) {
			return
		}
		if ok := again.decode(string(p.encode())); !ok || !reflect.DeepEqual(again, p) {
			t.Errorf("%+v comes back as %+v", p, again)
		}
	})
}
