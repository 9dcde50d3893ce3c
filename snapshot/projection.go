package snapshot

import (
	"cmp"
	"slices"

	"waymark/abi"
)

// Projection is what one peer gets of a snapshot, which has everything. Whatever a
// peer can't take goes to it no more; what is left is capped anew, in the precedence
// that the snapshot's resources have, so that nothing that a peer doesn't know takes
// the place of what it does. The zero value is a peer that takes all of a snapshot with
// the default caps.
type Projection struct {
	// Caps are the peer's. Those of modules and providers have been applied when the
	// snapshot was made.
	Caps Caps
	// Hold says in a word why a resource isn't for the peer, and "" where it is. Nil:
	// all are.
	Hold func(*Resource) string
	// Invalid says for a person what the peer calls invalid about a resource that is
	// ok, and "" where nothing is. Nil: nothing is.
	Invalid func(*Resource) string
	// UniqueSkills says that of the ok skills of one name only the first is for the
	// peer.
	UniqueSkills bool
}

// The words of what a Projection holds back itself.
const (
	// HeldName: a skill of the same name comes first.
	HeldName = "duplicate_name"
	// HeldTooMany: there are more rows than the peer takes.
	HeldTooMany = "too_many"
)

// Projected is what a peer gets.
type Projected struct {
	// Snapshot has the aggregate hash of just that. Where the peer gets everything as
	// it is, it is the one that was projected itself.
	*Snapshot
	// Held counts the resources that the peer doesn't get at all, by why.
	Held map[string]int
	// Changed are the ids of those that are invalid, oversize or excluded for this
	// peer, or have fewer tools.
	Changed map[string]bool
}

// Of projects s, which isn't changed.
func (p *Projection) Of(s *Snapshot) Projected {
	caps := p.Caps.withDefaults()
	if p.fits(s, &caps) {
		return Projected{Snapshot: s}
	}
	whole := *s
	projected := Projected{Snapshot: &whole, Held: make(map[string]int), Changed: make(map[string]bool)}
	whole.Resources = p.resources(s, caps, &projected)
	whole.AggregateHash, whole.PayloadBytes = Aggregate(whole.Resources), 0
	for i := range whole.Resources {
		whole.PayloadBytes += int64(len(whole.Resources[i].Payload))
	}
	return projected
}

// fits reports whether the peer gets all of s as it is.
func (p *Projection) fits(s *Snapshot, caps *Caps) bool {
	if len(s.Resources) > caps.MaxListed {
		return false
	}
	left := budget{caps.MaxResources, caps.MaxBytes}
	names := make(map[string]struct{})
	for i := range s.Resources {
		r := &s.Resources[i]
		if p.hold(r) != "" || p.invalid(r) != "" || int64(len(r.Payload)) > caps.MaxResourceBytes {
			return false
		}
		if p.named(r) {
			if _, taken := names[r.Name]; taken {
				return false
			}
			names[r.Name] = struct{}{}
		}
		if r.Status != StatusExcluded {
			left.take(int64(len(r.Payload)))
		}
	}
	return left.resources >= 0 && left.bytes >= 0
}

// resources makes the list of the peer, in order of id.
func (p *Projection) resources(s *Snapshot, caps Caps, to *Projected) []Resource {
	a := assembly{caps: caps}
	budgets := a.budgets()
	list := make([]Candidate, 0, min(len(s.Resources), caps.MaxListed))
	from := make([]int, 0, cap(list))
	kept, names := 0, make(map[string]struct{})
	for _, i := range byPrecedence(s.Resources) {
		r := &s.Resources[i]
		if why := p.hold(r); why != "" {
			to.Held[why]++
			continue
		}
		if budgets.whole.resources < 1 && len(list) >= caps.MaxListed { // whatever it is
			to.Held[HeldTooMany]++
			continue
		}
		c := Candidate{Resource: *r}
		if why := p.invalid(r); why != "" {
			c.Status, c.Error, c.Payload = StatusInvalid, why, nil
		}
		c.boundPayload(caps.MaxResourceBytes)
		if p.named(&c.Resource) {
			if _, taken := names[c.Name]; taken {
				to.Held[HeldName]++
				continue
			}
			names[c.Name] = struct{}{}
		}
		if a.charge(&c, budgets) {
			kept++
		}
		list, from = append(list, c), append(from, i)
	}
	resources := make([]Resource, 0, min(len(list), caps.MaxListed))
	rows := caps.MaxListed - kept // for what is excluded
	for i := range list {
		if list[i].Status == StatusExcluded {
			if rows--; rows < 0 {
				to.Held[HeldTooMany]++
				continue
			}
		}
		r := &list[i].Resource
		if of := &s.Resources[from[i]]; r.Status != of.Status || len(r.Payload) != len(of.Payload) {
			to.Changed[r.ID()] = true
		}
		resources = append(resources, *r)
	}
	sortByID(resources)
	return resources
}

func (p *Projection) hold(r *Resource) string {
	if p.Hold == nil {
		return ""
	}
	return p.Hold(r)
}

func (p *Projection) invalid(r *Resource) string {
	if p.Invalid == nil || r.Status != StatusOK {
		return ""
	}
	return p.Invalid(r)
}

// named reports whether no other skill of r's name is for the peer, too.
func (p *Projection) named(r *Resource) bool {
	return p.UniqueSkills && r.Kind == abi.KindSkill && r.Status == StatusOK && r.Name != ""
}

// byPrecedence returns the indices of resources, the one that comes first first. Of
// those that have no Order, since they come from elsewhere, the order stays.
func byPrecedence(resources []Resource) []int {
	order := make([]int, len(resources))
	for i := range order {
		order[i] = -1
	}
	numbered := true
	for i := range resources {
		at := resources[i].Order
		if numbered = numbered && at >= 0 && at < len(order) && order[at] < 0; !numbered {
			break
		}
		order[at] = i
	}
	if numbered { // as Assemble does
		return order
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(resources[a].Order, resources[b].Order) })
	return order
}
