package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// EventsFor is how long events are kept, or as long as history if that is shorter. A
	// reader that was away for longer reads everything again, which is less work than a
	// day's events.
	EventsFor = 24 * time.Hour
	// MaxEvents limits the kept events. It is a day of twelve a second, and some 300 MB.
	MaxEvents = 1_000_000
)

// Following is the part of a Store for readers that follow what happens.
//
// Events are in the order in which their transactions began to write, and that of one agent
// in the order of its revisions. Transactions may end in another order, so the end of the
// list isn't settled while some of them run: a reader sees what is stored already, and its
// cursor moves on when nothing can appear below any more.
type Following interface {
	// Events lists what happened above after, rising, at most limit events that are
	// settled. The last page has those that aren't settled, too. After the Through of a
	// last page it lists only what that page and those before didn't have.
	Events(ctx context.Context, after Cursor, limit int) (Events, error)
	// Newest returns the cursor after all that has happened.
	Newest(ctx context.Context) (Cursor, error)
	// Wait blocks until there may be events that a reader whose last page ended with after
	// doesn't have, or until approvals have changed. It may return early. If the connection
	// to the database is lost, Wait only takes longer; it fails when ctx ends and, with
	// ErrClosed, when the store is closed.
	Wait(ctx context.Context, after Cursor) error
}

// Events is a part of all that happened.
type Events struct {
	List []Event
	// Through is the cursor up to which List and what came before are complete. Events of
	// List may be above it.
	Through Cursor
	// Last says that there was no more.
	Last bool
	// Lost says that nobody can follow from the cursor without a gap: what came then isn't
	// kept any more, or the database was set back. Through is then the newest cursor.
	Lost bool
}

// Event is one thing that happened. One of the fields below Revision is set.
type Event struct {
	// At is the cursor behind the event.
	At       Cursor
	Revision int64
	// Change is a push that changed something. Those of removed agents aren't listed.
	Change *Change
	// Pin is a pin that changed, as it is now: only its last change is listed. Deleted is a
	// pin that was deleted.
	Pin, Deleted *Pin
	// RemovedAgent is the id of an agent that was removed.
	RemovedAgent string
}

// Cursor is a position in the events. Cursors of different lives of a database, which a
// restored backup begins anew, can't be compared. The zero Cursor is before all events that
// are kept, in every life.
type Cursor struct {
	// Epoch is the life.
	Epoch string
	// Tx and N order the events: the transaction, and the number of the event.
	Tx, N int64

	// Seen is what the reader has seen above the position, for the store that made the
	// cursor; empty if nothing, or unknown. Heard is how many notices that store had when
	// it did. Neither is a part of the text.
	Seen  string
	Heard uint64
}

// String returns the cursor as text, which only ParseCursor interprets.
func (c Cursor) String() string {
	if c.IsZero() {
		return "0"
	}
	return fmt.Sprintf("%s.%d.%d", c.Epoch, c.Tx, c.N)
}

// IsZero reports whether the cursor is the beginning.
func (c Cursor) IsZero() bool { return c.Epoch == "" }

// Compare compares the positions of two cursors of one life.
func (c Cursor) Compare(other Cursor) int {
	switch {
	case c.Tx < other.Tx || c.Tx == other.Tx && c.N < other.N:
		return -1
	case c.Tx == other.Tx && c.N == other.N:
		return 0
	}
	return 1
}

// ParseCursor reads the text of a cursor.
func ParseCursor(s string) (Cursor, error) {
	if s == "0" {
		return Cursor{}, nil
	}
	epoch, rest, ok1 := strings.Cut(s, ".")
	tx, n, ok2 := strings.Cut(rest, ".")
	c := Cursor{Epoch: epoch}
	var err1, err2 error
	c.Tx, err1 = number(tx)
	c.N, err2 = number(n)
	if !ok1 || !ok2 || epoch == "" || len(epoch) > maxEpoch || err1 != nil || err2 != nil {
		return Cursor{}, errCursor
	}
	return c, nil
}

// maxEpoch limits what a reader may send as an epoch.
const maxEpoch = 64

var errCursor = errors.New("that is not a cursor: cursors come from the hub, as the ids of events")

func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err
}
