// Package why answers "is this file in my context, and if not, why?" about what
// was really observed: the finds of the resolvers, their traces and what they
// were refused, and what became of the finds in the snapshot. It doesn't look
// for anything by itself: where resolvers look, their traces and filters tell.
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
// # Rules
//
// The first that applies is the answer.
//
//  1. Not absolute: outside_roots. With a NUL, or longer than any path: missing.
//  2. A find belongs to the path, as it is asked for. Of several, one that is in
//     the context comes first, then one that was made at the path itself:
//     found, collapsed_into (through a link, and listed as what that leads to),
//     oversize, unreadable, invalid, excluded (which cap), deduplicated (of two
//     skills of one name the other). What is unreadable or invalid because of a
//     link or a type is link_broken, link_escapes or not_regular.
//  3. Every resolver that looks for a file of this name was refused it, for what
//     a link leads to: hidden_secret, excluded_by_config, not_granted.
//  4. A find belongs to what the path leads to: rule 2, except that a link by
//     itself is collapsed_into and not found.
//  5. In a configured root that isn't looked at, for where its links lead
//     (link_escapes, hidden_secret, excluded_by_config) or for what it is
//     (not_regular, link_broken, unreadable, outside_roots).
//  6. In no root: missing when it is in a configured root that doesn't exist,
//     else outside_roots.
//  7. In a root: the rules below. Of several roots the most telling answer
//     counts, of equal ones that of the innermost root.
//
// # Rules for what no find explains
//
//  1. Not UTF-8, or the root itself: not_a_known_place (or missing).
//  2. Protected by its own name, whatever is there or isn't: excluded_by_config,
//     hidden_secret.
//  3. Only a name in another case is there, or is looked for: wrong_case.
//  4. Nothing there, be it because a file is in the way of a directory: missing.
//  5. What its link leads to: hidden_secret, excluded_by_config, link_escapes,
//     link_broken (loops, too).
//  6. A resolver that may see it failed, and has no row for it: resolver_failed.
//  7. A FIFO, a socket, a device, or a directory where a file belongs:
//     not_regular. A file where a directory belongs: not_a_known_place.
//  8. No permission, for it or on the way: unreadable.
//  9. A resolver asked for it and hasn't declared it, or has and the operator
//     narrowed it away, or it is MCP configuration: not_granted.
//  10. In a skill's directory, but not its text; or seen by a resolver that made
//     nothing of it: not_a_known_place.
//  11. The end of the path is a place that was looked at right below the root, or
//     it would be one without directories in the middle: nested.
//  12. A directory in which a file was looked for that isn't there: missing or
//     wrong_case; where that file may not be read, as in rule 3 above.
//  13. Anything else: not_a_known_place. When another tool is known to read the
//     place, and no resolver here may see it, the detail names the tool; the
//     table is in conventions.go.
//
// # Guarantees
//
// Of files nothing is read. The asked path and the directories on the way are
// looked at by lstat and readlink; what links in a root lead to, and the names
// in a directory, through host/vfs. A detail is one line of
// printable text; it holds no file's content, and of an MCP configuration
// nothing but what the host itself said. Work is bounded by the length of the
// path (4096 bytes; places inside of it are looked for in its last 24 names),
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
// don't tell which file their content came from; that is concluded from hashes.
// A name that differs in case is searched in one directory, the first that
// lacks the asked name.
package why
