package vfs

import (
	"io/fs"
	"sync"

	"waymark/internal/beneath"
)

// Run is what one resolver run sees of a root. It belongs to one goroutine.
//
// Every question is answered once: the same question gets the same answer
// until Close, whatever happens to the files. Units ask anew; see BeginUnit.
type Run struct {
	root   *Root
	filter *Filter
	limits Limits
	closed bool

	walker     beneath.Walker
	memory                         // of what was asked outside of units, or in the open one
	nodes      map[string]*node    // files read, by link-free path
	dirs       map[string]struct{} // directories that led to one of them, or were listed
	scopes     map[string]scope    // of directories, to judge the names in them
	leaf       scope               // scratch
	stepper    stepper
	steady     map[string]bool // directories known not to have changed; see keepSteady
	scopesSize int
	tail       tailReader
	links      hardLinks
	units      unitKeeper

	used     Usage
	loaded   int64 // of used.ReadBytes, what was read into nodes
	hashLeft int64
	over     *Error

	hasher  sync.WaitGroup // the goroutine
	hashing sync.WaitGroup // the files handed to it
	hashes  chan *node     // nil until it runs
}

// memory is what was asked, and what came out. A unit has one of its own, so
// that its deps are complete by themselves.
type memory struct {
	looks  map[lookKey]*look
	via    map[string]string // directories reached through links: asked → link-free
	deps   []Dep             // without those of nodes
	denied []Denial
	opened []*node // nodes of files opened; the same may stand there twice
}

// Info is what a guest learns of a path: what a trace can hold, and no more.
// Times, owners, permissions and link counts are the same for everything.
type Info struct {
	// Type holds the type bits: 0 for a regular file.
	Type fs.FileMode
	// Size is that of a file or of a link's text, in bytes; 0 for the rest.
	Size int64
	// Ino is made from the link-free path.
	Ino uint64
}

// IsDir reports whether the path is a directory.
func (i Info) IsDir() bool { return i.Type.IsDir() }

// Begin starts a run. A nil filter sees nothing. Close it.
func (r *Root) Begin(f *Filter, limits Limits) *Run {
	if f == nil {
		f, _ = View{}.Compile() // can't fail without patterns
	}
	run := &Run{root: r, filter: f, limits: limits.withDefaults(), hashLeft: hashBudget}
	fd, ok := r.acquire()
	if !ok {
		run.closed = true
		return run
	}
	run.walker.Root = fd
	run.tail.fd = -1
	run.nodes = make(map[string]*node)
	run.dirs = make(map[string]struct{})
	run.stepper.most = maxWork
	run.scopes = map[string]scope{".": f.scopeAt(r, &run.stepper)}
	return run
}

// Root returns the root that the run looks at.
func (r *Run) Root() *Root { return r.root }

// Close ends the run: it waits for its goroutine and lets go of all
// descriptors. What Content gave stays valid.
func (r *Run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.hashes != nil {
		close(r.hashes)
	}
	r.hasher.Wait()
	r.tail.close()
	r.walker.Forget()
	r.root.release()
	return nil
}

// Stat looks at a path, through links.
func (r *Run) Stat(name string) (Info, error) {
	l := r.look(verbStat, name)
	return l.info, l.error()
}

// Lstat looks at a path; a link is a link.
func (r *Run) Lstat(name string) (Info, error) {
	l := r.look(verbLstat, name)
	return l.info, l.error()
}

// Readlink returns a link's text as it is. EINVAL: not a link.
func (r *Run) Readlink(name string) (string, error) {
	l := r.look(verbReadlink, name)
	return l.target, l.error()
}

// Open opens a file or a directory, through links. A file is read right away,
// as much of it as is kept; it doesn't hold a descriptor.
func (r *Run) Open(name string) (*File, error) {
	if !r.closed && r.over == nil && !r.chargeOpen() {
		return nil, r.over
	}
	l := r.look(verbOpen, name)
	if l.err != nil {
		return nil, l.err
	}
	return &File{run: r, look: l, unit: r.units.open}, nil
}
