package plugins_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"waymark/abi"
	"waymark/plugins"
	"waymark/test/randtest"
)

// TestCollections: of a repository that is a collection of skills, sorted into such
// directories as openai/skills has, each skill is found once, and nothing else: no
// directory without SKILL.md, nothing deeper, nothing in a directory of another name.
func TestCollections(t *testing.T) {
	r := randtest.Rand(t)
	for range randtest.Rounds(20, 100, 2000) {
		tree, want := fstest.MapFS{}, []string(nil)
		put := func(p, text string) { tree[p] = &fstest.MapFile{Data: []byte(text)} }
		for i := range 1 + r.IntN(60) {
			name := fmt.Sprintf("s%d", i)
			text := "---\nname: " + name + "\ndescription: About it.\n---\nBody\n"
			group := []string{"skills", "skills/.curated", "skills/.experimental", "skills/.system"}[r.IntN(4)]
			dir := group + "/" + name
			switch r.IntN(6) {
			case 0:
				put(dir+"/README.md", "no skill")
			case 1:
				put("skills/.other/"+name+"/SKILL.md", text)
			case 2:
				put(group+"/deep/"+name+"/more/SKILL.md", text)
			default:
				put(dir+"/SKILL.md", text)
				put(dir+"/references/SKILL.md", text)
				want = append(want, dir)
			}
		}
		out, err := plugins.Module().HandleResolve([]byte(`{"abi":1,"resolver":"context","root":{"name":"w","file":"","role":""},"config":{}}`), tree)
		if err != nil {
			t.Fatal(err)
		}
		var resp abi.Response
		if err := json.Unmarshal(out, &resp); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, res := range resp.Resources {
			if got = append(got, res.Path); res.Kind != abi.KindSkill || res.Status == abi.StatusInvalid || res.Convention == "" {
				t.Errorf("%+v", res)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("found %q\nwant  %q", got, want)
		}
	}
}
