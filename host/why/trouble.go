package why

import (
	"io/fs"
	"strings"

	"waymark/host/vfs"
	"waymark/snapshot"
)

// trouble finds out what is wrong with the file of a find that is unreadable
// or invalid, when that is its place and not its text. It is empty when the
// find's own error says it all.
func (q *question) trouble(m match) (Reason, string) {
	if m.run == nil || q.rootOf(m.run) == nil {
		return "", ""
	}
	root := q.rootOf(m.run)
	all := wideView([]*Run{m.run})
	for _, path := range q.suspects(m) {
		rel, ok := below(root.Path(), path)
		if !ok {
			continue
		}
		s := look(root, all, rel)
		reason, detail := s.verdict(rel)
		if reason == ReasonNotRegular && m.cand.Status != snapshot.StatusUnreadable {
			continue // it is something else that the resolver minds
		}
		if reason != "" {
			return reason, detail
		}
	}
	return "", ""
}

// suspects are the paths whose links or types can be what is wrong: the one
// asked for, that of the find, and when its content was never had, what the
// run met below the source.
func (q *question) suspects(m match) []string {
	list := []string{m.as, foundAt(m.cand), m.cand.Source}
	if m.content != "" {
		list = append([]string{m.content}, list...)
	}
	if len(m.cand.ContentHash) > 0 {
		return list
	}
	const most = 16 // the first is the one; more are other files of a drop-in's taste
	dir := q.rootOf(m.run).Path()
	for i := range m.run.Trace {
		d := &m.run.Trace[i]
		path := strings.TrimSuffix(dir, "/") + "/" + d.Path
		if _, ok := below(m.cand.Source, path); !ok || d.Path == "." {
			continue
		}
		if len(list) < most && (d.Kind == vfs.DepLink || d.Kind == vfs.DepStat) {
			list = append(list, path)
		}
	}
	return list
}

// verdict turns a sight that is a reason by itself into one.
func (s *sight) verdict(rel string) (Reason, string) {
	name, leads := show(rel), ""
	if s.at != rel && s.at != "" {
		name = show(s.at)
	}
	if s.link != "" {
		leads = " leads to " + show(s.link) + ","
	}
	switch s.state {
	case escapes:
		if leads == "" {
			leads = " is reached by a link that goes"
		}
		return ReasonLinkEscapes, show(rel) + leads + " out of the root: links are followed inside of it only; add the directory that it leads to as a source"
	case broken:
		if leads == "" {
			return ReasonLinkBroken, name + " is a link to what doesn't exist: mend or remove it"
		}
		return ReasonLinkBroken, name + leads + " which doesn't exist: mend or remove the link"
	case loops:
		return ReasonLinkBroken, name + " is a link that leads in circles, or through too many others: mend or remove it"
	case present:
		if s.typ&fs.ModeType&^fs.ModeDir != 0 {
			return ReasonNotRegular, name + " is a " + kindOf(s.typ) + ", not a regular file: such are never opened"
		}
	}
	return "", ""
}

// kindOf names a type that is neither a file's nor a directory's.
func kindOf(t fs.FileMode) string {
	switch {
	case t&fs.ModeNamedPipe != 0:
		return "FIFO"
	case t&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
