package plugin

import (
	"cmp"
	"time"

	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/internal/defaults"
)

// The built-in resolvers find what all agents read, up to the 4,000 resources that a
// snapshot holds, and are ours. A limit that the operator has left at its default, which
// is for modules of anybody, is theirs only where it is enough for that.

// builtinRun are the limits of their runs: a row of a find takes 262 bytes and its
// description. Time is what a machine that is busy with other work makes of a large
// collection, and not what ends a run that gets nowhere: that is fuel.
func builtinRun(l sandbox.Limits) sandbox.Limits {
	l.Time = usual(l.Time, defaults.RunTime, 10*time.Second)
	l.Response = usual(l.Response, defaults.RunResponse, 4<<20)
	return l
}

// builtinFiles are the limits of what they read: a find takes one or two opened files, and
// up to 64 KiB of one are kept.
func builtinFiles(l vfs.Limits) vfs.Limits {
	return vfs.Limits{
		Opens:     usual(l.Opens, defaults.RunOpens, 32<<10),
		ReadBytes: usual(l.ReadBytes, defaults.RunReadBytes, 256<<20),
		Entries:   usual(l.Entries, defaults.RunEntries, 400_000),
	}
}

// usual is ours where the operator has the default, or none.
func usual[T ~int | ~int64](operators, byDefault, ours T) T {
	if l := cmp.Or(max(operators, 0), byDefault); l != byDefault {
		return l
	}
	return ours
}
