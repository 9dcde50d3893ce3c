// Package applicability says what of a workspace's context applies to one of its files: which
// instructions, rules, skills, subagents and commands, the nearest first, and why the others
// don't.
//
// It reads nothing: what was found, and for which directories, is given to it (Input).
//
// # What applies
//
// A find is for the files below a directory, its base: the root of the workspace, a
// directory below that in which it was found, or what its attribute directory says. A find
// of another root, such as one of the user's own, is for all files. Of those the attribute
// mode decides: always (or none), and glob where one of its globs matches. What is model
// or manual doesn't apply by itself, nor does what isn't ok; what only had no room in the
// snapshot (excluded) does.
//
// Globs are doublestar patterns, relative to the directory that the find was found in, or to
// the root for a find of another root: "*" is a part of one name, "**" any number of names, and "*.go" is a file in that
// directory itself, as the documentations of Claude Code and Copilot have it. Leading "./" and
// "/" mean nothing, a trailing "/" means all below. They match as vfs.Matching does, with
// its bounds. All that has the path of a directory is matched as if it were a file.
//
// Which of two files a client takes, what it cuts and what it calls them is the client's
// own rule, and none of this package's.
//
// # Concurrency
//
// The package has no state.
//
// # Limits
//
// A find's globs may stand for some 2,000 patterns; of what is beyond that nothing matches.
package applicability

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// Why there is no answer for a path. What wraps them says what to do, and nothing of a path
// that wasn't asked for.
var (
	// ErrPath: it isn't an absolute path that can be.
	ErrPath = errors.New("not a path")
	// ErrOutside: no root that is a directory has it, or it leads out of its root.
	ErrOutside = errors.New("outside of the workspace")
	// ErrSecret: it is on the secret list.
	ErrSecret = errors.New("on the secret list")
)

// maxPath is Linux's PATH_MAX; nothing of a longer name can be opened.
const maxPath = 4096

// CheckPath says whether a path can be asked for: ErrPath, if not.
func CheckPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%w: it is relative: write an absolute one", ErrPath)
	case len(path) > maxPath:
		return fmt.Errorf("%w: %d bytes are longer than any path can be", ErrPath, len(path))
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%w: it holds a NUL byte", ErrPath)
	case !utf8.ValidString(path):
		return fmt.Errorf("%w: it isn't UTF-8, and no resolver sees such a name", ErrPath)
	}
	return nil
}

// Answer is what applies to a file.
type Answer struct {
	// Path is the path asked for, as it was given.
	Path string `json:"path"`
	// Root is the workspace that it lies in.
	Root string `json:"root"`
	// Client is the coding agent that it was asked for; absent where it was asked for none.
	Client string `json:"client,omitempty"`
	// Version is the one that the rules of the client are of.
	Version string `json:"version,omitempty"`
	// Judged says that what the client has at its start is compared with the program itself.
	Judged bool `json:"judged,omitempty"`
	// Items has what applies, nearest first, and then what doesn't. Of finds that are
	// equally near, instructions come before skills, subagents and commands, and then
	// their paths decide.
	Items []Item `json:"items"`
	// Warnings say for a person what the answer doesn't hold; absent where there is nothing
	// to say.
	Warnings []string `json:"warnings,omitempty"`
}

// Item is something that applies, or doesn't.
type Item struct {
	// ID is that of the resource. A nested one is in no snapshot.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Path is where it was found: relative to the root, with slashes, where it lies
	// there, and else absolute.
	Path string `json:"path"`
	// Name is what it is called.
	Name string `json:"name"`
	// Mode is when it is read: `always`; `glob`, for files that its glob matches; `model`, when
	// the model thinks from the description that it helps; or `manual`, when the user calls for it.
	Mode string `json:"mode"`
	// Applies says that it does.
	Applies bool `json:"applies"`
	// Reason says why, in one line for a person.
	Reason string `json:"reason"`
	// Bytes is the length of the whole file.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is an estimate: one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// When says when the client reads it: at its `start`; when it works on a `file` of that directory;
	// or only when it is `started_there`. Absent where it was asked for no client, or where it
	// doesn't apply.
	When string `json:"when,omitempty" enum:"start,file,started_there"`
	// CutBytes is how many of the bytes the client cuts off.
	CutBytes int64 `json:"cut_bytes,omitempty" minimum:"0"`
}

// Find is something that was found.
type Find struct {
	Resource *snapshot.Resource
	// Path is where, absolute and before links are followed.
	Path string
	// Base is the absolute path of the directory for whose files it was found: of a
	// root, or of one below it.
	Base string
}

// Input is what Of goes by. Paths are absolute and clean, without links.
type Input struct {
	// Path is the file, which need not be there; it lies in Root, or is Root.
	Path, Root string
	Finds      []Find
}

// kinds are those that are listed, in their order.
var kinds = []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand}

// The modes.
const (
	modeAlways = "always"
	modeGlob   = "glob"
	modeModel  = "model"
	modeManual = "manual"
)

// Of answers for a file. Of finds with one id the nearest is listed. The error is the
// context's.
func Of(ctx context.Context, in Input) (*Answer, error) {
	list := make([]judged, 0, len(in.Finds))
	for i := range in.Finds {
		if f := &in.Finds[i]; slices.Contains(kinds, f.Resource.Kind) {
			list = append(list, in.place(f))
		}
	}
	slices.SortStableFunc(list, byDistance)
	seen := make(map[string]bool, len(list))
	list = slices.DeleteFunc(list, func(j judged) bool {
		known := seen[j.ID]
		seen[j.ID] = true
		return known
	})
	for i := range list {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		list[i].judge(&in)
	}
	slices.SortStableFunc(list, func(a, b judged) int { return trueFirst(a.Applies, b.Applies) })
	answer := &Answer{Path: in.Path, Root: in.Root, Items: make([]Item, len(list))}
	for i := range list {
		answer.Items[i] = list[i].Item
	}
	return answer, nil
}

// judged is a find on its way to an item.
type judged struct {
	Item
	*Find
	// base is the directory that it is for; empty for a find of another root.
	base string
	// distance is how many names are between the base and the file.
	distance int
}

// elsewhere is the distance of what was found in another root: further than all else.
const elsewhere = 1 << 20

// place says for which directory a find is, and how far that is from the file.
func (in *Input) place(f *Find) judged {
	r := f.Resource
	j := judged{Find: f, base: f.Base, distance: elsewhere, Item: Item{
		ID: r.ID(), Kind: r.Kind, Path: f.Path, Name: r.Name, Bytes: r.SizeBytes, Tokens: (r.SizeBytes + 3) / 4,
		Mode: cmp.Or(r.Attributes["mode"].Text, modeAlways),
	}}
	if rel, ok := Below(in.Root, f.Path); ok {
		j.Item.Path = rel
	}
	if directory := r.Attributes["directory"].Text; filepath.IsLocal(directory) {
		j.base = filepath.Join(f.Base, directory)
	} else if _, ok := Below(f.Base, in.Path); !ok || r.Scope == snapshot.ScopeUser {
		j.base = "" // the user's own is for every project
	}
	if rel, ok := Below(j.base, in.Path); ok && j.base != "" {
		j.distance = 0
		if rel != "." {
			j.distance = 1 + strings.Count(rel, "/")
		}
	}
	return j
}

func byDistance(a, b judged) int {
	return cmp.Or(
		cmp.Compare(a.distance, b.distance),
		cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		cmp.Compare(a.Item.Path, b.Item.Path), cmp.Compare(a.ID, b.ID),
	)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// maxReason bounds a reason, in bytes.
const maxReason = 300

// judge says whether a find applies, and why.
func (j *judged) judge(in *Input) {
	j.Applies, j.Reason = j.verdict(in)
	j.Reason = text.Line(j.Reason, maxReason)
}

func (j *judged) verdict(in *Input) (applies bool, reason string) {
	r := j.Resource
	switch {
	case j.base != "" && j.distance == elsewhere:
		return false, "it is for files below " + in.name(j.base)
	case r.Status != snapshot.StatusOK && r.Status != snapshot.StatusExcluded:
		return false, strings.TrimSuffix(string(r.Status)+": "+r.Error, ": ")
	}
	switch j.Mode {
	case modeAlways:
		return true, "always, " + j.scope(in) + j.how()
	case modeGlob:
		return j.globs(in)
	case modeModel:
		return false, "the model decides, by its description"
	case modeManual:
		return false, "only when somebody names it"
	}
	return false, fmt.Sprintf("its mode %q is not known", text.Cut(j.Mode, 40))
}

// scope says for which files a find is.
func (j *judged) scope(in *Input) string {
	switch j.base {
	case "":
		return "for all files: it is of " + j.Base
	case in.Root:
		return "for all files of the workspace"
	}
	return "for files below " + in.name(j.base)
}

// how says what of a find is there at once, where that isn't all of it.
func (j *judged) how() string {
	switch j.Kind {
	case abi.KindSkill:
		return "; loaded when its description fits"
	case abi.KindSubagent:
		return "; called when its description fits"
	case abi.KindCommand:
		return "; run when somebody calls it"
	}
	return ""
}

// globs judges by globs.
func (j *judged) globs(in *Input) (applies bool, reason string) {
	list := listOf(j.Resource.Attributes["globs"])
	if len(list) == 0 {
		return false, "it has no globs"
	}
	base, where := in.Root, ""
	if _, ok := Below(j.Base, in.Path); ok && j.Base != in.Root && j.base != "" {
		base, where = j.Base, ", below "+in.name(j.Base)
	}
	rel, _ := Below(base, in.Path)
	glob, ok := match(list, rel)
	if !ok {
		what := "no glob matches: "
		if len(list) == 1 {
			what = "its glob doesn't match: "
		}
		return false, what + text.Cut(strings.Join(list, ", "), maxReason/2) + where
	}
	return true, glob + " matches" + where
}

// listOf are globs as a list.
func listOf(globs snapshot.Attribute) []string {
	if globs.Text != "" {
		return []string{globs.Text}
	}
	return globs.List
}

// Match says whether one of the globs of an attribute, relative to a directory, matches a
// file; glob is that one, shortened. Both paths are absolute and clean.
func Match(globs snapshot.Attribute, dir, file string) (glob string, ok bool) {
	rel, below := Below(dir, file)
	if !below {
		return "", false
	}
	return match(listOf(globs), rel)
}

func match(list []string, rel string) (glob string, ok bool) {
	patterns := make([]string, len(list))
	for i, g := range list {
		patterns[i] = pattern(g)
	}
	// All of them together first, since they share one allowance.
	if len(vfs.Matching(patterns, []string{rel})) == 0 {
		return "", false
	}
	for i, p := range patterns {
		if len(vfs.Matching([]string{p}, []string{rel})) > 0 {
			return text.Cut(list[i], maxReason/2), true
		}
	}
	return "a glob", true
}

// pattern gives a glob the form of a pattern that is relative to a directory.
func pattern(glob string) string {
	for {
		rest, dot := strings.CutPrefix(glob, "./")
		rest, slash := strings.CutPrefix(rest, "/")
		if !dot && !slash {
			break
		}
		glob = rest
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return glob
}

// name is how a directory of the workspace is called: by its path below the root.
func (in *Input) name(dir string) string {
	if rel, ok := Below(in.Root, dir); ok {
		return rel
	}
	return dir
}

// Below returns the path of what lies in a directory, relative to it, "." for the directory
// itself. Both are absolute and clean.
func Below(dir, path string) (rel string, ok bool) {
	if dir == path {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	return rest, ok && rest != ""
}
