// Package trust says which MCP servers may start: by digests of what an entry is
// and what it stands for on this machine, which somebody has approved, and by pins
// of the tools that they were approved with.
//
// # Guarantees
//
//   - Nothing is allowed by a name or a directory: what starts is exactly what somebody has
//     approved, lately or before, and hasn't denied since.
//   - Nothing is taken of a server whose files change between its digest and its
//     catalogue, also where they are changed back: see Watch. An edit never waits for that.
//   - What is kept holds no value of the environment and no literal secret.
//   - A digest is taken of what would run: of the files at the end of all links, and
//     of the links. What lies outside of the workspace is read only as the program
//     that is started, and its interpreters. Nothing but regular files is opened, so
//     that nothing blocks, and nothing below /proc, /sys and /dev.
//   - A file that can't be believed approves nothing; that is said in the log.
//
// # What the digests cover
//
// The definition: name, transport, command, arguments, working directory, URL and the
// names and values of variables and headers, as they stand in the file, with paths
// in the workspace made relative to it; and the files of the workspace that
// command, arguments and variables name, with the links on the way. A literal
// credential, by the looks of its name, and the content of a file on the secret list
// count for the local digest alone, since a digest that is handed about can be used
// for guessing. The local digest is keyed, and covers those, what references stand
// for in all but variables and headers, and the program. The value of a variable
// that an entry refers to in env or headers counts for neither.
//
// # Concurrency
//
// A Store may be used by any number of goroutines. One Store at a time uses a
// directory. While it listens, two goroutines take what the system tells, and SIGIO is
// theirs.
//
// # Limits
//
// What a program loads by itself isn't covered; Pinned says so. A file has at most
// MaxFile bytes, and all files of an entry MaxFiles in number. Names of files are
// looked for in texts by their words: one that is put together by a program isn't
// found. Files of the workspace that a reference in env leads to aren't covered,
// since a value that changes must ask nothing. A process holds at most 1,000 files by
// leases, on Linux, of those whose owner it is; all others are watched alone, and where
// nothing tells of changes they are compared.
package trust

import (
	"time"

	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
)

// Pinned says how much of what a server runs its digests cover.
type Pinned string

// What digests cover.
const (
	PinnedEntry   Pinned = "entry"   // the entry alone: the program is fetched or decided elsewhere
	PinnedPartial Pinned = "partial" // and the workspace's files that it names, not what those load
	PinnedFull    Pinned = "full"    // and there is nothing else
)

// Digests are those of an entry at one moment.
type Digests struct {
	// Definition is the same on every machine that has the same entry and the same
	// files: "sha256:" and 64 hexadecimal digits.
	Definition string `json:"definition"`
	// Local is this machine's: what references stand for, and the program.
	Local  string `json:"local"`
	Pinned Pinned `json:"pinned"`
	// Files are the files of the workspace that the entry names, and, last, the
	// program.
	Files []File `json:"files,omitempty"`
	// Program is what is to be started: the absolute path by which the command was
	// found, which may lead over links. Empty where nothing is started.
	Program string `json:"program,omitempty"`
	// Parts are what the digests are made of, by name, in order, for telling what
	// has changed. The text of a secret one is a keyed hash.
	Parts []Part `json:"parts"`

	covered *covered // nil where there is nothing to watch; its paths may hold what is secret
}

// File is a file that a digest covers.
type File struct {
	// Path is relative to the workspace where it is in it.
	Path string `json:"path"`
	// SHA256 is in hexadecimal; empty for a file on the secret list.
	SHA256 string `json:"sha256"`
}

// Part is a piece of what was digested, such as "command" or "args[1]".
type Part struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Secret bool   `json:"secret,omitempty"`
}

// Change is how a part differs from what was approved.
type Change struct {
	Part string `json:"part"`
	// Before and After are empty where the part wasn't or isn't there, and where
	// it is secret.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Verdict is whether a server may start.
type Verdict struct {
	Allowed bool
	// Denied says that somebody has said no to exactly this.
	Denied bool
	// By says who allowed or denied it: "user", "operator", "hub" or "workspace"
	// (trust = "workspace"); ID is that of a signed approval, and Until its end.
	By    string
	ID    string
	Until time.Time
	// Developing says that the files of the workspace needn't be those that were
	// approved; see Store.Develop.
	Developing bool
	// Changes say what differs from what was approved last; empty for a server that
	// never was.
	Changes []Change
	// Widening is what the approval gives beyond the profile.
	Widening launch.Widening
}

// ToolVerdict is what became of the tools of an approved server.
type ToolVerdict struct {
	// Taken may be listed and called.
	Taken []catalog.Tool
	// Held back are those that have changed since they were pinned, or are new where
	// new ones wait.
	Held []HeldTool
	// InstructionsHeld says that the server's instructions have changed, with a diff
	// of them in InstructionsDiff; the pinned ones are given meanwhile, in Instructions.
	InstructionsHeld bool
	InstructionsDiff string
	Instructions     string
	// HeldDigest is of all that is held back, whole, and of the diffs: who approves it
	// by this approves what was shown. "tools:" and 64 hexadecimal digits; empty where
	// nothing is held back.
	HeldDigest string
}

// HeldTool is a tool that waits for an approval.
type HeldTool struct {
	Tool catalog.Tool
	// New says that it wasn't there.
	New bool
	// Diff is a unified diff of what has changed, with escapes for what can't be
	// seen.
	Diff string
}
