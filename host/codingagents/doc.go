// Package codingagents says what a coding agent would see at its start: which files of a
// workspace it reads, in which order, and what it cuts or leaves out.
//
// The rules of each client are data, in rules.go, with their sources and dates, so that a new
// version of a client is a change of data. They refer to rows of the table of conventions,
// package plugins/conventions, and add rows where a client looks deeper than a resolver does.
//
// # Guarantees
//
// No file is read or parsed here: names, descriptions and sizes come from resolvers in their
// sandbox. Of is a pure function of its input; the same finds in any order give the same
// view.
//
// test/clients compares the rules of a client that is Judged with the real program of that
// version. The other rules follow what the makers document.
//
// # Concurrency
//
// The package has no state, and its data doesn't change. Everything may be called at any
// time.
//
// # Limits
//
// Of the user's own files only those that the rules name are looked at, and no settings.
// Settings can add instructions and skills, change names and budgets (project_doc_max_bytes
// and the like), remove skills and bring plugins. A plugin manifest above the project, or
// above the target of a link out of it, doesn't name skills.
//
// Tokens are estimated at four bytes each.
package codingagents
