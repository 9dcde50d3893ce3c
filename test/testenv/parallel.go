package testenv

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// RunParallel runs the tests of a binary that mostly wait, four for each processor at once
// unless -parallel says otherwise, and returns the exit code.
func RunParallel(m *testing.M) int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}
