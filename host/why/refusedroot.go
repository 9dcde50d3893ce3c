package why

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"waymark/host/vfs"
)

// refusedRoot answers for a path in a configured root that isn't looked at,
// unless it also lies in a root further down that is.
func (q *question) refusedRoot() (Answer, bool) {
	i := slices.IndexFunc(q.in.Refused, func(r Refused) bool {
		dir := filepath.Clean(r.Path)
		inside := func(path string) bool { _, ok := below(dir, path); return ok }
		return slices.ContainsFunc(q.own(), inside) &&
			!slices.ContainsFunc(q.spots, func(s spot) bool { return inside(q.in.Roots[s.root].FS.Path()) })
	})
	if i < 0 {
		return Answer{}, false
	}
	r := &q.in.Refused[i]
	return Answer{
		Reason: refusal(r.Err), Root: r.Path,
		Detail: "the configured root or source " + show(r.Path) + " is not looked at: " + r.Err.Error(),
	}, true
}

// refusal is the reason for which a root is refused.
func refusal(err error) Reason {
	if link, ok := errors.AsType[*vfs.LinkError](err); ok {
		switch link.Reason {
		case vfs.ReasonEscape:
			return ReasonLinkEscapes
		case vfs.ReasonSecret:
			return ReasonHiddenSecret
		case vfs.ReasonExcluded:
			return ReasonExcludedByConfig
		}
		return ReasonNotAKnownPlace
	}
	switch {
	case errors.Is(err, vfs.ErrNotRegular):
		return ReasonNotRegular
	case errors.Is(err, syscall.ELOOP):
		return ReasonLinkBroken
	case errors.Is(err, fs.ErrPermission):
		return ReasonUnreadable
	}
	return ReasonOutsideRoots // Check has the last word on what may be one
}
