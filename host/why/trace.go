package why

import (
	"bytes"
	"io/fs"
	"slices"
	"syscall"

	"waymark/host/vfs"
	"waymark/snapshot"
)

// traceIndex is the trace of one run, indexed by path.
type traceIndex map[string][]*vfs.Dep

func indexTrace(trace []vfs.Dep) traceIndex {
	o := make(traceIndex, len(trace))
	for i := range trace {
		d := &trace[i]
		o[d.Path] = append(o[d.Path], d)
	}
	return o
}

// traceOf returns the index of a run's trace, building it on first use.
func (q *question) traceOf(r *Run) traceIndex {
	o, ok := q.traces[r]
	if !ok {
		o = indexTrace(r.Trace)
		if q.traces == nil {
			q.traces = map[*Run]traceIndex{}
		}
		q.traces[r] = o
	}
	return o
}

// looked reports whether the run looked at a place that it may see: at the path itself, or at
// a directory on the way that is missing, or whose listing shows the rest.
func (o traceIndex) looked(rel string) bool {
	_, ok := o.lookedFrom(rel)
	return ok
}

// lookedFrom is looked, and from where: rel itself, or the deepest directory on the way that
// was listed or missing.
func (o traceIndex) lookedFrom(rel string) (from string, ok bool) {
	if len(o[rel]) > 0 {
		return rel, true
	}
	for dir := rel; dir != "."; {
		dir = parent(dir)
		for _, d := range o[dir] {
			if d.Kind == vfs.DepListed || d.Kind == vfs.DepMissing {
				return dir, true
			}
		}
	}
	return "", false
}

// refused reports whether looking at a path failed for lack of permission.
func (o traceIndex) refused(rel string) bool {
	return slices.ContainsFunc(o[rel], func(d *vfs.Dep) bool { return d.Errno == syscall.EACCES || d.Errno == syscall.EPERM })
}

// read reports whether a file was read with this content.
func (o traceIndex) read(rel string, hash snapshot.Hash) bool {
	return len(hash) > 0 && slices.ContainsFunc(o[rel], func(d *vfs.Dep) bool { return d.Kind == vfs.DepRead && bytes.Equal(d.Hash, hash) })
}

// stuck reports whether a path was observed whose content could not be read, or not be
// hashed: a link, a FIFO, a file without permission, one of many megabytes.
func (o traceIndex) stuck(rel string) bool {
	return slices.ContainsFunc(o[rel], func(d *vfs.Dep) bool {
		return d.Kind == vfs.DepLink || d.Kind == vfs.DepRead && len(d.Hash) == 0 ||
			d.Kind == vfs.DepStat && (d.Errno != 0 || d.Type&fs.ModeType&^fs.ModeDir != 0)
	})
}

// onlyDir reports whether a path was observed as a directory that nobody wanted to list,
// because a file was expected.
func (o traceIndex) onlyDir(rel string) bool {
	dir := false
	for _, d := range o[rel] {
		if d.Kind == vfs.DepListed {
			return false
		}
		dir = dir || d.Kind == vfs.DepStat && d.Type.IsDir()
	}
	return dir
}

// isLink reports whether a path was observed as a link.
func (o traceIndex) isLink(rel string) bool {
	return slices.ContainsFunc(o[rel], func(d *vfs.Dep) bool { return d.Kind == vfs.DepLink })
}
