package host

import (
	"time"

	"waymark/abi"
)

const (
	// DefaultPluginSettle is how long a plugin file must have stayed the same
	// before it is taken: the writes of a copy or a linker are closer together,
	// and a person hardly notices it.
	DefaultPluginSettle = 250 * time.Millisecond
	// DefaultReloadWithin is how long a reload waits for modules: most are
	// loaded in less, and some are compiled for half a minute.
	DefaultReloadWithin = 3 * time.Second
	// movingFor is how long a file may go on changing until that is said.
	movingFor = 2 * time.Second
	// youngFor is how old a file's times must be to be trusted: on coarse
	// clocks a second write leaves them as they were.
	youngFor = 2 * time.Second
	// missedFor is how long a file that has vanished is still used while
	// another one is on its way, which may be its next version under another
	// name.
	missedFor = 10 * time.Second
	// A module that failed for a reason that may not be its own is tried again
	// after this, and then at twice the distance each time.
	firstRetry, longestRetry = 30 * time.Second, time.Hour
)

// version is one content of a module file.
type version struct {
	digest string
	wasm   []byte           // until it has been described
	desc   *abi.Description // nil before that
	// remembered says that an earlier process described it, and that it may not
	// have been loaded yet.
	remembered bool
	ok         bool  // it may go into the list: it is loaded, checked or trusted so far
	err        error // why it can't be used
	was        error // what err was before it was tried again
	passing    bool  // the reason may pass: the file needn't change
}

// pluginFile is what is known of one module file.
type pluginFile struct {
	pluginPath
	seen  stamp     // at the last look
	since time.Time // when it was first seen so

	took   bool      // the file was read, and taken is what it was like
	taken  stamp     //
	moving time.Time // since when it changes and isn't taken; zero while it doesn't
	verify time.Time // when to read it again, because it was young; or zero
	retry  time.Time // when to try newest again; or zero
	wait   time.Duration
	gone   time.Time // when it was first missed; zero while it is there

	newest *version // of the content that was read last; nil before
	used   *version // what runs; nil when nothing does
}

// pluginPlace is a plugin directory, or the files that were named one by one.
type pluginPlace struct {
	dir   string
	err   error
	files []*pluginFile
}

// shelf is what is known of all plugin files.
type shelf struct {
	files  map[string]*pluginFile // by path
	places []pluginPlace          // in order
	held   []*pluginFile          // have vanished and are used for a moment longer
}
