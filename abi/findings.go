package abi

// Codes of findings. The built-in resolvers make those; the host adds its own, and
// whoever sends resources to a peer that doesn't know findings goes by them.
const (
	// FindingNameMismatch: a skill's name isn't its directory's.
	FindingNameMismatch = "name-mismatch"
	// FindingNameInvalid: a name isn't made as the specification says.
	FindingNameInvalid = "name-invalid"
	// FindingNameMissing: there is no name, so that the directory's or the file's
	// stands for it.
	FindingNameMissing = "name-missing"
	FindingNameTooLong = "name-too-long"

	FindingDescriptionMissing = "description-missing"
	FindingDescriptionTooLong = "description-too-long"
	// FindingUnknownField: the specification has no field of that name.
	FindingUnknownField = "unknown-field"
	// FindingFrontmatterUnquoted: front matter is YAML only once values with a colon
	// are quoted.
	FindingFrontmatterUnquoted = "frontmatter-unquoted"
	// FindingFrontmatterInvalid: front matter, or a whole file of settings, can't be
	// read.
	FindingFrontmatterInvalid = "frontmatter-invalid"
	// FindingImportMissing: an import leads nowhere, or, as information, where the host
	// doesn't look. Resolvers don't see what a file imports, so that this is the host's to
	// find.
	FindingImportMissing = "import-missing"
	// FindingWithheld: the text isn't shown, since servers or hooks stand beside it.
	FindingWithheld = "withheld"
	// FindingNotHere: a list names a plugin that isn't in this root.
	FindingNotHere = "not-here"
	// FindingSwitchedOff: a plugin is installed, and none of what it brings is loaded.
	FindingSwitchedOff = "switched-off"
)
