package sources

import "errors"

// Source is a file or directory that the user added, in its current state.
type Source struct {
	// Path is absolute, with its links resolved as far as it existed when it was added.
	Path string `json:"path"`
	// Exists says that there is something at the path. If not, it is waited for.
	Exists bool `json:"exists"`
	// Persisted says that it survives a restart of the agent.
	Persisted bool `json:"persisted"`
	// Origin is what has added it: a flag, a request, or an earlier run of the agent.
	Origin Origin `json:"origin"`
	// Error says why the source isn't looked at although it may exist, for example because a
	// link now leads out of what is allowed; usually empty.
	Error string `json:"error"`
}

// Root is where a source is to be opened.
type Root struct {
	// Source is the path that the source is known by.
	Source string
	// Path is where to open it. Within lists the directories whose links may not redirect it;
	// see vfs.RootOptions.
	Path   string
	Within []string
}

// Origin says where a source came from.
type Origin string

// The origins.
const (
	OriginFlag      Origin = "flag"      // the operator, for this run
	OriginAPI       Origin = "api"       // a request, in this run
	OriginPersisted Origin = "persisted" // an earlier run
)

// Errors of this package. The errors that wrap these say what to do.
var (
	// ErrInvalid is for text that is no path, or one that can't be kept.
	ErrInvalid = errors.New("not a usable path")
	// ErrRelative is for a path that depends on somebody's working directory.
	ErrRelative = errors.New("the path is relative")
	// ErrNotAllowed is for what a request may not add.
	ErrNotAllowed = errors.New("not allowed")
	// ErrNotFound is for what is not on the list.
	ErrNotFound = errors.New("no such source")
	// ErrTooMany is for one more than Options.Max.
	ErrTooMany = errors.New("too many sources")
	// ErrPersist is for a change that can't be kept across restarts.
	ErrPersist = errors.New("the list of sources can't be kept")
	// ErrBroken is for a file of sources that can't be understood.
	ErrBroken = errors.New("the file of sources is broken")
)

// MaxPath bounds a source's path, in bytes: a control plane refuses a push that names a
// longer one.
const MaxPath = 1024

// DefaultMax is how many sources a List takes unless Options.Max is set. Each costs at least
// a run of every resolver, and a few watches.
const DefaultMax = 100
