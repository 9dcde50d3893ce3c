package api_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"waymark/hub/api"
)

// TestEncodeCoverage: what fits comes back whole; of what doesn't, the first files of each
// group, and how many more there are.
func TestEncodeCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	group := func(n, length int) api.CoverageGroup {
		g := api.CoverageGroup{Reason: "no_kind", Text: fmt.Sprintf("%d files", n), Files: []api.CoverageFile{}}
		for i := range n {
			noise := make([]byte, length)
			for i := range noise {
				noise[i] = byte('!' + random.IntN(90))
			}
			g.Files = append(g.Files, api.CoverageFile{Path: fmt.Sprintf("/w/%d%s", i, noise), As: "hooks", Readers: []string{"claude"}})
		}
		return g
	}
	wide := api.CoverageGroup{Reason: strings.Repeat("r", 1<<20), Text: strings.Repeat("é", 1<<20), Files: []api.CoverageFile{{As: strings.Repeat("a", 1<<20), Readers: slicesOf(strings.Repeat("x", 1<<12), 5000)}}}
	for what, c := range map[string]struct {
		in    []api.CoverageGroup
		whole bool
	}{
		"none":            {[]api.CoverageGroup{}, true},
		"some":            {[]api.CoverageGroup{group(6, 0), group(200, 0)}, true},
		"withheld":        {[]api.CoverageGroup{{Reason: "no_kind", Text: "3 files", Files: []api.CoverageFile{}, Withheld: 3}}, true},
		"many":            {[]api.CoverageGroup{group(5000, 5), group(3, 0)}, false},
		"long":            {[]api.CoverageGroup{group(150, 900), group(150, 900)}, false},
		"too long a path": {[]api.CoverageGroup{group(1, 1<<20)}, false},
		"wide":            {[]api.CoverageGroup{wide, wide, wide, wide, wide, wide, wide, wide}, false},
	} {
		body, err := api.EncodeCoverage(api.Coverage{Groups: c.in, Partial: true})
		if err != nil || len(body) > api.MaxEncoded {
			t.Errorf("%s: %d bytes, %v", what, len(body), err)
			continue
		}
		got, err := api.DecodeCoverage(body)
		if err != nil || !got.Partial || len(got.Groups) != len(c.in) {
			t.Errorf("%s: %v, %v", what, got, err)
			continue
		}
		if c.whole && !reflect.DeepEqual(got.Groups, c.in) {
			t.Errorf("%s: it came back as something else", what)
		}
		for i, g := range got.Groups {
			if len(g.Files)+g.LeftOff != len(c.in[i].Files) || len(c.in[i].Files) > 0 && len(g.Files) == 0 {
				t.Errorf("%s: %d files and %d left off of %d", what, len(g.Files), g.LeftOff, len(c.in[i].Files))
			}
		}
	}
}

func slicesOf(text string, n int) (list []string) {
	for range n {
		list = append(list, text)
	}
	return list
}

// TestHostileCoverage: a peer's answer is bounded before it is taken.
func TestHostileCoverage(t *testing.T) {
	for what, body := range map[string][]byte{
		"nothing": nil, "no JSON": deflated("{"), "another type": deflated(`{"groups":1}`), "too long": make([]byte, api.MaxEncoded+1),
		"a bomb":       deflated(`{"groups":[{"text":"` + strings.Repeat("x", 16<<20) + `"}]}`),
		"many groups":  deflated(`{"groups":[` + strings.Repeat("{},", 8) + `{}]}`),
		"many files":   deflated(`{"groups":[{"files":[` + strings.Repeat("{},", 200) + `{}]}]}`),
		"many readers": deflated(`{"groups":[{"files":[{"readers":[` + strings.Repeat(`"",`, 32) + `""]}]}]}`),
	} {
		if _, err := api.DecodeCoverage(body); !errors.Is(err, api.ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What is missing is nothing, and not null.
	got, err := api.DecodeCoverage(deflated(`{"groups":[{"files":[{}]},{}]}`))
	if err != nil || got.Groups[0].Files[0].Readers == nil || got.Groups[1].Files == nil {
		t.Errorf("%+v, %v", got, err)
	}
}
