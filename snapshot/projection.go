package snapshot

import (
	"cmp"
	"slices"

	"waymark/abi"
)

// Projection is the part of a snapshot that one peer gets. It removes what the peer can't
// take, then caps the rest again in the snapshot's precedence, so that nothing unknown to a
// peer displaces what it knows. The zero value is a peer that takes all of a snapshot with
// the default caps.
type Projection struct {
	// Caps are the peer's. Those of modules and providers were applied when the snapshot was
	// made.
	Caps Caps
	// Hold returns a one-word reason not to send a resource to the peer, or "". Nil sends
	// all.
	Hold func(*Resource) string
	// Invalid says for a person what the peer considers invalid about an ok resource, or "".
	// Nil means nothing.
	Invalid func(*Resource) string
	// UniqueSkills sends only the first of several ok skills with one name.
	UniqueSkills bool
}

// The reasons for which a Projection itself holds a resource back.
const (
	// HeldName: a skill of the same name comes first.
	HeldName = "duplicate_name"
	// HeldTooMany: there are more rows than the peer takes.
	HeldTooMany = "too_many"
)

// Projected is what a peer gets.
type Projected struct {
	// Snapshot has the aggregate hash of exactly what the peer gets. If the peer gets
	// everything unchanged, it is the projected snapshot itself.
	*Snapshot
	// Held counts the resources that the peer doesn't get at all, by reason.
	Held map[string]int
	// Changed holds the ids of resources that are invalid, oversize or excluded for this
	// peer, or have fewer tools.
	Changed map[string]bool
}

// Of projects s without changing it.
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

// fits reports whether the peer gets all of s unchanged.
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

// resources returns the peer's list, in order of id.
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
		if budgets.whole.resources < 1 && len(list) >= caps.MaxListed { // whatever its kind
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
	rows := caps.MaxListed - kept // for excluded resources
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

// named reports whether UniqueSkills applies to r.
func (p *Projection) named(r *Resource) bool {
	return p.UniqueSkills && r.Kind == abi.KindSkill && r.Status == StatusOK && r.Name != ""
}

// byPrecedence returns the indices of resources, highest precedence first. Resources from
// elsewhere have no Order and keep their sequence.
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
