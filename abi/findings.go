package abi

// Codes of findings. The built-in resolvers make these, and the host adds its own. A sender
// to a peer that doesn't know findings relies on them.
const (
	// FindingNameMismatch: a skill's name differs from its directory's.
	FindingNameMismatch = "name-mismatch"
	// FindingNameInvalid: a name doesn't have the form of the specification.
	FindingNameInvalid = "name-invalid"
	// FindingNameMissing: there is no name, so that of the directory or the file is used.
	FindingNameMissing = "name-missing"
	FindingNameTooLong = "name-too-long"

	FindingDescriptionMissing = "description-missing"
	FindingDescriptionTooLong = "description-too-long"
	// FindingUnknownField: the specification has no field of that name.
	FindingUnknownField = "unknown-field"
	// FindingFrontmatterUnquoted: front matter is YAML only once values with a colon are
	// quoted.
	FindingFrontmatterUnquoted = "frontmatter-unquoted"
	// FindingFrontmatterInvalid: front matter, or a whole settings file, can't be read.
	FindingFrontmatterInvalid = "frontmatter-invalid"
	// FindingImportMissing: an import leads nowhere or, with severity info, where the host
	// doesn't look. Resolvers don't see what a file imports, so only the host can report it.
	FindingImportMissing = "import-missing"
	// FindingGlobsMissing: it applies by globs, and has none.
	FindingGlobsMissing = "globs-missing"
	// FindingGlobQuotes: a glob is in typographic quotes, which are part of it.
	FindingGlobQuotes = "glob-quotes"
	// FindingMisplaced: a file has its servers below a key that its client doesn't read.
	FindingMisplaced = "misplaced"
	// FindingPathMissing: a manifest names a path that leads nowhere.
	FindingPathMissing = "path-missing"
	// FindingWithheld: the text isn't shown, because servers or hooks are beside it.
	FindingWithheld = "withheld"
	// FindingNotHere: a list names a plugin that isn't in this root.
	FindingNotHere = "not-here"
	// FindingSwitchedOff: a plugin is installed, and none of what it brings is loaded.
	FindingSwitchedOff = "switched-off"
)
