// Package trust decides which MCP servers may start. An approval consists of digests of
// what an entry is and what it stands for on this machine. Tools are pinned as they were
// approved.
//
// # Guarantees
//
//   - No approval depends only on a name or a directory: what starts is exactly what the user has
//     approved, recently or earlier, and hasn't denied since.
//   - If a server's files change between the digest and the catalogue, nothing from the server is
//     used, even if they are changed back; see Watch. Edits never wait for that.
//   - What is stored contains no value from the environment and no literal secret.
//   - A digest covers what would run: the links, and the files at their ends. Outside the
//     workspace, only the program and its interpreters are read. Only regular files are opened,
//     so that nothing blocks, and nothing below /proc, /sys and /dev.
//   - An invalid file approves nothing; the log says so.
//
// # What the digests cover
//
// The definition covers the entry as written in the file: name, transport, command,
// arguments, working directory, URL, and the names and values of variables and headers,
// with paths in the workspace made relative to it. It also covers files of the workspace
// that the command, arguments and variables name, and the links on the way.
//
// Literal credentials, recognized by their names, and the content of files on the secret
// list are only in the local digest, because a digest that is passed on can be used to
// guess them. The local digest is keyed. It also covers what references stand for, except
// in variables and headers, and the program. Neither digest covers the value of a variable
// that an entry refers to in env or headers.
//
// # Concurrency
//
// A Store may be used by any number of goroutines. Only one Store at a time may use a
// directory. While a Store listens, it uses two goroutines and owns SIGIO.
//
// # Limits
//
// Files that a program loads by itself aren't covered; Pinned says so. A file may have
// MaxFile bytes, and an entry MaxFiles files. Names of files are recognized as words in
// texts; a name that a program assembles isn't found. Files of the workspace that a
// reference in env leads to aren't covered, because a changed value must not require an
// approval. On Linux, a process holds at most 1,000 files by leases, and only those that
// its user owns; other files are only watched, and where the system doesn't report changes,
// compared.
package trust

import (
	"time"

	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
)

// Pinned says how much of what a server runs its digests cover.
type Pinned string

// The values of Pinned.
const (
	PinnedEntry   Pinned = "entry"   // only the entry: the program is fetched or chosen elsewhere
	PinnedPartial Pinned = "partial" // also files of the workspace that it names, but not what those load
	PinnedFull    Pinned = "full"    // everything
)

// Digests are the digests of an entry at one time.
type Digests struct {
	// Definition is the same on every machine with the same entry and files: "sha256:" and
	// 64 hexadecimal digits.
	Definition string `json:"definition"`
	// Local is specific to this machine: what references stand for, and the program.
	Local  string `json:"local"`
	Pinned Pinned `json:"pinned"`
	// Files are the files of the workspace that the entry names, followed by the program.
	Files []File `json:"files,omitempty"`
	// Program is the absolute path by which the command was found. It may contain links. It
	// is empty if nothing is started.
	Program string `json:"program,omitempty"`
	// Parts are the digested parts, in order, to tell what has changed. The text of a
	// secret part is a keyed hash.
	Parts []Part `json:"parts"`

	covered *covered // nil if there is nothing to watch; its paths may contain secrets
}

// File is a file that a digest covers.
type File struct {
	// Path is relative to the workspace if the file is in it.
	Path string `json:"path"`
	// SHA256 is in hexadecimal; empty for a file on the secret list.
	SHA256 string `json:"sha256"`
}

// Part is a digested part, such as "command" or "args[1]".
type Part struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Secret bool   `json:"secret,omitempty"`
}

// Change is the difference of a part from what was approved.
type Change struct {
	Part string `json:"part"`
	// Before and After are empty if the part didn't exist before or doesn't exist now, and
	// if it is secret.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Verdict says whether a server may start.
type Verdict struct {
	Allowed bool
	// Denied says that the user has denied exactly this.
	Denied bool
	// By says who allowed or denied it: "user", "operator", "hub" or "workspace" (trust =
	// "workspace"). ID is the id of a signed approval, Until its expiry.
	By    string
	ID    string
	Until time.Time
	// Developing says that files of the workspace may differ from the approved ones; see
	// Store.Develop.
	Developing bool
	// Changes are the differences from what was approved last; empty for a server that
	// never was.
	Changes []Change
	// Widening is what the approval allows beyond the profile.
	Widening launch.Widening
}

// ToolVerdict says which tools of an approved server may be used.
type ToolVerdict struct {
	// Taken are tools that may be listed and called.
	Taken []catalog.Tool
	// Held are tools that have changed since they were pinned, and new ones if new ones are
	// held.
	Held []HeldTool
	// InstructionsHeld says that the server's instructions have changed; InstructionsDiff
	// has the diff. Until they are approved, Instructions are the pinned ones.
	InstructionsHeld bool
	InstructionsDiff string
	Instructions     string
	// HeldDigest is a digest of everything that is held back and of the diffs: an approval
	// with it approves exactly what was shown. It is "tools:" and 64 hexadecimal digits;
	// empty if nothing is held back.
	HeldDigest string
}

// HeldTool is a tool that waits for approval.
type HeldTool struct {
	Tool catalog.Tool
	// New says that the tool didn't exist before.
	New bool
	// Diff is a unified diff of the change, with escapes for invisible characters.
	Diff string
}
