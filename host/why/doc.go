// Package why answers "is this file in my context, and if not, why?" from what was actually
// observed: the finds of the resolvers, their traces, what they were refused, and what became
// of the finds in the snapshot. It doesn't search on its own: the traces and filters show
// where resolvers look.
//
// # What counts
//
// A path is interpreted by its names: "a/../b" is "b", and a slash at the end has no effect.
// It may be a file, a directory, a link, or nothing, and may lead through links. Found says
// whether the path's content is in the context, as a resource that is ok: under the path
// itself (found) or, for a link, under the path it leads to (collapsed_into). A find belongs
// to the path at which it was made, to its source, and to the file that is its content. So a
// skill's directory and its SKILL.md have the same answer.
//
// # Reasons
//
// The tables of reasons.go are evaluated from top to bottom. The first rule whose test holds
// gives the answer: its reason and its text. In short:
//
//  1. The text can't be the path of a file.
//  2. A find belongs to the path as given. Of several, one that is in the context comes
//     first, then one that was made at the path itself. If the find is unreadable or invalid
//     because of a link or a type, the answer says so.
//  3. Every resolver that looks for a file of this name was refused it, because of the target
//     of a link.
//  4. A find belongs to the path's target: as 2, except that a link by itself is
//     collapsed_into and not found.
//  5. The path lies in a configured root that isn't looked at, because of where its links
//     lead or what it is.
//  6. The path lies in a root, and no find explains it. The order is: what protects its own
//     name, then what exists there, then which resolvers wanted it. Of several roots the most
//     specific answer counts, and of equal ones that of the innermost root. If agents are
//     known to read the place, or would in another case or higher up, and no resolver here
//     may see it, the detail names them; package plugins/conventions has the table.
//  7. The path lies in no root.
//
// # Guarantees
//
// Files aren't read. The path and the directories on the way are inspected by lstat and
// readlink. Targets of links in a root, and the names in a directory, are found through
// host/vfs. A detail is one line of printable text. It contains no file's content, and of an
// MCP configuration only what the host itself said. Work is bounded by the length of the path
// (4096 bytes; known places inside it are searched in its last 24 names), by what was
// observed, and by 20,000 names of a directory. Any string may be asked for.
//
// # Concurrency
//
// Explain changes nothing and may be called from many goroutines, as long as nobody changes
// its input.
//
// # Limits
//
// The observations may be older than the files: resync before asking. Rows don't say which
// file their content came from; that is inferred from hashes. A name that differs in case is
// searched in one directory, the first that lacks the name.
//
// # Coverage
//
// [CoverageOf] reports files that lie where agents look for them but that no resource was made
// of: those of agents that are switched off, those that a chat has no use for, and texts among
// rules, subagents or commands that only their names keep from being some. It goes by the table
// of conventions and by names alone, and reads no file. It lists the directories that
// contain the places of the table, through host/vfs, and no others; excluded and secret files
// don't exist for it. It looks at up to 20,000 names of a root, and follows a place's "**" for
// 8 directories; Partial says that there was more.
package why
