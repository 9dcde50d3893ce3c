//go:build race

package goisms

// share: one of so many command lines is run, since each takes ten times as long,
// and no two of them run at a time.
const share = 10
