package sqlstore

import "waymark/hub/store"

// State is what is stored of an agent before a push.
type State struct {
	// Newest is the last generation issued to the agent.
	Newest int64
	// Head is the newest revision; nil if the agent never pushed.
	Head *Head
	// Past are the newest revisions, newest (Head) first, as many as Cut needs.
	Past []Past
	// Rows are the newest revision's, by id: all of them, or for a partial push the
	// existing ones of Prepared.Touched.
	Rows map[string]Stored
	// Bodies are the lengths of the payloads in Prepared.Withheld that the agent has
	// uploaded, or has in a row that is kept.
	Bodies map[store.Digest]int64
}

// Head is the newest revision of an agent.
type Head struct {
	Revision, Step, Generation, Version int64
	// Name is the agent's name for it; empty if it came without one.
	Name []byte
	Values
	Resources              int
	PayloadBytes, RowBytes int64
}

// Values are what a revision has besides its resources, in stored form.
type Values struct {
	Hash, SnapshotError string
	// Plugins, Discovery and its Summary are JSON.
	Plugins, Discovery, Summary string
	// Failing is the number of failing plugins.
	Failing int
}

// bytes is what they add to the history.
func (v *Values) bytes() int64 {
	return int64(len(v.Hash) + len(v.SnapshotError) + len(v.Plugins) + len(v.Discovery) + len(v.Summary))
}

// Stored is what a push needs to know about a stored row.
type Stored struct {
	// Row is the row's number.
	Row int64
	// Digest and Whole are as in Row.
	Digest, Whole []byte
	Payload       int64 // length
	Rest          int64 // wire.RowSize
	CreatedAt     int64
}

// Plan is what a push writes, if anything.
type Plan struct {
	// Accepted is false if nothing is to be written.
	Accepted bool
	// Missing are the indices of the resources whose payloads the push must bring, in
	// order. If there are any, nothing is to be written.
	Missing []int
	// Same says that the content is unchanged: only the head's version, generation and time
	// change.
	Same bool
	// Write are the new and changed rows, ordered by id.
	Write []Write
	// Facts are the rows of which only the facts change, which no chat pins. They make a
	// revision that changes no resource.
	Facts []Facts
	// Close are the numbers of the rows that end with this revision: the changed and the
	// removed ones.
	Close []int64
	// Added and Changed count the new and the replacing rows in Write. Removed counts the
	// rows in Close without a replacement.
	Added, Changed, Removed int
	// Touched are the ids of all of them, sorted, at most store.MaxTouched, and the same as
	// JSON.
	Touched     []string
	TouchedJSON string
	// TouchesLive says that a touched resource isn't covered by the hash with which pins
	// are compared, or that the discovery changed: pins take both from the agent.
	TouchesLive bool

	// Step is the new revision's number within the agent.
	Step int64
	// Head, Resources, PayloadBytes and RowBytes are the resulting snapshot's.
	Head                   Values
	Resources              int
	PayloadBytes, RowBytes int64
	// Bytes is what the revision adds to the history.
	Bytes int64
	// Cut is the newest revision to be dropped, with all older ones; 0 means none. Oldest
	// is then the step of the oldest remaining revision: rows that end at or before it are
	// dropped too.
	Cut, Oldest int64
}

// Write is a row to be written.
type Write struct {
	*Row
	// Attributes and Facts are JSON. They are made only for rows that are written, which
	// are usually few.
	Attributes, Facts string
	// CreatedAt is when the resource first appeared, in microseconds.
	CreatedAt int64
}

// Result is the result for the push's caller. revision is the agent's revision after the
// push.
func (p *Plan) Result(revision int64) store.PushResult {
	return store.PushResult{Accepted: p.Accepted, Revision: revision, Written: len(p.Write), Removed: p.Removed, Missing: p.Missing}
}
