package plugin

import (
	"cmp"
	"time"

	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/defaults"
)

// The built-in resolvers are ours and find what all agents read, up to the 4,000 resources of
// a snapshot. The operator's default limits are meant for third-party modules, so the
// built-in resolvers have larger ones where those aren't enough.

// builtinRun returns the limits of their runs: a row takes 262 bytes and its description.
// Time allows for a busy machine and a large collection; a run that makes no progress is
// ended by its fuel.
func builtinRun(l sandbox.Limits) sandbox.Limits {
	l.Time = usual(l.Time, defaults.RunTime, 10*time.Second)
	l.Response = usual(l.Response, defaults.RunResponse, 4<<20)
	return l
}

// builtinFiles returns the limits of what they read: a find takes one or two opened files,
// and up to 64 KiB of a file are kept.
func builtinFiles(l vfs.Limits) vfs.Limits {
	return vfs.Limits{
		Opens:     usual(l.Opens, defaults.RunOpens, 32<<10),
		ReadBytes: usual(l.ReadBytes, defaults.RunReadBytes, 256<<20),
		Entries:   usual(l.Entries, defaults.RunEntries, 400_000),
	}
}

// usual returns ours if the operator has the default, or none.
func usual[T ~int | ~int64](operators, byDefault, ours T) T {
	if l := cmp.Or(max(operators, 0), byDefault); l != byDefault {
		return l
	}
	return ours
}
