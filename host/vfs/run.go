package vfs

import (
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Run is what one resolver run sees of a root. It belongs to one goroutine.
//
// The same question gets the same answer until Close, whatever happens to the files. Units
// ask anew; see BeginUnit.
type Run struct {
	root   *Root
	filter *Filter
	limits Limits
	closed bool

	// walker is the run's and not the root's: a directory that is kept open for longer may
	// have been replaced.
	walker     beneath.Walker
	memory                         // of what was asked outside units, or in the open one
	nodes      map[string]*node    // files read, by link-free path
	dirs       map[string]struct{} // directories on the way to a node, or listed
	sized      map[string]struct{} // files whose size was reported without opening them
	scopes     map[string]scope    // of directories, to judge the names in them
	leaf       scope               // scratch
	matcher    matcher
	steady     map[string]bool // directories known to be unchanged; see keepSteady
	scopesSize int
	tail       tailReader
	links      hardLinks
	units      unitKeeper

	used     Usage
	loaded   int64 // the part of used.ReadBytes that was read into nodes
	hashLeft int64
	over     *Error
	existing int // names that Exists has looked at

	sawSettings bool

	hasher  sync.WaitGroup // the hashing goroutine
	hashing sync.WaitGroup // batches handed to it
	hashes  chan []*node   // nil until it runs
	batch   []*node        // next batch for it
	batched int            // bytes in batch
}

// memory holds questions and their answers. A unit has its own, so that its deps are
// complete.
type memory struct {
	answers map[question]*answer
	via     map[string]string // directories reached through links: asked → link-free
	deps    []Dep             // without those of nodes
	denied  []Denial
	opened  []*node // nodes of opened files, perhaps repeated
}

// Info is what a guest learns of a path: no more than a trace can hold. Times, owners,
// permissions and link counts are the same for everything.
type Info struct {
	// Type holds the type bits: 0 for a regular file.
	Type fs.FileMode
	// Size is that of a file or of a link's text, in bytes; 0 for anything else.
	Size int64
	// Ino is derived from the link-free path.
	Ino uint64
}

// IsDir reports whether the path is a directory.
func (i Info) IsDir() bool { return i.Type.IsDir() }

// Begin starts a run, which must be closed. A nil filter sees nothing.
func (r *Root) Begin(f *Filter, limits Limits) *Run {
	if f == nil {
		f, _ = View{}.Compile() // can't fail without patterns
	}
	run := &Run{root: r, filter: f, limits: limits.WithDefaults(), hashLeft: hashBudget}
	fd, ok := r.acquire()
	if !ok {
		run.closed = true
		return run
	}
	run.walker.Root = fd
	run.tail.fd = -1
	run.nodes = make(map[string]*node)
	run.dirs = make(map[string]struct{})
	run.matcher.most = maxWork
	run.scopes = map[string]scope{".": f.scopeAt(r, &run.matcher)}
	return run
}

// Root returns the root that the run reads.
func (r *Run) Root() *Root { return r.root }

// Close ends the run: it waits for its goroutine and closes all descriptors. Results of
// Content stay valid.
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

// Stat describes a path, following links.
func (r *Run) Stat(name string) (Info, error) {
	a := r.ask(verbStat, name)
	return a.info, a.error()
}

// Lstat describes a path without following a link at its end.
func (r *Run) Lstat(name string) (Info, error) {
	a := r.ask(verbLstat, name)
	return a.info, a.error()
}

// Readlink returns a link's text unchanged. It fails with EINVAL if the path isn't a link.
func (r *Run) Readlink(name string) (string, error) {
	a := r.ask(verbReadlink, name)
	return a.target, a.error()
}

// Open opens a file or a directory, following links. The part of a file that is kept is read
// at once; the File holds no descriptor.
func (r *Run) Open(name string) (*File, error) {
	if !r.closed && r.over == nil && !r.chargeOpen() {
		return nil, r.over
	}
	a := r.ask(verbOpen, name)
	if a.err != nil {
		return nil, a.err
	}
	return &File{run: r, answer: a, unit: r.units.open}, nil
}

// verb is what a guest does with a path.
type verb string

const (
	verbOpen     verb = "open"
	verbStat     verb = "stat"
	verbLstat    verb = "lstat"
	verbReadlink verb = "readlink"
)

// question is what a guest or the host asks of a path.
type question struct {
	verb verb
	path string
}

// usualNames is how many names a path may have at no extra charge.
const usualNames = 16

// answer is the remembered result of a question.
type answer struct {
	asked  string
	path   string // link-free; "" if it wasn't reached
	info   Info
	node   *node  // of an opened file
	target string // of a link
	list   *listing
	err    *Error
	// unread marks an answer of an adopted unit whose file isn't kept. It is paid for, but
	// the file has to be opened again.
	unread bool
}

func (a *answer) error() error {
	if a.err == nil {
		return nil
	}
	return a.err
}

// ask answers a question, from memory if it was asked before.
func (r *Run) ask(v verb, name string) *answer {
	if err := r.usable(v, name); err != nil {
		return &answer{err: err}
	}
	path, dirOnly, problem := cleanPath(name)
	if problem.errno != 0 {
		return &answer{err: problem.error(v, name)}
	}
	key := question{v, path}
	if dirOnly {
		key.path = path + "/"
	}
	known := r.answers[key]
	if known != nil && !known.unread {
		return known
	}
	a := &answer{asked: path}
	if names := strings.Count(path, "/"); names > usualNames {
		r.matcher.use(int64(names) * workPerEntry) // each may have to be opened
	}
	at := r.scopeOf(path)
	s := r.root.visible(r.filter, path, at)
	if r.over != nil {
		return &answer{err: r.over}
	}
	if !s.dir {
		// An invisible path is neither remembered nor charged: a guest may guess as long as
		// it likes.
		return &answer{err: r.deny(v, path, failure{errno: syscall.ENOENT, reason: s.reason})}
	}
	r.sawSettings = r.sawSettings || at.settings()
	if known == nil && !r.chargeEntries(1+len(path)/128) {
		return &answer{err: r.over}
	}
	f := r.fill(a, v, s, dirOnly)
	if r.over != nil {
		return &answer{err: r.over}
	}
	if f.errno != 0 {
		a.info = Info{}
		a.err = r.deny(v, path, f)
	}
	r.remember(key, a)
	return a
}

func (r *Run) remember(key question, a *answer) {
	if r.answers == nil {
		r.answers = make(map[question]*answer)
	}
	r.answers[key] = a
}

// fill completes an answer from the file system.
func (r *Run) fill(a *answer, v verb, s visibility, dirOnly bool) (f failure) {
	follows := dirOnly || v == verbStat || v == verbOpen
	switch {
	case a.asked == ".":
		a.path, a.info = ".", Info{Type: fs.ModeDir, Ino: inoOf(".")}
	case v == verbOpen:
		f = r.open(a, s.file && !dirOnly)
	default:
		f = r.stat(a, follows)
	}
	switch {
	case f.errno != 0:
		return f
	case !a.info.IsDir() && dirOnly:
		return failure{errno: syscall.ENOTDIR}
	case !a.info.IsDir() && !s.file && (a.info.Type != fs.ModeSymlink || follows):
		// By this name only a directory on the way is visible.
		return failure{errno: syscall.ENOENT, reason: ReasonNotInReads}
	case v == verbReadlink:
		return r.readlink(a)
	}
	return failure{}
}

func (r *Run) stat(a *answer, follows bool) (f failure) {
	var st unix.Stat_t
	a.path, f = r.follow(a.asked, follows, DepStat, func(path string) (string, syscall.Errno) {
		if _, ok := r.dirs[path]; ok {
			st.Mode = unix.S_IFDIR // an answer doesn't change during the run
			return path, 0
		}
		at, errno := r.walker.Stat(path, &st)
		if errno == 0 && follows && beneath.TypeOf(&st) == fs.ModeSymlink {
			errno = unix.ELOOP
		}
		return at, errno
	})
	if f.errno != 0 {
		return f
	}
	if n := r.nodes[a.path]; n != nil && n.failed.errno == 0 && beneath.TypeOf(&st) == 0 {
		st.Size = n.id.Size // the size that was read, whatever it is now
	}
	a.info = infoOf(a.path, &st)
	size := int64(-1)
	if a.info.Type == 0 || a.info.Type == fs.ModeSymlink {
		size = st.Size
		r.tellSize(a.path)
	}
	if _, known := r.dirs[a.path]; !known || r.units.open != nil {
		r.record(Dep{Kind: DepStat, Path: a.path, Type: a.info.Type, Size: size})
	}
	return failure{}
}

func (r *Run) readlink(a *answer) failure {
	if a.info.Type != fs.ModeSymlink {
		return failure{errno: syscall.EINVAL}
	}
	target, at, errno := r.walker.Readlink(a.path)
	if errno != 0 {
		r.recordUnstable(at)
		return failure{errno: errno, at: at}
	}
	r.record(Dep{Kind: DepLink, Path: a.path, Target: target})
	a.target = target
	return failure{}
}

func infoOf(path string, st *unix.Stat_t) Info {
	i := Info{Type: beneath.TypeOf(st), Ino: inoOf(path)}
	if i.Type == 0 || i.Type == fs.ModeSymlink {
		i.Size = st.Size
	}
	return i
}

func (r *Run) usable(v verb, name string) *Error {
	if r.closed {
		return &Error{Op: string(v), Path: name, Errno: syscall.EBADF, Detail: "the run has ended"}
	}
	return r.over
}

// cleanPath checks and cleans every path from outside; the package comment has the rules.
// dirOnly says that the path had a trailing slash.
func cleanPath(name string) (clean string, dirOnly bool, problem failure) {
	switch {
	case name == "":
		return "", false, failure{errno: syscall.EINVAL, detail: "the path is empty"}
	case len(name) > beneath.MaxPath:
		return "", false, failure{errno: syscall.ENAMETOOLONG}
	case !utf8.ValidString(name):
		return "", false, failure{errno: syscall.EPERM, detail: "the path isn't UTF-8"}
	case strings.IndexByte(name, 0) >= 0:
		return "", false, failure{errno: syscall.EINVAL, detail: "the path holds a NUL"}
	case name[0] == '/':
		return "", false, failure{errno: syscall.EPERM, detail: "the path must be relative to the root"}
	}
	clean = path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false, failure{errno: syscall.EPERM, detail: "the path leaves the root"}
	}
	return clean, name[len(name)-1] == '/', failure{}
}
