//go:build !race

package supervisor_test

// raced says that memory is the race detector's.
const raced = false
