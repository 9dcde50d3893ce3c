package guest_test

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

// TestMemoNatively: without a host that remembers, everything is computed, and
// one Memo in another too.
func TestMemoNatively(t *testing.T) {
	var req guest.Request
	calls := 0
	for range 2 {
		got := req.Memo("outer", func() []byte {
			calls++
			return req.Memo("inner", func() []byte { calls++; return []byte("v") })
		})
		if string(got) != "v" {
			t.Errorf("got %q", got)
		}
	}
	if calls != 4 {
		t.Errorf("computed %d times", calls)
	}
	if got := req.Memo(strings.Repeat("k", 5000), func() []byte { return nil }); got != nil {
		t.Errorf("a long key: %q", got)
	}
}

var someResources = []guest.Resource{
	{Kind: guest.Skill, Path: "a"},
	{
		Kind: guest.InstructionFile, Path: "b/\u2028\"\\\x00", Key: "k", Name: "ünïcode", Description: strings.Repeat("long ", 100),
		Content: guest.File("b/f"), Status: abi.StatusInvalid, Error: "e",
		Attributes: map[string]guest.Value{"list": abi.Strings("x", ""), "none": abi.Strings(), "text": abi.String("t")},
	},
	{Kind: guest.Command, Path: "c", Content: guest.Inline("")},
}

// TestPart: what compute gives is what comes out, rows first.
func TestPart(t *testing.T) {
	var req guest.Request
	want := guest.Part{Rows: guest.Encode(someResources...), Warnings: []string{"w"}, Note: "n"}
	part := req.Part("k", func() guest.Part { return want })
	if !reflect.DeepEqual(part, want) {
		t.Errorf("got %+v", part)
	}
	m := module(func(*guest.Request, fs.FS) (*guest.Response, error) {
		return &guest.Response{Rows: []guest.Rows{part.Rows, {}}, Resources: []guest.Resource{{Kind: guest.Skill, Path: "z"}}, Warnings: part.Warnings}, nil
	})
	got, err := m.HandleResolve([]byte(request), fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	m = module(func(*guest.Request, fs.FS) (*guest.Response, error) {
		all := append(someResources[:3:3], guest.Resource{Kind: guest.Skill, Path: "z"})
		return &guest.Response{Resources: all, Warnings: []string{"w"}}, nil
	})
	plain, err := m.HandleResolve([]byte(request), fstest.MapFS{})
	if err != nil || string(got) != string(plain) {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, plain)
	}
}

func TestRows(t *testing.T) {
	for n := range len(someResources) + 1 {
		back, err := guest.Encode(someResources[:n]...).Decode()
		if err != nil || len(back) != n {
			t.Fatalf("%d: %v, %v", n, back, err)
		}
		for i := range back {
			if !reflect.DeepEqual(back[i], someResources[i]) {
				t.Errorf("got  %+v\nwant %+v", back[i], someResources[i])
			}
		}
	}
}
