package sandbox

import (
	"fmt"
	"strings"
)

// trapDetail is the first line of a trap: what follows is wazero's own stack
// trace of wasm functions.
func trapDetail(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return oneLine(strings.TrimPrefix(line, "wasm error: "), guestTextMax)
}

func exitDetail(code uint32) string { return fmt.Sprintf("it exited with code %d", code) }

func tooLarge(got, limit int) string {
	return fmt.Sprintf("the answer has %d bytes, %d are allowed", got, limit)
}
