//go:build !wasip1

package guest

import (
	"io/fs"
	"os"
)

// Serve registers the module that the built .wasm file serves. Call it once, from init.
// Outside wasm it only panics if the module isn't valid, so that a plain go test finds the
// mistake.
func Serve(m Module) {
	if err := m.Validate(); err != nil {
		panic("guest: " + err.Error())
	}
}

// Natively nothing is remembered from one run to the next.
func memoBegin(string) (value []byte, ok bool) { return nil, false }
func memoEnd([]byte)                           {}
func partBegin(string) (p Part, ok bool)       { return Part{}, false }
func partEnd(*Part)                            {}

// Natively there is no root that only the SDK knows.
func isRoot(fs.FS) bool                       { return false }
func rootHead(string, []byte) ([]byte, error) { return nil, fs.ErrNotExist }

// load would read kernel memory, of which there is none.
func load(uint64, int) []byte { return nil }

func log(level Level, message string) {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	name := "log"
	if level >= 0 && int(level) < len(names) {
		name = names[level]
	}
	_, _ = os.Stderr.WriteString(name + ": " + message + "\n")
}
