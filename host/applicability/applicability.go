// Package applicability says which parts of a workspace's context apply to one of its files:
// which instructions, rules, skills, subagents and commands, the nearest first, and why the
// others don't.
//
// It reads nothing: its Input has what was found, and for which directories.
//
// # What applies
//
// A find is for the files below a directory, its base: the root of the workspace, the
// directory below it in which the find was made, or the one in its attribute directory. A
// find of another root, such as one of the user's own, is for all files. The attribute mode
// then decides: always (or none) applies, and glob applies if one of its globs matches. A
// find with mode model or manual doesn't apply by itself, nor does one that isn't ok, unless
// it was only excluded from the snapshot for lack of room.
//
// Globs are doublestar patterns. They are relative to the directory in which the find was
// made, or to the root for a find of another root. "*" is a part of one name, "**" any number
// of names, and "*.go" is a file in that directory itself, as documented by Claude Code and
// Copilot. Leading "./" and "/" have no effect, a trailing "/" means everything below. They
// match as vfs.Matching does, with its bounds. A directory's path is matched as if it were a
// file.
//
// Which of two files a client takes, what it cuts and what it calls them is the client's own
// rule, and not part of this package.
//
// # Concurrency
//
// The package has no state.
//
// # Limits
//
// A find's globs may expand to some 2,000 patterns; the rest match nothing.
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

// Reasons why there is no answer for a path. Errors that wrap them say what to do, and reveal
// nothing of other paths.
var (
	// ErrPath: it isn't a valid absolute path.
	ErrPath = errors.New("not a path")
	// ErrOutside: no root that is a directory contains it, or it leads out of its root.
	ErrOutside = errors.New("outside of the workspace")
	// ErrSecret: it is on the secret list.
	ErrSecret = errors.New("on the secret list")
)

// maxPath is Linux's PATH_MAX; no longer name can be opened.
const maxPath = 4096

// CheckPath returns an ErrPath if no answer is possible for a path.
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
	// Path is the path asked for, as given.
	Path string `json:"path"`
	// Root is the workspace that contains it.
	Root string `json:"root"`
	// Client is the coding agent that the answer is for; absent if none was asked for.
	Client string `json:"client,omitempty"`
	// Version is the version of the client that the rules describe.
	Version string `json:"version,omitempty"`
	// Judged says what the client's rules were compared with, and when.
	Judged string `json:"judged,omitempty"`
	// Items has what applies, nearest first, and then what doesn't. Of equally near finds,
	// instructions come before skills, subagents and commands, and then their paths decide.
	Items []Item `json:"items"`
	// Warnings say for a person what is missing from the answer; absent if nothing is.
	Warnings []string `json:"warnings,omitempty"`
}

// Item is something that applies, or doesn't.
type Item struct {
	// ID is that of the resource. A nested one is in no snapshot.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Path is where it was found: relative to the root, with slashes, if it lies there, and
	// else absolute.
	Path string `json:"path"`
	// Name is the name of the resource.
	Name string `json:"name"`
	// Mode is when it is read: `always`; `glob`, for files that its glob matches; `model`,
	// when the model decides from the description that it helps; or `manual`, when the user
	// calls for it.
	Mode string `json:"mode"`
	// Applies says that it does.
	Applies bool `json:"applies"`
	// Reason says why, in one line for a person.
	Reason string `json:"reason"`
	// Bytes is the length of the whole file.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is an estimate: one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// When says when the client reads it: at its `start`; when it works on a `file` of that
	// directory; or only when it is `started_there`. Absent if no client was asked for, or if
	// it doesn't apply.
	When string `json:"when,omitempty" enum:"start,file,started_there"`
	// CutBytes is how many of the bytes the client cuts off.
	CutBytes int64 `json:"cut_bytes,omitempty" minimum:"0"`
}

// Find is something that was found.
type Find struct {
	Resource *snapshot.Resource
	// Path is where it was found, absolute and before links are followed.
	Path string
	// Base is the absolute path of the directory for whose files it was found: a root, or a
	// directory below one.
	Base string
}

// Input is the input of Of. Paths are absolute and clean, without links.
type Input struct {
	// Path is the file, which need not exist; it lies in Root, or is Root.
	Path, Root string
	Finds      []Find
}

// kinds are the listed kinds, in order.
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
	slices.SortStableFunc(list, func(a, b judged) int { return TrueFirst(a.Applies, b.Applies) })
	answer := &Answer{Path: in.Path, Root: in.Root, Items: make([]Item, len(list))}
	for i := range list {
		answer.Items[i] = list[i].Item
	}
	return answer, nil
}

// judged is a find that is being turned into an item.
type judged struct {
	Item
	*Find
	// base is the directory that it is for; empty for a find of another root.
	base string
	// distance is how many names are between the base and the file.
	distance int
}

// elsewhere is the distance of a find from another root: further than all others.
const elsewhere = 1 << 20

// place determines the directory that a find is for, and its distance from the file.
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

// TrueFirst compares two values of which true comes first.
func TrueFirst(a, b bool) int {
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

// judge decides whether a find applies, and why.
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
	by := r.ReadersByMode()
	if by == nil {
		return j.inMode(j.Mode, in)
	}
	// Each reader has the mode of the name that it reads: the first that applies is said.
	for _, mode := range []string{modeAlways, modeGlob} {
		if who := by[mode]; len(who) > 0 {
			if applies, reason = j.inMode(mode, in); applies {
				j.Mode = mode
				return true, "for " + strings.Join(who, ", ") + ": " + reason
			}
		}
	}
	return j.inMode(j.Mode, in)
}

// inMode decides for one mode.
func (j *judged) inMode(mode string, in *Input) (applies bool, reason string) {
	switch mode {
	case modeAlways:
		return true, "always, " + j.scope(in) + j.how()
	case modeGlob:
		return j.globs(in)
	case modeModel:
		return false, "the model decides, by its description"
	case modeManual:
		return false, "only when somebody names it"
	}
	return false, fmt.Sprintf("its mode %q is not known", text.Cut(mode, 40))
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

// how says which part of a find is loaded at once, if not all of it.
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

// listOf returns globs as a list.
func listOf(globs snapshot.Attribute) []string {
	if globs.Text != "" {
		return []string{globs.Text}
	}
	return globs.List
}

// Match reports whether one of the globs of an attribute, relative to a directory, matches a
// file; glob is that one, shortened. Both paths are absolute and clean.
func Match(globs snapshot.Attribute, dir, file string) (glob string, ok bool) {
	rel, below := Below(dir, file)
	if !below {
		return "", false
	}
	return match(listOf(globs), rel)
}

// MatchIgnored is Match for globs that are patterns of gitignore's, whatever the case: one
// without a slash but at its end matches at any depth, and a directory's all that is in it.
func MatchIgnored(globs snapshot.Attribute, dir, file string) (glob string, ok bool) {
	rel, below := Below(dir, file)
	if !below {
		return "", false
	}
	for _, g := range listOf(globs) {
		p := strings.TrimSuffix(strings.ToLower(g), "/")
		if rest := strings.TrimPrefix(p, "/"); rest != p || strings.Contains(p, "/") {
			p = rest
		} else {
			p = "**/" + p
		}
		if len(vfs.Matching([]string{p, p + "/**"}, []string{strings.ToLower(rel)})) > 0 {
			return text.Cut(g, maxReason/2), true
		}
	}
	return "", false
}

// MatchNames is Match for globs of which those without a slash match names at any depth. One
// that begins with a slash matches nothing, and one with "!" what it doesn't match otherwise.
func MatchNames(globs snapshot.Attribute, dir, file string) (glob string, ok bool) {
	rel, below := Below(dir, file)
	if !below {
		return "", false
	}
	for _, g := range listOf(globs) {
		p, not := strings.CutPrefix(strings.TrimSpace(g), "!")
		p = strings.TrimPrefix(p, "./")
		if rest, all := strings.CutSuffix(p, "/**"); all {
			p = rest + "/**/*" // not the directory itself
		}
		of := rel
		if !strings.Contains(p, "/") {
			of = filepath.Base(rel)
		}
		if len(vfs.Matching([]string{p}, []string{of})) > 0 != not {
			return text.Cut(g, maxReason/2), true
		}
	}
	return "", false
}

func match(list []string, rel string) (glob string, ok bool) {
	patterns := make([]string, len(list))
	for i, g := range list {
		patterns[i] = pattern(g)
	}
	// First all of them together, because they share one allowance.
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

// pattern turns a glob into a pattern relative to a directory.
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

// Below returns path relative to a directory that contains it, "." for the directory itself.
// Both are absolute and clean.
func Below(dir, path string) (rel string, ok bool) {
	if dir == path {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	return rest, ok && rest != ""
}
