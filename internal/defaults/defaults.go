// Package defaults holds the numbers that the configuration and a component have in
// common: what an operator who says nothing gets is what a program gets that leaves the
// field of a component's Options at zero.
//
// Each number stands here once, with its reason. host/config takes its defaults from
// here and has the ranges beside its keys; the caps of a snapshot are in package
// snapshot, which imports nothing. Sizes are in bytes.
//
// Or fills in what a component's options leave out, these numbers and others. It goes by
// reflection, which takes some 100 ns for each field: enough for whatever is made once, or
// runs for a millisecond.
package defaults

import (
	"reflect"
	"time"
)

// What one run of one resolver may use. The reasons are those of modules that anybody
// may write; host/plugin says what the built-in ones need beyond it.
const (
	// RunTime is noticed by whoever waits for it, and most runs take milliseconds.
	RunTime = 2 * time.Second
	// RunFuel ends a run that gets nowhere on a machine of any speed. It is far beyond
	// what RunTime allows on today's.
	RunFuel = 1_000_000_000_000
	// RunMemory holds a Go guest, which begins with some MiB, and what a run reads.
	RunMemory = 64 << 20
	// RunResponse has room for a few thousand finds.
	RunResponse = 1 << 20
	// RunLogs is more than anybody reads of one run.
	RunLogs = 64 << 10
	// RunOpens is one or two files for each resource that a snapshot may hold.
	RunOpens = 4096
	// RunReadBytes is a few KiB of each of those files, or large ones now and then.
	RunReadBytes = 64 << 20
	// RunEntries lets a run list the directories of a large repository, and not all of
	// node_modules.
	RunEntries = 100_000
	// Rank leaves room below and above for the modules that an operator orders.
	Rank = 100
)

// How changes of files are batched.
const (
	// Quiet is longer than the pause between two steps of an editor's save, and short
	// enough that a person doesn't notice it.
	Quiet = 15 * time.Millisecond
	// MaxWait ends the wait for quiet where something writes all the time.
	MaxWait = 150 * time.Millisecond
	// Recheck bounds how long an event that was lost goes unnoticed; a check of
	// everything takes milliseconds.
	Recheck = time.Minute
)

// What the services keep.
const (
	// Spool has room for the log of a long build, SpoolTotal for some of them.
	Spool      = 64 << 20
	SpoolTotal = 1 << 30
	// AuditBytes are some ten thousand calls.
	AuditBytes = 8 << 20
)

// How MCP servers run, and what they may offer.
const (
	// MCPConnectTimeout lets a server be fetched by its package runner first.
	MCPConnectTimeout = 30 * time.Second
	// MCPCallTimeout is about what clients of MCP wait for an answer.
	MCPCallTimeout = time.Minute
	// MCPIdle keeps a server between the calls of one conversation.
	MCPIdle = 10 * time.Minute
	// MCPServerTools is twice what the largest server has that was looked at, MCPTools
	// five such servers; likewise MCPServerBytes and MCPBytes, of their lists as JSON.
	MCPServerTools = 200
	MCPTools       = 1000
	MCPServerBytes = 1 << 20
	MCPBytes       = 4 << 20
	// MCPResultBytes is about what a model takes at once, MCPResultSpool a thousand
	// results of that length, for paging.
	MCPResultBytes = 64 << 10
	MCPResultSpool = 64 << 20
	// MCPDisk has room for the packages of a server that is fetched.
	MCPDisk = 4 << 30
)

// Or returns the options with those of other where they say nothing: where a number isn't
// positive, or anything else is zero. Unexported fields stay.
func Or[T any](options, other T) T {
	v, instead := reflect.ValueOf(&options).Elem(), reflect.ValueOf(other)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanSet() && (f.IsZero() || f.CanInt() && f.Int() < 0) {
			f.Set(instead.Field(i))
		}
	}
	return options
}
