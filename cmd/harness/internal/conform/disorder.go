package conform

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// parents are things in the place of directories.
func (c *checker) parents() []*place {
	var dirs []string
	for _, v := range c.sample.victims {
		if dir, _, ok := strings.Cut(v, "/"); ok && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		if at := strings.LastIndex(v, "/"); at > 0 && !slices.Contains(dirs, v[:at]) {
			dirs = append(dirs, v[:at])
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	const hint = "a directory that can't be listed holds nothing for you: go on, with a warning at most"
	of := func(name string, e entry, top bool) *place {
		t := c.sample.tree
		for _, dir := range dirs {
			if top == strings.Contains(dir, "/") {
				continue
			}
			e.path = dir
			t = t.with(e)
		}
		return &place{name: name, rule: ruleParents, tree: t, lenient: true, hint: hint}
	}
	var places []*place
	for _, top := range []bool{true, false} {
		suffix := map[bool]string{true: "-top", false: "-nested"}[top]
		places = append(places,
			of("dir-file"+suffix, entry{text: "not a directory\n"}, top),
			of("dir-fifo"+suffix, entry{kind: pipe}, top),
			of("dir-broken-link"+suffix, entry{kind: link, text: "no-such-dir"}, top),
			of("dir-link-out"+suffix, entry{kind: link, text: "$OUT/dir"}, top),
			of("dir-link-loop"+suffix, entry{kind: link, text: "."}, top),
			of("dir-empty"+suffix, entry{kind: directory}, top))
		if os.Geteuid() != 0 {
			places = append(places, of("dir-unreadable"+suffix, entry{kind: directory, sealed: true}, top))
		}
	}
	return places
}

// oddNames are names that people don't expect.
func (c *checker) oddNames() []*place {
	odd := []string{
		"with blank", "new\nline", "-dash", "quote\"s", "'", "$(touch x)", "ünïcödé", "\u202egnp", "emoji😀", "...", "a,b", "{x}", "[y]", "*",
		strings.Repeat("n", 200), "UPPER", "under_score", "%41", "tab\tbed", "\x01\x02", "\xff\xfe", "latin\xe9",
	}
	hint := "take names as they come, and cut what you show of them"
	return []*place{
		{name: "names", rule: ruleNames, tree: c.sample.named(c.sample.stars, odd...), plain: true, victims: []string{}, hint: hint},
	}
}

const (
	// crowd is how many files a crowded workspace has at most: thousands, but
	// fewer than a run may open.
	crowd = 2000
	// deepest is how many directories lie in each other, of which none is
	// longer than a letter.
	deepest = 120
)

// crowds are workspaces with very much in them.
func (c *checker) crowds() []*place {
	var places []*place
	if n := len(c.sample.stars); n > 0 {
		var names []string
		for i := range max(crowd/n, 50) {
			names = append(names, fmt.Sprintf("crowd-%04d", i))
		}
		places = append(places, &place{name: "crowd", rule: ruleCrowd, tree: c.sample.named(c.sample.stars, names...), plain: true})
	}
	if len(c.sample.deep) > 0 {
		var names []string
		for _, depth := range []int{20, 60, deepest} {
			names = append(names, strings.Repeat("d/", depth-1)+"d")
		}
		places = append(places, &place{name: "deep", rule: ruleCrowd, tree: c.sample.named(c.sample.deep, names...), plain: true})
	}
	return places
}
