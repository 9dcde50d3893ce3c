package vfs

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// LinkError says that a root wasn't opened because of the target of a link in a directory of
// RootOptions.Within. It doesn't name the target, because the caller may not be allowed to
// know it. errors.Is matches ErrEscape and ErrHidden.
type LinkError struct {
	// Link is the link's absolute path, Within the directory that contains it.
	Link, Within string
	// Reason is ReasonEscape, ReasonSecret, ReasonExcluded, or ReasonNotInReads for a name
	// that isn't UTF-8.
	Reason Reason
	// Secret is the entry of the secret list, for ReasonSecret.
	Secret Secret
}

func (e *LinkError) Error() string {
	link := fmt.Sprintf("the link %q", e.Link)
	switch e.Reason {
	case ReasonSecret:
		return fmt.Sprintf("%s leads over what is on the secret list (%s: %s): name the place itself to have it looked at",
			link, e.Secret.Pattern, e.Secret.What)
	case ReasonExcluded:
		return link + " leads over what a pattern of exclude matches, or over the agent's own files: nothing there is looked at"
	case ReasonNotInReads:
		return link + " leads over a name that isn't UTF-8: rename that"
	}
	return fmt.Sprintf("%s leads out of %q, and links in there are followed inside of it only: name what it leads to", link, e.Within)
}

// Is reports whether target is the sentinel of the reason.
func (e *LinkError) Is(target error) bool {
	s := e.Reason.sentinel()
	return s != nil && s == target
}

// linkErrorOf adds the reason to the error of a link on the way to a root.
func linkErrorOf(e *beneath.LinkError) *LinkError {
	link := &LinkError{Link: e.Link, Within: e.Within, Reason: ReasonEscape}
	if p, ok := e.Err.(*protectedName); ok { //nolint:errorlint // linkJudge made it
		link.Reason, link.Secret = p.reason, p.secret
	}
	return link
}

// protectedName is why linkJudge refuses a name that nobody may read.
type protectedName struct {
	reason Reason
	secret Secret
}

func (e *protectedName) Error() string { return string(e.reason) }

// linkJudge returns the policy about names on the way to a root. It refuses a protected name
// that a link introduced: a pattern that ends at such a name, or that wouldn't match without
// one. Names that users wrote themselves are intended.
func linkJudge(exclude *trie, own []string) func(within beneath.Base, names []beneath.Name) error {
	return func(within beneath.Base, names []beneath.Name) error {
		all, users := make([]string, len(names)), make([]string, len(names))
		for i, n := range names {
			all[i], users[i] = n.Text, n.Text
			if n.Linked {
				users[i] = anyName
			}
		}
		path := strings.Join(all, "/")
		if !utf8.ValidString(path) {
			return &protectedName{reason: ReasonNotInReads}
		}
		if names[len(names)-1].Linked && isOwn(beneath.Join(within.Path(), path), own) {
			return &protectedName{reason: ReasonExcluded}
		}
		root := &Root{base: within, exclude: exclude, mcp: noPatterns}
		reason := root.protectedFromAll(path)
		if reason == ReasonNone || !names[len(names)-1].Linked && root.protectedFromAll(strings.Join(users, "/")) != ReasonNone {
			return nil
		}
		e := &protectedName{reason: reason}
		if reason == ReasonSecret {
			e.secret, _ = root.SecretEntry(path)
		}
		return e
	}
}

// isOwn reports whether an absolute path is one of the agent's own places, or below one.
func isOwn(path string, own []string) bool {
	return slices.ContainsFunc(own, func(place string) bool {
		return path == place || strings.HasPrefix(path, strings.TrimSuffix(place, "/")+"/")
	})
}

// anyName replaces names from links when only the user's names count. No pattern of the
// secret list matches it, and no file has such a name.
const anyName = "\x01"

// everything is a view that sees all that any view may see.
var everything = sync.OnceValue(func() *Filter {
	f, _ := View{Reads: []string{"**"}, MCPOnly: true}.Compile() // can't fail
	return f
})

// protectedFromAll says why no view may read what is at a path.
func (r *Root) protectedFromAll(path string) Reason {
	if reason := r.Judge(everything(), path).Reason; reason == ReasonSecret || reason == ReasonExcluded {
		return reason
	}
	return ReasonNone
}

// findRoot says what a root at the end of a path is: a directory, or one file in a directory.
// A file that is a link lies where the link lies; runs judge its target.
func findRoot(found *beneath.Resolution) (dir, file string, err error) {
	var st unix.Stat_t
	if errno := found.Stat(found.Path(), &st); errno != 0 {
		return "", "", errno
	}
	switch typ := beneath.TypeOf(&st); {
	case typ == fs.ModeDir:
		return found.Path(), "", nil
	case typ != 0:
		return "", "", ErrNotRegular
	}
	if dir, file, ok := found.LastLink(); ok {
		return dir, file, nil
	}
	dir, file = beneath.Split(found.Path())
	return dir, file, nil
}
