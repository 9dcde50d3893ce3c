package conventions

// Heads says how front matter is read.
type Heads string

// The ways. Where a text is plain YAML with texts in it they are all the same.
const (
	// HeadsOwn is the table's: what most agents take for front matter is, and what some
	// don't has a finding.
	HeadsOwn Heads = ""
	// HeadsSerde is what a program in Rust does that gives YAML to serde: front matter
	// ends with a line that is just ---; a field that is to be a text takes any scalar;
	// metadata must be a map. What isn't YAML, or not of these types, is read once more
	// with values in quotes that have a colon in them, or brackets that aren't closed.
	HeadsSerde Heads = "serde"
	// HeadsMatter is that of the library gray-matter for JavaScript: front matter begins
	// with the first byte, and ends where a line begins with ---, or with the file; what
	// isn't a text is none. What isn't YAML is read once more with values in blocks that
	// have a colon in them.
	HeadsMatter Heads = "gray-matter"
)
