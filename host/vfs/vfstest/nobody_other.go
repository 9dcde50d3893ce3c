//go:build !linux

package vfstest

import (
	"os"
	"testing"
)

// asNobody calls f, unless root's power over files would make it pointless.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file: run the tests as a user")
	}
	f()
}
