// Package guest is the Go SDK for Waymark resolvers. A resolver is an ordinary function over
// an fs.FS view of one scan root:
//
//	func main() {}
//
//	func init() {
//		guest.Serve(guest.Module{
//			Name:    "acme-rules",
//			Version: "1.0.0",
//			Resolvers: []guest.Resolver{{
//				Name:    "acme-rules",
//				Kinds:   []guest.Kind{guest.InstructionFile},
//				Summary: "ACME.md at the top level",
//				Reads:   []string{"ACME.md"},
//				Resolve: resolve,
//			}},
//		})
//	}
//
//	func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
//		if _, err := fs.Stat(root, "ACME.md"); errors.Is(err, fs.ErrNotExist) {
//			return nil, nil
//		}
//		return &guest.Response{Resources: []guest.Resource{
//			{Kind: guest.InstructionFile, Path: "ACME.md", Content: guest.File("ACME.md")},
//		}}, nil
//	}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags "-s -w" -o acme-rules.wasm .
//
// and test it with go test: call the function with an fstest.MapFS or an os.DirFS, or the
// whole module through Module.HandleResolve, which the wasm build calls, too.
//
// # Guarantees
//
// The package speaks the Extism convention itself and yields to the garbage collector once
// per call. A wasm build links neither fmt, os, reflect nor encoding/json. A guest's imports
// decide how long it takes to load (nothing 38 ms, os 48, fmt 51, encoding/json 67, a YAML
// library 92), so think twice before you import them. Resources keep their order, and
// attributes are written sorted: equal results are equal bytes.
//
// A panic ends the call and the instance; the host shows its text.
//
// # Concurrency
//
// The host calls a module from one thread, one call at a time. Natively, Module's methods may
// be called concurrently if its resolvers may.
//
// # Limits
//
// Outside wasm, Serve registers nothing. Resolvers have to observe the ABI's sizes
// (abi.MaxName and so on); Truncate helps.
package guest

import (
	"io/fs"

	"waymark/abi"
)

// The types of the ABI under the names that resolvers use.
//
//nolint:revive // one comment for all: package abi documents each
type (
	Kind     = abi.Kind
	Root     = abi.Root
	Limits   = abi.Limits
	Resource = abi.Resource
	Content  = abi.Content
	Value    = abi.Value
	Finding  = abi.Finding
)

// The kinds that a resolver may declare.
const (
	InstructionFile = abi.KindInstructionFile
	Skill           = abi.KindSkill
	MCPConfig       = abi.KindMCPConfig
	Plugin          = abi.KindPlugin
	Hook            = abi.KindHook
	Subagent        = abi.KindSubagent
	Command         = abi.KindCommand
)

// Module is the content of one .wasm file.
type Module struct {
	// Name and each resolver's name are lower-case words joined by hyphens, at most 64 bytes.
	Name string
	// Version is the author's, for example 1.0.0.
	Version   string
	Resolvers []Resolver
}

// Resolver finds resources of certain kinds in one root.
type Resolver struct {
	Name string
	// Kinds lists what the resolver may emit.
	Kinds []Kind
	// Summary is one line for a person.
	Summary string
	// Reads holds doublestar patterns, relative to the root. What matches none of them
	// doesn't exist for Resolve, except the directories on the way.
	Reads []string
	// ReadsFromConfig names config keys that hold a literal relative path, or a list of them,
	// which count as Reads.
	ReadsFromConfig []string
	// Ignores names fields of the request that make no difference to the answer, such as
	// abi.IgnoreRootName. The host then needs fewer runs for many roots in which nothing is
	// found.
	Ignores []string
	// Resolve looks at one root. A nil Response means that nothing was found. An error fails
	// the run, and the host keeps the last good result. Report a fault of one file in that
	// resource's Status and Error.
	Resolve func(req *Request, root fs.FS) (*Response, error)
}

// Response is what a resolver found.
type Response struct {
	// Rows are encoded resources. They come before Resources.
	Rows      []Rows
	Resources []Resource
	// Warnings are lines for a person; they don't change any status.
	Warnings []string
}

// Request says what to look at.
type Request struct {
	// Resolver is the name under which the resolver was called.
	Resolver string
	Root     Root
	// Config is the operator's table for this resolver.
	Config Config
	Limits Limits

	inUnit bool // set during a Memo
}

// MaxBytes is the largest content that the host keeps, in bytes: the request's value, or the
// ABI's default of 64 KiB.
func (r *Request) MaxBytes() int {
	if r.Limits.MaxResourceBytes <= 0 {
		return defaultMaxBytes
	}
	return int(min(r.Limits.MaxResourceBytes, maxMaxBytes))
}

const (
	defaultMaxBytes = 64 << 10
	// maxMaxBytes keeps sizes in the range of int on 32-bit platforms, with room for one more
	// byte.
	maxMaxBytes = 1 << 30
)

// File returns a payload that the host reads from a file, relative to the root.
func File(name string) *Content { return &Content{File: name} }

// Inline returns a payload that the resolver made itself.
func Inline(text string) *Content { return &Content{Inline: &text} }

// Level is the importance of a log line.
type Level int

// The levels of the Extism convention.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Log writes one line to the host's log, up to a number of bytes per run. Messages for users
// belong in Response.Warnings. Natively it writes to standard error.
func Log(level Level, message string) { log(level, message) }
