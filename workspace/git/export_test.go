package git

import "time"

// Hurried returns options by which repositories are looked at again sooner, for
// tests that aren't about that.
func Hurried(opts Options) Options {
	opts.pause = 10 * time.Millisecond
	return opts
}
