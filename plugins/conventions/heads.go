package conventions

// Heads says how front matter is read.
type Heads string

// The ways. For plain YAML with text values they are all the same.
const (
	// HeadsOwn is the table's: it reads what most agents accept as front matter, and reports
	// a finding for what some don't.
	HeadsOwn Heads = ""
	// HeadsSerde is that of a Rust program with serde. Front matter ends with a line that is
	// just ---. A text field accepts any scalar; metadata must be a map. If the text isn't
	// YAML, or has other types, it is read once more with quotes around values that contain a
	// colon or unclosed brackets.
	HeadsSerde Heads = "serde"
	// HeadsMatter is that of the JavaScript library gray-matter. Front matter begins with the
	// first byte, and ends where a line begins with ---, or with the file. A value that isn't
	// a text counts as missing. If the text isn't YAML, it is read once more with values that
	// contain a colon turned into blocks.
	HeadsMatter Heads = "gray-matter"
	// HeadsClaude is Claude Code's: what isn't YAML is read once more with values in quotes
	// that have a sign of YAML's in them, and is no front matter where that doesn't help. A
	// text without a description is described by its first line. The mode of a skill or
	// command is manual where disable-model-invocation is true, and that of a skill with
	// paths is glob.
	HeadsClaude Heads = "claude"
)
