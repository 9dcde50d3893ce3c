// Package why answers "is this file in my context, and if not, why?" about what
// was really observed: the finds of the resolvers, their traces and what they
// were refused, and what became of the finds in the snapshot. It doesn't look
// for anything by itself: where resolvers look is in their traces and filters.
//
// # What counts
//
// A path is understood by its names: "a/../b" is "b", a slash at the end means
// nothing. It may be a file, a directory, a link, or none of them, and may lead
// through links. Found says whether what the path holds is in the context, as a
// resource that is ok: under the path itself (found) or, for a link, under the
// path it leads to (collapsed_into). A find belongs to the path it was made at,
// to its source, and to the file that is its content, so that a skill's
// directory and its SKILL.md have the same answer.
//
// # Reasons
//
// The tables of reasons.go are asked from top to bottom, and the first rule
// whose test holds gives the answer: its reason and its text. In short:
//
//  1. What can't be the path of a file is answered as such.
//  2. A find belongs to the path, as it is asked for. Of several, one that is in
//     the context comes first, then one that was made at the path itself. What
//     is unreadable or invalid because of a link or a type says so.
//  3. Every resolver that looks for a file of this name was refused it, for what
//     a link leads to.
//  4. A find belongs to what the path leads to: as 2, except that a link by
//     itself is collapsed_into and not found.
//  5. It lies in a configured root that isn't looked at, for where its links
//     lead or for what it is.
//  6. It lies in a root, and no find explains it: first what protects its own
//     name, then what is there, then which resolvers wanted it. Of several
//     roots the most telling answer counts, of equal ones that of the innermost
//     root. When agents are known to read the place, or would in another case or
//     higher up, and no resolver here may see it, the detail names them; package
//     plugins/conventions has the table.
//  7. It lies in no root.
//
// # Guarantees
//
// Of files nothing is read. The asked path and the directories on the way are
// inspected by lstat and readlink; what links in a root lead to, and the names
// in a directory, are found out through host/vfs. A detail is one line of
// printable text; it holds no file's content, and of an MCP configuration
// nothing but what the host itself said. Work is bounded by the length of the
// path (4096 bytes; known places inside of it are searched in its last 24 names),
// by what was observed, and by 20,000 names of a directory. Any string may be
// asked for.
//
// # Concurrency
//
// Explain changes nothing and may be called from many goroutines, as long as
// nobody changes its input.
//
// # Limits
//
// What was observed may be older than the files: resync before asking. Rows
// don't say which file their content came from; that is concluded from hashes.
// A name that differs in case is searched in one directory, the first that
// lacks the asked name.
package why
