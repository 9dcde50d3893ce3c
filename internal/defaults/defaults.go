// Package defaults holds the numbers that the configuration and a component share: the
// default of a configuration key is also that of a zero field in a component's Options.
//
// Each number is defined here once, with its reason. host/config takes its defaults from
// here, and has the ranges with its keys. The caps of a snapshot are in package snapshot,
// which imports nothing. Sizes are in bytes.
//
// Or fills in what a component's options leave out, these numbers and others. It uses
// reflection, which takes some 100 ns for each field: fast enough for what is made once, or
// runs for a millisecond.
package defaults

import (
	"reflect"
	"time"
)

// What one run of one resolver may use. The limits are meant for third-party modules;
// host/plugin has the larger ones of the built-in modules.
const (
	// RunTime is noticeable to people who wait, but most runs take milliseconds.
	RunTime = 2 * time.Second
	// RunFuel ends a run that makes no progress on a machine of any speed. It is far beyond
	// what RunTime allows on today's.
	RunFuel = 1_000_000_000_000
	// RunMemory holds a Go guest, which starts with some MiB, and what a run reads.
	RunMemory = 64 << 20
	// RunResponse has room for a few thousand finds.
	RunResponse = 1 << 20
	// RunLogs is more than anybody reads of one run.
	RunLogs = 64 << 10
	// RunOpens is one or two files for each resource that a snapshot may hold.
	RunOpens = 4096
	// RunReadBytes is a few KiB of each of those files, or occasional large ones.
	RunReadBytes = 64 << 20
	// RunEntries lets a run list the directories of a large repository, but not all of
	// node_modules.
	RunEntries = 100_000
	// Rank leaves room below and above for the modules that an operator orders.
	Rank = 100
)

// How changes of files are batched.
const (
	// Quiet is longer than the pause between two steps of an editor's save, and too short for
	// a person to notice.
	Quiet = 15 * time.Millisecond
	// MaxWait ends the wait for quiet when something writes continuously.
	MaxWait = 150 * time.Millisecond
	// Recheck bounds how long a lost event goes unnoticed; a check of everything takes
	// milliseconds.
	Recheck = time.Minute
)

// What the services keep.
const (
	// Spool has room for the log of a long build, SpoolTotal for several of them.
	Spool      = 64 << 20
	SpoolTotal = 1 << 30
	// AuditBytes are some ten thousand calls.
	AuditBytes = 8 << 20
)

// How MCP servers run, and what they may offer.
const (
	// MCPConnectTimeout leaves time for a package runner to download a server first.
	MCPConnectTimeout = 30 * time.Second
	// MCPCallTimeout is about how long MCP clients wait for an answer.
	MCPCallTimeout = time.Minute
	// DesktopWidth and DesktopHeight are a screen that models take as it is.
	DesktopWidth  = 1280
	DesktopHeight = 800
	// DesktopIdle leaves a person the time for a meal.
	DesktopIdle = time.Hour
	// MCPIdle keeps a server between the calls of one conversation.
	MCPIdle = 10 * time.Minute
	// MCPServerTools is twice what the largest examined server has, MCPTools five such
	// servers; likewise MCPServerBytes and MCPBytes, for their lists as JSON.
	MCPServerTools = 200
	MCPTools       = 1000
	MCPServerBytes = 1 << 20
	MCPBytes       = 4 << 20
	// MCPResultBytes is about what a model takes at once, MCPResultSpool a thousand results
	// of that length, for paging.
	MCPResultBytes = 64 << 10
	MCPResultSpool = 64 << 20
	// MCPDisk has room for the packages of a downloaded server.
	MCPDisk = 4 << 30
)

// Or returns the options, with fields of other for those that are unset: numbers that aren't
// positive, and zero values of other types. Unexported fields stay.
func Or[T any](options, other T) T {
	v, instead := reflect.ValueOf(&options).Elem(), reflect.ValueOf(other)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanSet() && (f.IsZero() || f.CanInt() && f.Int() < 0) {
			f.Set(instead.Field(i))
		}
	}
	return options
}
