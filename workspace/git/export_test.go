package git

import "time"

// Hurried returns options by which repositories are looked at again sooner, for
// tests that aren't about that.
func Hurried(opts Options) Options {
	opts.pause = 10 * time.Millisecond
	return opts
}

// Few returns options by which no more than n untracked files are shown.
func Few(opts Options, n int) Options {
	opts.untracked = n
	return opts
}
