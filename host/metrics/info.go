package metrics

import (
	"time"

	"waymark/snapshot"
)

// The results of a resolver's turn in one root.
const (
	ResultReused      = "reused"      // the memo holds
	ResultRun         = "run"         // it ran
	ResultFailed      = "failed"      // it ran, and failed
	ResultQuarantined = "quarantined" // it wasn't run, having failed too often
)

// The reasons of a run.
const (
	ReasonFirst   = "first"   // there was no memo
	ReasonChanged = "changed" // something that the memo depends on
)

// RefreshInfo tells what one refresh did.
type RefreshInfo struct {
	Duration time.Duration
	// Published says that there is a new snapshot.
	Published bool
	// Resolves is what it looked at: one for each resolver and root.
	Resolves []ResolveInfo
	// Snapshot is the newest one; nil leaves the gauges as they are.
	Snapshot *snapshot.Snapshot
}

// ResolveInfo is one resolver's turn in one root.
type ResolveInfo struct {
	// Resolver is "module/resolver".
	Resolver string
	// Result is one of the Result constants.
	Result string
	// Reason is one of the Reason constants where it ran; empty otherwise.
	Reason string
	// Kill says in a word what ended a run that failed: deadline, fuel,
	// memory, crashed, answer, limit…; empty where nothing did.
	Kill string
	// Duration is that of the run; 0 where there was none.
	Duration time.Duration
}

// PushInfo is one attempt to push.
type PushInfo struct {
	// Result says in a word how it ended, such as accepted.
	Result   string
	Duration time.Duration
	// Bytes is the length of the encoded message.
	Bytes int
	// Delta says that only what has changed was sent.
	Delta bool
}

// WatchInfo is how changes are noticed.
type WatchInfo struct {
	// Mode is off, notify or degraded.
	Mode string
	// Directories counts those that are watched.
	Directories int
}
