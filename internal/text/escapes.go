package text

import "strings"

// escapes are what ECMA-48 and xterm define: control sequences, strings up to their
// terminator, and escapes of few characters.
var escapes = Lazy("\x1b(?:\\[[0-?]*[ -/]*[@-~]?|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~]?)|\ufeff")

// WithoutEscapes removes what a terminal would act on rather than show, such as colors and
// titles, and byte order marks. It keeps single control characters.
func WithoutEscapes(s string) string {
	if !strings.Contains(s, "\x1b") && !strings.Contains(s, "\ufeff") {
		return s
	}
	return escapes().ReplaceAllString(s, "")
}
