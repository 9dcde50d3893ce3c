package host

import (
	"errors"
	"slices"
	"strings"
	"time"

	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// Report says what one refresh did. Don't change it: others read it too.
type Report struct {
	Snapshot *snapshot.Snapshot
	// Changed says that the snapshot is new.
	Changed bool
	// Reason is why the refresh ran: "resync", "start", ReasonPlugins, or a reason from
	// host/watch.
	Reason string
	// Outcomes is what is known of every root, ordered by root, then resolver.
	Outcomes []resolve.Outcome
	// Checked holds those outcomes that this refresh looked at.
	Checked []resolve.Outcome
	// Notes says what was left out of the snapshot, and why.
	Notes    []snapshot.Note
	Duration time.Duration

	plugins *plugin.List // the list whose resolvers ran
}

var (
	// ErrClosed says that the Host is closed.
	ErrClosed = errors.New("host closed")
	// ErrHeld says that the first snapshot is held back; see Ready.
	ErrHeld = errors.New("the first snapshot is held back until the workspace is ready")
)

// problems joins the non-empty texts.
func problems(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}

// RefusedRoot is a root that exists but isn't looked at.
type RefusedRoot struct {
	Path string // absolute, as given
	Err  error  // a *vfs.LinkError, an error from Check, or the system's
}
