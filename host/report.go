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

// Report is what one refresh did. Don't change it: others read it too.
type Report struct {
	Snapshot *snapshot.Snapshot
	// Changed says that the snapshot is new.
	Changed bool
	// Reason is why there was a refresh: "resync", "start", ReasonPlugins, or
	// what host/watch says.
	Reason string
	// Outcomes is what is known of every root, in order of roots, then
	// resolvers.
	Outcomes []resolve.Outcome
	// Checked are those of them that this refresh looked at.
	Checked []resolve.Outcome
	// Notes says what was left out of the snapshot, and why.
	Notes    []snapshot.Note
	Duration time.Duration

	plugins *plugin.List // whose resolvers were run
}

var (
	// ErrClosed says that a Host has been closed.
	ErrClosed = errors.New("host closed")
	// ErrHeld says that the first snapshot is held back; see Ready.
	ErrHeld = errors.New("the first snapshot is held back until the workspace is ready")
)

// problems joins those that there are.
func problems(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}

// RefusedRoot is a root that isn't looked at although it is there.
type RefusedRoot struct {
	Path string // absolute, as it was given
	Err  error  // why: a *vfs.LinkError, what Check said, or the system's
}
