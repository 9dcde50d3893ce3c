//go:build linux

package memory

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestUntold: memories are used again only where the system tells what was written. A
// file that says of no page that it was is as bad as none.
func TestUntold(t *testing.T) {
	if err := tellsWritten(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a pagemap: %v", err)
	}
	zeros, err := os.Create(filepath.Join(t.TempDir(), "zeros"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zeros.Close() }()
	if err := zeros.Truncate(1 << 47 / int64(pageSize) * entryBytes); err != nil { // an entry for each page there can be
		t.Skipf("no file here is so large, also without content: %v", err)
	}
	if err := tellsWritten(zeros.Name()); err == nil {
		t.Error("a pagemap that shows no page that was written is believed")
	}
}
