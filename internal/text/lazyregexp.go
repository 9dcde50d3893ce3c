// This file compiles regular expressions when they are first used, and not
// when the program starts: an agent starts often, and uses few of them.
//
// An expression that is wrong panics where it is first used, so that whatever declares
// one has a test that uses it.

package text

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles an expression at its first call, and returns the
// same each time. It may be called from any goroutine.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
