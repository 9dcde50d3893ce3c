// This file compiles regular expressions on first use, and not when the program starts: an
// agent starts often, and uses few of them.
//
// An invalid expression panics on first use, so every declaration needs a test that uses it.

package text

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles an expression at its first call, and returns the same
// value each time. It may be called from any goroutine.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
