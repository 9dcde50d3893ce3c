package main

import (
	"fmt"
	"io/fs"
	"strings"

	"waymark/sdk-guest"
)

// units computes units with keys and values of many lengths, and says how many
// of them were remembered and what is wrong with those.
func units(req *guest.Request, _ fs.FS) (*guest.Response, error) {
	text := func(n, seed int) string {
		var b strings.Builder
		for i := range n {
			b.WriteByte(byte(i*7 + n + seed))
		}
		return b.String()
	}
	lengths := []int{4000, 4094, 4095, 4096, 5000, 60_000}
	for n := range 140 {
		lengths = append(lengths, n)
	}
	remembered := 0
	resp := &guest.Response{}
	for _, n := range lengths {
		for _, m := range []int{n, n % 9, 3 * n % 200} {
			key, want := text(n, 1)+fmt.Sprint(m), text(m, 2)
			computed := false
			got := req.Memo(key, func() []byte { computed = true; return []byte(want) })
			if !computed {
				remembered++
			}
			if string(got) != want {
				resp.Warnings = append(resp.Warnings, fmt.Sprintf("a key of %d bytes gives %d, not %d", len(key), len(got), m))
			}
		}
	}
	parts := 0
	rows := guest.Encode(guest.Resource{Kind: guest.InstructionFile, Path: "f", Name: "n\u00e9"})
	part := req.Part("part", func() guest.Part { parts++; return guest.Part{Rows: rows, Warnings: []string{"w"}, Note: "note"} })
	if part.Rows.String() != rows.String() || part.Rows.Len() != rows.Len() || part.Note != "note" || len(part.Warnings) != 1 {
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("another part: %+v", part))
	}
	req.Part("forgotten", func() guest.Part { parts++; return guest.Part{Rows: rows, Forget: true} })
	resp.Rows = append(resp.Rows, part.Rows)
	resp.Warnings = append(resp.Warnings, fmt.Sprintf("%d remembered, %d parts computed", remembered, parts))
	return resp, nil
}
