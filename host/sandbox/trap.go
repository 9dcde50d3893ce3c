package sandbox

import (
	"fmt"
	"strings"
)

// isTrap tells a trap (or a failed initialisation) from an error that the
// guest set through the Extism kernel. wazero has no exported type for traps;
// its text is stable: "wasm error: …" or, for a host function's panic,
// "… (recovered by wazero)".
func isTrap(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "wasm error:") ||
		strings.HasPrefix(s, "stack overflow") || // without the prefix when it happens in a host call
		strings.Contains(s, "(recovered by wazero)") ||
		strings.HasPrefix(s, "failed to initialize runtime:")
}

// trapDetail is the first line of a trap: what follows is wazero's own stack
// trace of wasm functions.
func trapDetail(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "failed to initialize runtime: ")
	return oneLine(strings.TrimPrefix(line, "wasm error: "), guestTextMax)
}

func exitDetail(code uint32) string { return fmt.Sprintf("it exited with code %d", code) }

func tooLarge(got, limit int) string {
	return fmt.Sprintf("the answer has %d bytes, %d are allowed", got, limit)
}
