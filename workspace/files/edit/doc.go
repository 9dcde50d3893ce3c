// Package edit finds a text in a file and puts another one in its place, as
// edit-files does. It reads and writes nothing: a file is a string.
//
// A search is tried by three rules, and the first one by which it is anywhere in
// the file is the one that counts: byte by byte ("exact"), in which case the edit
// is strings.Replace; by whole lines without the blanks behind them ("trailing
// blanks"); by whole lines without those before them, too ("surrounding blanks").
// By lines CRLF and LF are the same, a line without an end is like any other, and
// blank lines count. Found more than once, by the same rule, it is an error unless
// all are to be replaced. Occurrences that overlap are one, as in strings.Count.
//
// Before that, the lines of search and replacement get the ending that all lines of the file
// have: LF, CRLF, or a CR by itself. An edit from this ending to another one, such as
// CRLF to LF, is left as it is: it is meant to change endings. In a file that has both LF and CRLF, lines that
// are put into a line get the ending that the file has most often.
//
// By lines, matched lines are replaced by lines. Whoever gets blanks wrong in the
// search gets them wrong in the replacement in the same way, so each line of the
// replacement is compared with its partner in the search: the one with the same
// text, as many as possible in the same order, the last ones where there is a
// choice; what is left between two such pairs is paired text for text and blank line
// for blank line, from the last one on. Where both have the same indent, the same
// blanks behind the text, the same ending, those of the file's line stay; where
// they differ the replacement's are taken, and its indent is translated. A line
// without a partner is inserted: its indent is translated by the next line with a
// partner above it, or below, and its ending is the one that the file has most often.
// A file without a final newline gets none, and what follows is never glued on.
//
// An indent is translated by its level: as many units more or less than the
// partner's indent in the file as it has in the replacement. A unit is a tab, or the
// greatest common divisor of the indents where all are spaces; the file's is looked
// for in the matched lines, and its width, or if they have no indent all of it, in
// the whole file. Lines that begin with "*" are aligned and don't count, nor does a
// width of 1 in lines that weren't matched. Where tabs and spaces are mixed there is no unit:
// the partner's indent is inherited, with what the replacement's has beyond it.
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
// Several edits are made in order, each on the result of the one before. What isn't
// found gets hints: that search and replacement may be swapped, a character that is
// repeated another number of times, the place that is closest. They name lines, and
// quote nothing.
//
// Nothing outside of what was matched changes by a byte. Time and memory are bounded
// for whatever is asked ([MaxSize], and a limit of work in one call, beyond which it
// is [ErrTooLarge]): matching is linear, pairing has a bounded table, hints are some
// linear passes. All functions are pure and safe for concurrent use.
package edit
