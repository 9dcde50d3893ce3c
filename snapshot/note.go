package snapshot

// Note says what Assemble did to one candidate: what `agent why` tells about
// a file that isn't in the list, or is there without its text.
type Note struct {
	Reason Reason
	// ID is the candidate's own id.
	ID string
	// Winner is the id of the resource that stands in its place; empty when
	// the reason isn't ReasonDeduplicated or ReasonCollapsed. It equals ID
	// when the same thing was found more than once.
	Winner string
	// Path is where the candidate was found, before links were followed.
	Path string
	// Resolver and Root are the candidate's own.
	Resolver string
	Root     int
	// Detail is one line for a person.
	Detail string
}

// Reason is a word of `agent why`.
type Reason string

// The reasons that Assemble gives.
const (
	// ReasonDeduplicated: another find of the same id, or a skill of the same
	// name, comes first. The candidate isn't listed.
	ReasonDeduplicated Reason = "deduplicated"
	// ReasonCollapsed: a link leads to something that is listed under its own
	// path. The candidate isn't listed.
	ReasonCollapsed Reason = "collapsed_into"
	// ReasonOversize: the payload is above the cap. It is listed without it.
	ReasonOversize Reason = "oversize"
	// ReasonExcluded: the list is full. It is listed without its payload, or,
	// past MaxListed rows, not at all.
	ReasonExcluded Reason = "excluded"
)

// note makes a note about c.
func (c *Candidate) note(reason Reason, winner, detail string) Note {
	return Note{
		Reason: reason, ID: c.ID(), Winner: winner, Path: c.path(),
		Resolver: c.Resolver, Root: c.Root, Detail: detail,
	}
}
