package why

import (
	"cmp"
	"slices"
)

// decide answers with the best that became of the finds: one that is in the
// context, else one that was made at the path itself.
func (q *question) decide(list []match) (Answer, bool) {
	type fate struct {
		Answer
		rank int
	}
	var fates []fate
	ok := map[string]bool{}
	for _, m := range list {
		a, known := q.fate(m)
		if !known {
			continue
		}
		f := fate{Answer: a}
		if a.Found {
			ok[a.ResourceID] = true
		} else {
			f.rank = 2
		}
		if m.as != foundAt(m.cand) { // made elsewhere: only its source is here
			f.rank++
		}
		fates = append(fates, f)
	}
	if len(fates) == 0 {
		return Answer{}, false
	}
	slices.SortStableFunc(fates, func(a, b fate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(weight(a.Reason), weight(b.Reason)))
	})
	a := fates[0].Answer
	if n := len(ok) - 1; a.Found && n > 0 {
		a.Detail += "; " + count(n, "more resource comes", "more resources come") + " from it"
	}
	return a, true
}

// weight orders the reasons of finds: found before all, then what became of
// the find itself, then what stands in its place.
func weight(r Reason) int {
	switch r {
	case ReasonFound:
		return 0
	case ReasonDeduplicated, ReasonExcluded:
		return 2
	}
	return 1
}

// ledTo answers for a path that leads, through links, to what was found.
func (q *question) ledTo() (Answer, bool) {
	for i := q.asked; i < len(q.aliases); i++ {
		a, ok := q.evidence(q.aliases[i : i+1])
		if !ok {
			continue
		}
		target := q.aliases[i]
		if q.linked && i == len(q.aliases)-1 {
			a.Detail = "a link to " + show(target) + ": " + a.Detail
			if a.Reason == ReasonFound {
				a.Reason = ReasonCollapsedInto
			}
			return a, true
		}
		a.Detail = "through a link, as " + show(target) + ": " + a.Detail
		return a, true
	}
	return Answer{}, false
}
