//go:build race

package chaos_test

// raced says that this test is built with the race detector.
const raced = true
