package sandbox

import (
	"runtime"
	"strings"
	"testing"
)

// TestManyRows: rows beyond those that anybody keeps cost next to nothing, and
// what is wrong with them is found all the same.
func TestManyRows(t *testing.T) {
	answer := func(last string) []byte {
		return []byte(`{"resources":[` + strings.Repeat("{},", 300_000) + last + `],"warnings":["w"]}`)
	}
	var before, after runtime.MemStats
	data := answer("{}")
	runtime.ReadMemStats(&before)
	r, rows, err := decodeResponse(data)
	runtime.ReadMemStats(&after)
	if err != nil || rows != 300_001 || len(r.Resources) != maxRows || len(r.Warnings) != 1 {
		t.Fatalf("%d of %d rows, %v", len(r.Resources), rows, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("decoding %d bytes takes %d", len(data), grown)
	}
	for _, last := range []string{`{"a":1,"a":2}`, `{`, `nope`, "\"\xff\""} {
		if _, _, err := decodeResponse(answer(last)); err == nil {
			t.Errorf("a last row of %q is taken", last)
		}
	}
	for _, list := range []string{`null`, `{}`, `"x"`, `[1]`, `[`, `[{}`, `[{},`, `[{"kind":1}]`} {
		if r, _, err := decodeResponse([]byte(`{"resources":` + list + `}`)); err == nil && list != "null" {
			t.Errorf("%s is taken for %v", list, r)
		}
	}
}
