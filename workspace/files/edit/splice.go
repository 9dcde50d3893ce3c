package edit

import (
	"slices"
	"strings"

	"waymark/agentapi"
)

// splicer writes the replacement of matched lines, for one edit.
type splicer struct {
	search, replace []line
	// partner is the search's line to which a line of the replacement belongs, -1 for an
	// inserted one.
	partner []int
	// by is the search's line by which it is indented.
	by []int
	// ending is that of inserted lines. changed says that search and replacement each have
	// one ending throughout, and not the same, so the replacement's is used.
	ending  string
	changed bool
	// emptied says that everything is deleted except the end of the last line, which the
	// search doesn't have.
	emptied bool
	indents *indents
}

func newSplicer(w *work, content string, e agentapi.Edit) *splicer {
	s := &splicer{search: lines(e.Search), replace: lines(e.Replace), ending: dominant(content)}
	s.emptied = len(s.replace) == 0 && s.search[len(s.search)-1].end == ""
	s.partner = pair(w, s.search, s.replace)
	s.by = neighbors(s.search, s.replace, s.partner)
	old, now := uniform(e.Search), uniform(e.Replace)
	s.changed = old != "" && now != "" && old != now
	if s.ending == "" {
		s.ending = "\n"
		if now != "" {
			s.ending = now
		}
	}
	s.indents = newIndents(w, content, s.search, s.replace)
	w.spend(len(s.search)+len(s.replace), len(content))
	return s
}

// splice writes the replacement of matched lines.
func (s *splicer) splice(b *strings.Builder, matched string) {
	found := lines(matched)
	s.indents.of(found)
	if s.emptied {
		b.WriteString(found[len(found)-1].end)
		return
	}
	last := len(s.replace) - 1
	for i, r := range s.replace {
		if b.Len() > MaxSize {
			return // the caller checks too
		}
		by, trail := s.by[i], r.trail
		if j := s.partner[i]; j >= 0 {
			if by = j; r.trail == s.search[j].trail {
				trail = found[j].trail
			}
		}
		lead := r.lead
		if !r.blank() && by >= 0 {
			lead = s.indents.translate(r.lead, s.search[by].lead, found[by].lead)
		}
		b.WriteString(lead)
		b.WriteString(r.body)
		b.WriteString(trail)
		if i == last && found[len(found)-1].end == "" {
			return // a missing final newline stays missing
		}
		b.WriteString(s.end(i, found))
	}
}

// end is the ending of a line of the replacement. It is never empty, so the text after the
// match is never glued on.
func (s *splicer) end(i int, found []line) string {
	r, j := s.replace[i], s.partner[i]
	switch {
	case r.end != "" && s.changed:
		return r.end
	case j < 0 || found[j].end == "":
		return s.ending
	case r.end != "" && s.search[j].end != "" && r.end != s.search[j].end:
		return r.end
	}
	return found[j].end
}

// neighbors returns for each line of the replacement the search's line by which it is
// indented if it is inserted: that of the next paired line above or below with the same
// indent, or else just the one above, or below; -1 if there is none.
func neighbors(search, replace []line, partner []int) []int {
	by := make([]int, len(replace))
	above := -1
	for i, r := range replace {
		if by[i] = above; !r.blank() && partner[i] >= 0 {
			above = partner[i]
		}
	}
	below := -1
	for i := len(replace) - 1; i >= 0; i-- {
		r := replace[i]
		if by[i] < 0 || below >= 0 && search[by[i]].lead != r.lead && search[below].lead == r.lead {
			by[i] = below
		}
		if !r.blank() && partner[i] >= 0 {
			below = partner[i]
		}
	}
	return by
}

// maxCells limits the table for pairing lines: 1,000 by 1,000 lines.
const maxCells = 1 << 20

// pair finds the search's line for each line of a replacement. It first pairs lines with
// the same text: as many as possible in order, and the last ones if there is a choice. The
// lines between are paired text with text and blank with blank, from the last one
// backwards.
func pair(w *work, search, replace []line) []int {
	partner := slices.Repeat([]int{-1}, len(replace))
	pairTexts(w, search, replace, partner)
	high, end := len(search), len(replace)
	for i := len(replace) - 1; i >= -1; i-- {
		if i >= 0 && partner[i] < 0 {
			continue
		}
		low := -1
		if i >= 0 {
			low = partner[i]
		}
		fill(search[low+1:high], replace[i+1:end], partner[i+1:end], low+1)
		high, end = low, i
	}
	return partner
}

// fill pairs the lines between two pairs.
func fill(search, replace []line, partner []int, first int) {
	for _, blank := range []bool{false, true} {
		j := len(search) - 1
		for i := len(replace) - 1; i >= 0; i-- {
			if replace[i].blank() != blank {
				continue
			}
			for j >= 0 && search[j].blank() != blank {
				j--
			}
			if j < 0 {
				break
			}
			partner[i] = first + j
			j--
		}
	}
}

// pairTexts pairs lines with the same text by a longest common subsequence. If the table
// would have too many cells, it only pairs common lines at both ends.
func pairTexts(w *work, search, replace []line, partner []int) {
	a, b := texts(search), texts(replace)
	same := func(i, j int) bool { return search[a[i]].body == replace[b[j]].body }
	n, m := len(a), len(b)
	for n > 0 && m > 0 && same(n-1, m-1) {
		n, m = n-1, m-1
		partner[b[m]] = a[n]
	}
	if n*m > maxCells {
		for i := 0; i < min(n, m) && same(i, i); i++ {
			partner[b[i]] = a[i]
		}
		return
	}
	w.spend(n*m/4, 0)
	// common[i*width+j] is how many lines the first i and the first j have in common.
	width := m + 1
	common := make([]int32, (n+1)*width)
	for i := 1; i <= n; i++ {
		for j := 1; j <= m; j++ {
			c := max(common[(i-1)*width+j], common[i*width+j-1])
			if same(i-1, j-1) {
				c = common[(i-1)*width+j-1] + 1
			}
			common[i*width+j] = c
		}
	}
	for n > 0 && m > 0 {
		switch {
		case same(n-1, m-1):
			n, m = n-1, m-1
			partner[b[m]] = a[n]
		case common[(n-1)*width+m] >= common[n*width+m-1]:
			n--
		default:
			m--
		}
	}
}

// texts are the lines that aren't blank.
func texts(all []line) []int {
	var some []int
	for i, l := range all {
		if !l.blank() {
			some = append(some, i)
		}
	}
	return some
}
