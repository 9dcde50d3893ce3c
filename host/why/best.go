package why

import (
	"cmp"
	"slices"
)

// best is the answer that says most; of two that say the same, that of the
// innermost root.
func best(places []*place) (Answer, bool) {
	if len(places) == 0 {
		return Answer{}, false
	}
	type ranked struct {
		Answer
		depth, order int
	}
	list := make([]ranked, len(places))
	for i, p := range places {
		list[i] = ranked{p.answer(), len(p.fs.Path()), i}
	}
	return slices.MinFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(telling(a.Reason), telling(b.Reason)), cmp.Compare(b.depth, a.depth), cmp.Compare(a.order, b.order))
	}).Answer, true
}

// telling orders reasons by how much they say: that a path is no place in a
// root says little when it is one in another. A link out of one root says
// least of all, since only another root has more than one place.
func telling(r Reason) int {
	switch r {
	case ReasonNested:
		return 1
	case ReasonMissing:
		return 2
	case ReasonNotAKnownPlace:
		return 3
	case ReasonLinkEscapes:
		return 4
	}
	return 0
}
