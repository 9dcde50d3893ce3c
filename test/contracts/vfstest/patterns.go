package vfstest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// PatternKinds are the ways in which HostilePattern multiplies the work of
// matching.
func PatternKinds() []string {
	return []string{"deep", "braces", "nested", "single", "stars", "classes", "branches", "names", "long", "escapes"}
}

// HostilePattern makes a pattern of at most 1024 bytes that takes as much time
// or memory as it can, in one of several ways. Equal random numbers give equal
// patterns; n distinguishes those of one set.
func HostilePattern(r *rand.Rand, kind string, n int) string {
	letter := func() string { return string(rune('a' + r.IntN(2))) }
	repeat := func(s string, most int) string { return strings.Repeat(s, 1+r.IntN(most)) }
	own := fmt.Sprintf("x%d", n)
	var p string
	switch kind {
	case "deep": // each ** may stand at every name
		for len(p) < 100+r.IntN(900) {
			p += "**/" + letter() + "/"
		}
	case "braces": // 2 to the power of their number
		p = repeat("{a,b}", 190)
	case "nested":
		depth := 1 + r.IntN(240)
		p = strings.Repeat("{a,", depth) + "b" + strings.Repeat("}", depth)
	case "single": // multiply nothing, and are expanded all the same
		p = repeat("{a}", 330)
	case "stars":
		p = repeat(letter()+"*", 400)
	case "classes":
		p = repeat("[!"+strings.Repeat("b", 1+r.IntN(40))+"]*", 22)
	case "branches": // every directory is another
		for len(p) < 900 {
			p += fmt.Sprintf("%x/", r.IntN(1<<20))
		}
	case "names":
		p = strings.Repeat(letter(), 1+r.IntN(250)) + "?/*/"
	case "long":
		p = repeat("{"+strings.Repeat("y", 1+r.IntN(60))+",z}", 14)
	case "escapes":
		return repeat(letter()+`\`+letter()+"{/**/,/}", 90) + own
	default:
		panic("vfstest: no kind of pattern " + kind)
	}
	return strings.TrimSuffix(p, "/") + "/" + own
}

// HostilePath makes a path of at most 4096 bytes that such patterns match, or
// nearly match, for as long as possible.
func HostilePath(r *rand.Rand) string {
	var names []string
	size := 0
	for size < 4000 {
		name := strings.Repeat(string(rune('a'+r.IntN(2))), 1+r.IntN(1+r.IntN(250)))
		if r.IntN(10) == 0 {
			name = ".e\u00adnv~1"
		}
		names = append(names, name)
		size += len(name) + 1
		if len(names) > 300 && r.IntN(3) > 0 {
			break
		}
	}
	return strings.ToValidUTF8(strings.Join(names, "/")[:min(4000, size-1)], "")
}
