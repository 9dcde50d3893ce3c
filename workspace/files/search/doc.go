// Package search finds files by their names and lines by their text, for a model. It decides
// what matches, what is ignored and what is shown of it; package files walks and reads.
//
// # Guarantees
//
//   - The time for a name is bounded by its length times that of a pattern, and the time for a
//     text is linear in its length, whatever a query, a pattern or a .gitignore says.
//   - Answers are limited, and say what they leave out. Equal trees give equal answers.
//   - Ignored are the files that git ignores by .gitignore files and .git/info/exclude, and those of
//     .ignore files, whose patterns mean the same. TestIgnored compares this with git.
//
// # Concurrency
//
// An Ignored and a Pattern are immutable. A Names and a Lines belong to one goroutine.
//
// # Limits
//
// Patterns in core.excludesFile aren't read, and a tracked file that a pattern ignores is ignored. Text
// is what has no NUL in its first 8 KiB; of other encodings than UTF-8 only ASCII matches.
package search
