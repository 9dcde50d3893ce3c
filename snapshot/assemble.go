package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/abi"
)

// Assemble turns everything that all resolvers found in all roots into the list of a
// snapshot, in order of ID, and says what it left out and why.
//
// Precedence is the same everywhere: resolver rank, then root order, then kind, source and
// key.
//
//  1. A payload above the cap is dropped: oversize. An mcp_server loses only the tools that
//     don't fit. A resource that isn't ok has no payload, and an mcp_config keeps only what
//     the host itself said about it.
//  2. One find of each id is kept: an ok one before any other, then by precedence. Links
//     collapse here, because a source is link-resolved; the one that is kept has the readers
//     and modes of all its names. See names.go.
//  3. The caps apply in order of precedence: first those of the dropped-in module, or of all
//     providers together, then those of the whole list. What doesn't fit stays as excluded,
//     without payload, as long as there are rows for it. An mcp_server keeps the tools that
//     fit.
//
// The result doesn't depend on the order of the candidates. They are not changed; payloads
// and attributes are shared with the result.
func Assemble(candidates []Candidate, caps Caps) ([]Resource, []Note) {
	a := assembly{caps: caps.withDefaults()}
	list := a.classify(candidates)
	list = a.collapse(list)
	slices.SortStableFunc(list, func(x, y *Candidate) int { // unread candidates come after read ones
		return cmp.Or(compareTrue(x.Status != StatusExcluded, y.Status != StatusExcluded), precedence(x, y))
	})
	return a.applyCaps(list), a.notes
}

// assembly is one run of Assemble.
type assembly struct {
	caps  Caps
	notes []Note
}

func (a *assembly) addNote(c *Candidate, reason Reason, winner, detail string) {
	a.notes = append(a.notes, c.note(reason, winner, detail))
}

// classify copies the candidates, and enforces what their status and kind allow.
func (a *assembly) classify(candidates []Candidate) []*Candidate {
	list := make([]*Candidate, 0, len(candidates))
	for _, c := range candidates { // c is a copy
		c.boundPayload(a.caps.MaxResourceBytes)
		if c.Kind == abi.KindMCPConfig {
			// Such files hold tokens: drop everything that a resolver took from one.
			c.Key, c.Name, c.Description, c.Payload = "", "", "", nil
			c.Attributes = c.whose()
		}
		if c.Status != StatusOK {
			c.Payload = nil
		}
		list = append(list, &c)
	}
	return list
}

// boundPayload marks an ok resource with a longer payload as oversize, unless it is an
// mcp_server that can lose tools instead.
func (r *Resource) boundPayload(limit int64) {
	if r.Status == StatusOK && int64(len(r.Payload)) > limit && !r.TrimTools(limit) {
		r.Status, r.Error = StatusOversize, fmt.Sprintf("%d bytes, the limit is %d", len(r.Payload), limit)
		r.Payload = nil
	}
}

// collapse keeps one candidate of each id.
func (a *assembly) collapse(list []*Candidate) []*Candidate {
	slices.SortFunc(list, func(x, y *Candidate) int {
		return cmp.Or(compareTrue(x.Status == StatusOK, y.Status == StatusOK), precedence(x, y))
	})

	winners := make(map[string]*Candidate, len(list))
	names := map[string]*names{}
	kept := list[:0]
	for _, c := range list {
		id := c.ID()
		winner, taken := winners[id]
		if !taken {
			winners[id] = c
			kept = append(kept, c)
			if c.Status == StatusOversize {
				a.addNote(c, ReasonOversize, "", c.Error)
			}
			continue
		}
		if winner.sharesNames(c) {
			if names[id] == nil {
				names[id] = newNames(winner)
			}
			names[id].add(c)
		}
		a.noteCollapsed(c, winner)
	}
	for id, n := range names {
		n.apply(winners[id])
	}
	return kept
}

func (a *assembly) noteCollapsed(c, winner *Candidate) {
	if c.path() != winner.path() && c.path() != c.Source {
		a.addNote(c, ReasonCollapsed, winner.ID(), c.path()+" leads to "+c.Source)
		return
	}
	a.addNote(c, ReasonDeduplicated, winner.ID(), "found by "+winner.Resolver+" too, which comes first")
}

// applyCaps excludes what doesn't fit, numbers the rest and sorts it by id. The list is in
// order of precedence.
func (a *assembly) applyCaps(list []*Candidate) []Resource {
	budgets := a.budgets()
	excluded := 0
	for _, c := range list {
		if !a.charge(c, budgets) {
			excluded++
		}
	}
	resources := make([]Resource, 0, min(len(list), a.caps.MaxListed))
	rows := a.caps.MaxListed - (len(list) - excluded) // for excluded candidates
	for _, c := range list {
		if c.Status == StatusExcluded {
			listed := rows > 0
			a.addNote(c, ReasonExcluded, "", a.excludedDetail(c, listed))
			a.notes[len(a.notes)-1].Unlisted = !listed
			if rows--; !listed {
				continue
			}
		}
		c.Order = len(resources)
		resources = append(resources, c.Resource)
	}
	sortByID(resources)
	return resources
}

// charge takes c from the budgets. If they don't suffice, it excludes c and returns false.
func (a *assembly) charge(c *Candidate, budgets *budgets) bool {
	if c.Status == StatusExcluded {
		return false
	}
	if why := a.overCap(c, budgets); why != "" {
		c.Status, c.Error, c.Payload = StatusExcluded, why, nil
		return false
	}
	return true
}

// excludedDetail says why c is excluded, and whether it isn't listed either.
func (a *assembly) excludedDetail(c *Candidate, listed bool) string {
	if listed {
		return c.Error
	}
	return c.Error + fmt.Sprintf("; not listed, there are more than %d rows", a.caps.MaxListed)
}

// budgets are what remains of the caps.
type budgets struct {
	whole, provided budget
	modules         map[string]*budget
}

func (a *assembly) budgets() *budgets {
	return &budgets{
		whole:    budget{a.caps.MaxResources, a.caps.MaxBytes},
		provided: budget{a.caps.ProvidedResources, a.caps.ProvidedBytes},
		modules:  make(map[string]*budget),
	}
}

// of returns the budget that c shares with the others of its origin; nil if there is none.
func (b *budgets) of(c *Candidate, caps *Caps) *budget {
	switch {
	case c.Provided:
		return &b.provided
	case !c.DropIn: // built-in modules have no budget of their own
		return nil
	}
	own := b.modules[c.module()]
	if own == nil {
		own = &budget{caps.DropInResources, caps.DropInBytes}
		b.modules[c.module()] = own
	}
	return own
}

// overCap takes c from the budgets, or says which of them doesn't suffice.
func (a *assembly) overCap(c *Candidate, budgets *budgets) string {
	own, whole := budgets.of(c, &a.caps), &budgets.whole
	if own == nil {
		own = &budget{1, int64(len(c.Payload))}
	}
	if room := min(own.bytes, whole.bytes); room < int64(len(c.Payload)) {
		c.TrimTools(room)
	}
	size := int64(len(c.Payload))
	switch {
	case c.Provided && own.resources < 1:
		return fmt.Sprintf("there are more than %d of what isn't found in files", a.caps.ProvidedResources)
	case c.Provided && own.bytes < size:
		return fmt.Sprintf("what isn't found in files has more than %d bytes in all", a.caps.ProvidedBytes)
	case own.resources < 1:
		return fmt.Sprintf("the plugin %s has more than %d resources", c.module(), a.caps.DropInResources)
	case own.bytes < size:
		return fmt.Sprintf("the plugin %s has more than %d bytes in all", c.module(), a.caps.DropInBytes)
	case whole.resources < 1:
		return fmt.Sprintf("there are more than %d resources", a.caps.MaxResources)
	case whole.bytes < size:
		return fmt.Sprintf("all resources together have more than %d bytes", a.caps.MaxBytes)
	}
	own.take(size)
	whole.take(size)
	return ""
}

// Note says what Assemble did to one candidate. `agent why` reports it for a file that isn't
// in the list, or is there without its text.
type Note struct {
	Reason Reason
	// ID is the candidate's own id.
	ID string
	// Winner is the id of the resource that replaces it; empty unless the reason is
	// ReasonDeduplicated or ReasonCollapsed. It equals ID when the same thing was found more
	// than once.
	Winner string
	// Path is where the candidate was found, before links were followed.
	Path string
	// Resolver and Root are the candidate's own.
	Resolver string
	Root     int
	// Detail is one line for a person.
	Detail string
	// Unlisted says that there is no row for the candidate, although nothing replaces it.
	Unlisted bool
}

// Reason is a word of `agent why`.
type Reason string

// The reasons that Assemble gives.
const (
	// ReasonDeduplicated: another find of the same id comes first. The candidate isn't
	// listed.
	ReasonDeduplicated Reason = "deduplicated"
	// ReasonCollapsed: a link leads to something that is listed under its own path. The
	// candidate isn't listed.
	ReasonCollapsed Reason = "collapsed_into"
	// ReasonOversize: the payload is above the cap. The candidate is listed without it.
	ReasonOversize Reason = "oversize"
	// ReasonExcluded: the list is full. The candidate is listed without its payload, or,
	// beyond MaxListed rows, not at all.
	ReasonExcluded Reason = "excluded"
)

// note makes a note about c.
func (c *Candidate) note(reason Reason, winner, detail string) Note {
	return Note{
		Reason: reason, ID: c.ID(), Winner: winner, Path: c.path(),
		Resolver: c.Resolver, Root: c.Root, Detail: detail,
	}
}
