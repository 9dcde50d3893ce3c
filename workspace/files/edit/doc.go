// Package edit replaces a text in a file with another one, as edit-files does. It
// does no I/O: a file is a string.
//
// A search tries three rules in order, and the first with a match anywhere in the
// file decides: byte by byte ("exact"), in which case the edit is strings.Replace;
// by whole lines, ignoring trailing blanks ("trailing blanks"); by whole lines,
// ignoring leading and trailing blanks ("surrounding blanks"). The rules for lines
// treat CRLF and LF alike and don't need an end on the last line. Blank lines
// count. More than one match by that rule is an error, unless all are to be
// replaced. Overlapping matches count once, as in strings.Count.
//
// Before the search, the lines of search and replacement get the file's line
// ending, if all its lines have the same: LF, CRLF, or a single CR. An edit that
// changes this ending to another, such as CRLF to LF, is left alone, because that
// is its purpose. In a file with both LF and CRLF, lines inserted into a line get
// the ending that is most frequent in the file.
//
// The rules for lines replace whole lines. An author who gets blanks wrong in the
// search gets them wrong in the replacement in the same way, so each line of the
// replacement is compared with its partner in the search. Partners have the same
// text; as many as possible are paired in order, and the last ones if there is a
// choice. The lines left between two pairs are paired text with text and blank with
// blank, from the last one backwards. Where both partners have the same indent,
// trailing blanks or ending, those of the file's line stay. Where they differ, the
// replacement's are taken, with the indent translated. A line without a partner is
// inserted: its indent is translated by the next line above that has a partner, or
// else below, and its ending is the most frequent one in the file. A file without a
// final newline gets none, and the text after the match is never glued on.
//
// An indent is translated by its level: it differs from the partner's indent in the
// file by as many units as it does in the replacement. A unit is a tab, or the
// greatest common divisor of the indents if all are spaces. The file's kind of unit
// is taken from the matched lines and its width from the whole file; if the matched
// lines have no indent, both are from the whole file. Lines that begin with "*" are
// aligned and don't count, nor does a width of 1 in lines that weren't matched. If
// tabs and spaces are mixed there is no unit: the partner's indent is inherited,
// with what the replacement adds to it or removes from it.
//
// The examples are run as tests. Texts are written as Go strings; "all" after the
// name of a rule sets replace_all.
//
//	rule                | file                         | search           | replace             | result
//	--------------------|------------------------------|------------------|---------------------|------------------------------
//	exact, anywhere     | "a b c\n"                    | "b"              | "x"                 | exact "a x c\n"
//	... over lines      | "a\nb\nc\n"                  | "a\nb"           | "x"                 | exact "x\nc\n"
//	... ends as the file | "a\r\nb\r\n"                | "a"              | "x\ny"              | exact "x\r\ny\r\nb\r\n"
//	... in LF           | "a\nb\n"                     | "a"              | "x\r\ny"            | exact "x\ny\nb\n"
//	... in CR           | "a\rb\r"                     | "a\nb"           | "x\ny\nz"           | exact "x\ry\rz\r"
//	... within lines    | "f(a,\r\nb)\r\n"             | "a,\nb"          | "a,\nx,\nb"         | exact "f(a,\r\nx,\r\nb)\r\n"
//	... on purpose      | "a\r\nb\r\n"                 | "a\r\n"          | "a\n"               | exact "a\nb\r\n"
//	... in both         | "a\r\nb\r\nc\n"              | "c"              | "x\ny"              | exact "a\r\nb\r\nx\r\ny\n"
//	... glues if told   | "a\nb\n"                     | "a\n"            | "x"                 | exact "xb\n"
//	... before by lines | "  a\na\n"                   | "  a"            | "x"                 | exact "x\na\n"
//	all                 | "a b a\n"                    | "a"              | "x"                 | exact "x b x\n"
//	more than one       | "a b\na\n"                   | "a"              | "x"                 | error: matches 2 occurrences, on lines 1 and 2
//	empty search        | "a\n"                        | ""               | "x"                 | error: must not be empty
//	no change           | "a\n"                        | "a"              | "a"                 | error: nothing would change
//	not text            | "a\x00b\x00"                 | "a"              | "x"                 | error: the file is UTF-16
//	only looks like it  | "“a”\n"                      | "\"a\""          | "x"                 | error: it has the character U+201C where the search string has the character U+0022
//	not there           | "a\n"                        | "b"              | "x"                 | error: search string not found
//	trailing blanks     | "a  \nb\nc\n"                | "a\nb\n"         | "x\ny\n"            | trailing blanks "x  \ny\nc\n"
//	... in the search   | "a\nb\n"                     | "a \n"           | "x \n"              | trailing blanks "x\nb\n"
//	... that differ     | "a\t\nb\n"                   | "a \n"           | "x\n"               | trailing blanks "x\nb\n"
//	surrounding blanks  | "\ta\n\tb\n"                 | "  a\n"          | "  x\n"             | surrounding blanks "\tx\n\tb\n"
//	... more than one   | "\ta\n\t\ta\n"               | "  a\n"          | "  x\n"             | error: matches 2 occurrences but for blanks at the ends of lines, on lines 1 and 2
//	... all             | "\ta\n\t\ta\n"               | "  a\n"          | "  x\n"             | surrounding blanks "\tx\n\t\tx\n"
//	CRLF and LF         | "a\r\nb\r\nc\r\n"            | "a \nb\n"        | "x\nb\ny\n"         | trailing blanks "x\r\nb\r\ny\r\nc\r\n"
//	... changed         | "a \r\nb\r\n"                | "a\r\n"          | "x\n"               | trailing blanks "x \nb\r\n"
//	no final newline    | "a\nb"                       | "a\nb\n"         | "a\nx\ny\n"         | trailing blanks "a\nx\ny"
//	... in the search   | "\ta\r\nb\r\n"               | " a"             | " x"                | surrounding blanks "\tx\r\nb\r\n"
//	blank lines count   | "a\n\nb\n"                   | "a\nb\n"         | "x\n"               | error: search string not found
//	only blanks         | "a\n\nb\n"                   | " "              | "x"                 | error: search string not found
//	lines for lines     | "\ta\n\tb\n\tc\n"            | " a\n b"         | " x"                | surrounding blanks "\tx\n\tc\n"
//	... never glued     | "\ta\nb\n"                   | " a\n"           | " x"                | surrounding blanks "\tx\nb\n"
//	... deleted         | "\ta\nb\n"                   | " a\n"           | ""                  | surrounding blanks "b\n"
//	... emptied         | "\ta\nb\n"                   | " a"             | ""                  | surrounding blanks "\nb\n"
//	inserted, tabs      | "\ta\n"                      | "    a\n"        | "    a\n        b\n" | surrounding blanks "\ta\n\t\tb\n"
//	... spaces          | "  a {\n    b\n"             | "\ta {\n"        | "\ta {\n\t\tx\n"    | surrounding blanks "  a {\n    x\n    b\n"
//	... less deep       | "\t\ta\n"                    | "    a\n"        | "    a\nb\n"        | surrounding blanks "\t\ta\n\tb\n"
//	... mixed           | "\ta\n  b\n\t  c\n"          | "  a\n  b\n"     | "  a\n    x\n  b\n" | surrounding blanks "\ta\n\t  x\n  b\n\t  c\n"
//	replaced, indented  | "\ta\n\t\tb\n"               | "  a\n    b\n"   | "  b\n"             | surrounding blanks "\tb\n"
//	pairs, last first   | "a  \n"                      | "a\n"            | "a\na\n"            | trailing blanks "a\na  \n"
//	pairs by text       | "\tif a {\n\t\tb\n\t}\n"     | "if a {\nb\n}\n" | "b\n"               | surrounding blanks "\t\tb\n"
//
// Several edits are made in order, each on the result of the one before. A failed
// search gets hints: that search and replacement may be swapped, that a character is
// repeated a different number of times or only looks like the one of the search (quotes,
// dashes, composed and decomposed letters, full width, no width), or where the closest
// place is. Hints name lines and quote nothing. What isn't text, and an edit whose search
// equals its replacement, is refused.
//
// No byte outside a match changes. Time and memory are bounded for all input
// ([MaxSize], and a limit of work in one call, beyond which it fails with
// [ErrTooLarge]): matching is linear, pairing has a bounded table, and hints take a
// few linear passes. All functions are pure and safe for concurrent use.
package edit
