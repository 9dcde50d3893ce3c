// Package codingagents says what a coding agent would see at its start: which of the files
// in a workspace it reads, in which order, and what it cuts or leaves out.
//
// The rules of each client are data, in rules.go, with their sources and dates: a new
// version of a client is a change of data. They name the rows of the table of
// conventions, package plugins/conventions, and add rows of their own where a client
// looks deeper than a resolver does.
//
// # Guarantees
//
// No file is read or parsed here: names, descriptions and sizes are what resolvers have
// found in their sandbox. Of is a pure function of its input; the same finds give the
// same view in whatever order they come.
//
// The rules of a client that is Judged are compared with the real program, of that
// version, by test/clients. The others follow what their makers document.
//
// # Concurrency
//
// Nothing is kept, and the data doesn't change: everything may be called at any time.
//
// # Limits
//
// Of the user's own files those that the rules name are looked at, and no settings: those
// can add instructions and skills, change names and budgets (project_doc_max_bytes and the
// like), take skills away and bring plugins. A plugin's manifest that lies above the project,
// or above what a link leads to out of it, gives no names to skills.
//
// Tokens are estimated, as four bytes each.
package codingagents
