package plan

import "waymark/hub/store"

// State is what is stored of an agent before a push.
type State struct {
	// Newest is the generation that was given out last for the agent.
	Newest int64
	// Head is the newest revision; nil when the agent never pushed.
	Head *Head
	// Past are the newest revisions, as far as Cut needs them, the newest
	// (Head) first.
	Past []Past
	// Rows are the newest revision's, by id: all of them, or for a partial push those of
	// Prepared.Touched that exist.
	Rows map[string]Stored
	// Bodies are the lengths of those payloads that Prepared.Withheld names, and
	// that the agent has in a row that is kept, or has uploaded.
	Bodies map[store.Digest]int64
}

// Head is the newest revision of an agent.
type Head struct {
	Revision, Step, Generation, Version int64
	// Name is what an agent calls it; empty for what came without.
	Name []byte
	Values
	Resources              int
	PayloadBytes, RowBytes int64
}

// Values are what a revision has beside its resources, as they are stored.
type Values struct {
	Hash, SnapshotError string
	// Plugins, Discovery and its Summary are JSON.
	Plugins, Discovery, Summary string
	// Failing is how many of the plugins are.
	Failing int
}

// bytes is what they add to the history.
func (v *Values) bytes() int64 {
	return int64(len(v.Hash) + len(v.SnapshotError) + len(v.Plugins) + len(v.Discovery) + len(v.Summary))
}

// Stored is what a push has to know of a row that is stored.
type Stored struct {
	// Row is the row's number.
	Row int64
	// Digest and Whole are those of a Row.
	Digest, Whole []byte
	Payload       int64 // length
	Rest          int64 // claim.Size
	CreatedAt     int64
}

// Plan is what a push writes, or that it writes nothing.
type Plan struct {
	// Accepted is false when nothing is to be written.
	Accepted bool
	// Missing are the indices of the resources whose payloads the push has to bring,
	// in order; where there are any, nothing is to be written.
	Missing []int
	// Same says that only the head's version, generation and time change: the
	// push brings what is there.
	Same bool
	// Write are the new and the changed rows, in order of id.
	Write []Write
	// Facts are the rows that stay as they are but for what no chat pins. They make a
	// revision that changes no resource.
	Facts []Facts
	// Close are the numbers of the rows that end with this revision: those
	// that are changed and those that are removed.
	Close []int64
	// Added and Changed are how many of Write are new and how many replace
	// another; Removed is how many of Close are replaced by nothing.
	Added, Changed, Removed int
	// Touched are the ids of all of them, in order, at most
	// store.MaxTouched, and as JSON.
	Touched     []string
	TouchedJSON string
	// TouchesLive says that one of them is outside the hash that a pin is compared
	// by, or that the discovery is another one: pins have those as the agent does.
	TouchesLive bool

	// Step is the new revision's among the agent's own.
	Step int64
	// Head, Resources, PayloadBytes and RowBytes are those of the whole snapshot
	// afterwards.
	Head                   Values
	Resources              int
	PayloadBytes, RowBytes int64
	// Bytes is what the revision adds to the history.
	Bytes int64
	// Cut is the newest revision that goes, with all that are older; 0 means
	// that none does. Oldest is then the step of the oldest one that stays:
	// rows that hold until then or less go, too.
	Cut, Oldest int64
}

// Write is a row to be written.
type Write struct {
	*Row
	// Attributes and Facts are JSON. They are made only of what is written, which is
	// little as a rule.
	Attributes, Facts string
	// CreatedAt is when the resource first came, in microseconds.
	CreatedAt int64
}

// Result is the answer to the push's caller. revision is the agent's revision
// after the push.
func (p *Plan) Result(revision int64) store.PushResult {
	return store.PushResult{Accepted: p.Accepted, Revision: revision, Written: len(p.Write), Removed: p.Removed, Missing: p.Missing}
}
