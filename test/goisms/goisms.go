// Package goisms finds Go terms in text for people, and calls commands and APIs with
// unexpected input to get their errors.
//
// It is for tests. Its functions may be called by any goroutine.
package goisms

import (
	"regexp"
)

// words are what only a Go programmer knows.
var words = regexp.MustCompile(`Go (struct|value|type)|Go [a-z0-9]+\.[A-Z]|\bcannot unmarshal\b|\bstrconv\.|\bjson(text)?: |reflect\.|\breflect: |%!|` +
	`\bmain\.[A-Z]|\*?(fs|os|net|url|errors|fmt|json|toml)\.[A-Z][A-Za-z]+Error\b|\bdial (unix|tcp) |\blisten (unix|tcp) |: connect: |: bind: |` +
	`\b(l?stat|fstat|openat|openat2|fstatat|unlinkat|readlinkat|mkdirat|fork/exec|fdopendir) [/"]|\bparsing (time )?"|: invalid syntax|` +
	`\bparse "|\btime: (invalid|unknown|missing)|context (canceled|deadline exceeded)|\bexec: "|\bnil pointer|\bgoroutine \d|runtime error|` +
	`interface (conversion|\{\})|\bmap\[string\]|\[\]byte|\[\]string|struct \{|\bx509: |\btls: |\bhttp: |\bEOF\b|\bpanic\b|<nil>|\(\*[A-Za-z.]+\)|\b0xc0[0-9a-f]{8}\b`)

// requests are what only callers of an API make.
var requests = regexp.MustCompile(`\b(GET|POST|PUT|DELETE|PATCH|HEAD) /`)

// Find returns what of Go there is in a text that somebody is shown; "" is
// nothing.
func Find(text string) string { return words.FindString(text) }

// FindRequest returns the request that who typed a command is told to make.
func FindRequest(text string) string { return requests.FindString(text) }
