// Package jsonlite reads and writes JSON without reflection, for guests that should load
// fast: encoding/json nearly doubles the load time of a small module.
//
// # Guarantees
//
// Parse checks a whole document and returns a view of it. Walking the view never fails and
// allocates only for keys and strings. With the zero Options it is strict: RFC 8259 syntax,
// valid UTF-8, no lone surrogates, no duplicate keys, at most 512 levels. Its errors give an
// offset and never quote the document, which may hold secrets. Options allow what people
// write in configuration files, such as comments and trailing commas. A Writer makes compact,
// valid JSON in the order of its calls; bytes in a string that aren't UTF-8 become U+FFFD.
//
// # Concurrency
//
// Values are read-only and may be shared. A Writer belongs to one goroutine.
//
// # Limits
//
// Each step of a walk scans the text again, so walk a large document from the top down, and
// don't call Get repeatedly on the same large object. Numbers are read as integers or as
// text.
package jsonlite
