//go:build race

package chaos_test

// raced says that the programs are built with the race detector, as this test
// is.
const raced = true
