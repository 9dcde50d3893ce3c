// Package atonce has more tests run at once than there are processors, in packages whose
// tests mostly wait.
package atonce

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Run runs the tests of a binary, four for each processor at once unless -parallel says
// otherwise, and returns the exit code.
func Run(m *testing.M) int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}
