package sandbox

import (
	"cmp"
	"strings"

	"waymark/internal/text"
)

// traceback is where Go's traceback begins, below the message of a panic.
const traceback = "\n\ngoroutine "

// panicText extracts the error from a guest's standard error: for Go the panic message
// without the traceback, otherwise the last line. Whatever the guest printed before is
// ignored.
func panicText(stderr string) string {
	message := strings.TrimSpace(stderr)
	if at := fatal(message); at >= 0 { // below it are the tracebacks of all goroutines
		message, _, _ = strings.Cut(message[at:], traceback)
	} else {
		message, _, _ = cutLast(message, traceback)
	}
	for _, mark := range []string{"panic: ", "fatal error: "} {
		// Prefer the beginning of a line, because a guest may print anything.
		at := strings.LastIndex("\n"+message, "\n"+mark)
		if at < 0 {
			at = strings.Index(message, mark)
		}
		if at >= 0 {
			return text.Line(message[at:], guestTextMax)
		}
	}
	return text.Line(message[strings.LastIndexByte(message, '\n')+1:], guestTextMax)
}

// fatal returns where Go's message of a fatal error begins, or -1.
func fatal(stderr string) int { return strings.LastIndex("\n"+stderr, "\nfatal error: ") }

// cutLast cuts around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(s, sep); at >= 0 {
		return s[:at], s[at+len(sep):], true
	}
	return s, "", false
}

// goFrame is one frame of a Go traceback: a function with its arguments and, on the next
// line, its place, with paths shortened by -trimpath.
var goFrame = text.Lazy(`(?m)^(\S.*)\(.*\)\n\t(\S+:[0-9]+)`)

// goLocation returns the place of a Go panic. It is the innermost frame of what looks like
// the author's own packages, which have a dot in their path or are main; otherwise the
// innermost frame outside the runtime.
func goLocation(stderr string) string {
	_, trace, found := cutLast(stderr, traceback)
	if at := fatal(stderr); at >= 0 {
		_, trace, found = strings.Cut(stderr[at:], traceback)
	}
	if !found {
		return ""
	}
	trace, _, _ = strings.Cut(trace, "\n\n") // the goroutine that panicked comes first
	var first string
	for _, frame := range goFrame().FindAllStringSubmatch(trace, -1) {
		function, place := frame[1], frame[2]
		if function == "panic" || strings.HasPrefix(function, "runtime.") {
			continue
		}
		where := text.Line(function+" ("+place+")", whereMax)
		if domain, _, _ := strings.Cut(function, "/"); strings.HasPrefix(function, "main.") || strings.Contains(domain, ".") && domain != function {
			return where
		}
		first = cmp.Or(first, where)
	}
	return first
}

const (
	// whereMax bounds a place in the source, and a function in a stack, in bytes.
	whereMax = 300
	// framesMax bounds a stack. wazero's traces end there, too.
	framesMax = 30
)

// wasmFrame is a line of wazero's stack trace for a function of the guest, with its
// signature. The guest's module has no name.
var wasmFrame = text.Lazy(`(?m)^\t\.([^$\n].*?)\((?:[a-z0-9,]*)\)(?: \(?[a-z0-9,]+\)?)?$`)

// wasmStack lists the functions of a stack trace that have names.
func wasmStack(err error) []string {
	var stack []string
	for _, frame := range wasmFrame().FindAllStringSubmatch(err.Error(), framesMax) {
		stack = append(stack, text.Line(frame[1], whereMax))
	}
	return stack
}

// ends are functions that guests call to abort: the location is their caller's.
var ends = map[string]bool{"abort": true, "__assert_fail": true, "_Exit": true, "exit": true, "raise": true, "runtime.exit": true}

// stackLocation returns the innermost function that isn't in ends, and its caller.
func stackLocation(stack []string) string {
	for len(stack) > 0 && (ends[stack[0]] || strings.HasSuffix(stack[0], "/abort")) {
		stack = stack[1:]
	}
	switch len(stack) {
	case 0:
		return ""
	case 1:
		return stack[0]
	}
	return text.Line(stack[0]+", called by "+stack[1], whereMax)
}
