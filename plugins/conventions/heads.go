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
	// a text counts as missing; a subagent or skill with such a description is invalid. If the
	// text isn't YAML, it is read once more with values that contain a colon turned into blocks.
	HeadsMatter Heads = "gray-matter"
	// HeadsClaude is Claude Code's: what isn't YAML is read once more with values in quotes
	// that have a sign of YAML's in them, and is no front matter where that doesn't help. A
	// text without a description is described by its first line. The mode of a skill or
	// command is manual where disable-model-invocation is true, and that of a skill with
	// paths is glob.
	HeadsClaude Heads = "claude"
	// HeadsLines is Gemini CLI's. Front matter begins with the first byte, and ends where a
	// line begins with ---. If the text of a skill isn't YAML with a name and a description,
	// lines that begin with these words have them. A subagent must have fields that are known,
	// of the right types.
	HeadsLines Heads = "lines"
	// HeadsYAML is that of a program with YAML 1.2 and no second try. Front matter begins with
	// the first byte and ends where a line begins with ---; without such a line there is none.
	// A name that isn't a text is an error, unless it is null, false or 0, which count as
	// missing; a description that isn't a text counts as missing. The mode is manual where
	// disable-model-invocation is true.
	HeadsYAML Heads = "yaml"
	// HeadsCopilot is Copilot CLI's, also for rules. Front matter is YAML between lines that
	// are just ---; for rules any line that begins so ends it, and what isn't YAML is read by
	// lines. Fields that it knows must have their types. A rule is always applied if it has no
	// globs, or none but "*", "**" and "**/*"; its mode is manual if excludeAgent names the
	// coding agent. A skill or command is described by its first three lines if it has no
	// description.
	HeadsCopilot Heads = "copilot"
	// HeadsContinue is Continue CLI's, also of rules: front matter is what lies between the
	// first two lines of ---, wherever they stand, and what comes before them is dropped. Fields
	// are as in HeadsYAML. Front matter that isn't YAML is text. The mode of a rule with globs
	// or regex is glob, that of one that is invokable, or for which alwaysApply is there and
	// not true, manual.
	HeadsContinue Heads = "continue"
	// HeadsCline is Cline CLI's, also of rules: front matter ends where a line begins with ---,
	// and that of a subagent with the last such line. Fields are as in HeadsYAML. Front matter
	// that isn't YAML, or a field of a wrong type, makes a file invalid. The mode of what is
	// disabled is manual.
	HeadsCline Heads = "cline"
	// HeadsQwen is Qwen Code's. Front matter ends with a line that is just ---. Any value
	// stands for a text. What isn't YAML is read once more line by line. Names, types and the
	// length of a subagent's text are checked. The mode of a skill or command is manual where
	// disable-model-invocation is true, and that of a skill or rule with paths is glob.
	HeadsQwen Heads = "qwen"
)
