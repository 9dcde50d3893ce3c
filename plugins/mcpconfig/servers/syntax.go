package servers

import "strings"

// Syntax is how references are written in the texts of an entry.
type Syntax string

// The syntaxes.
const (
	// ShellSyntax: ${VAR} and ${VAR:-default}. A default ends at the first brace, and
	// holds no references.
	ShellSyntax Syntax = ""
	// BareSyntax: $VAR, too.
	BareSyntax Syntax = "bare"
	// EditorSyntax: ${env:VAR}, ${workspaceFolder}, ${workspaceFolderBasename},
	// ${userHome}, ${pathSeparator} and ${/}, and what only an editor can ask for:
	// ${input:id}, ${command:id}, ${config:name}, ${file:path}.
	EditorSyntax Syntax = "editor"
	// BraceSyntax: {env:VAR} and {file:path}.
	BraceSyntax Syntax = "braces"
	// NoSyntax: every text stands for itself.
	NoSyntax Syntax = "none"
)

// Keeps reports whether a reference to a variable that isn't set, and has no default, stays
// as it is written. Claude Code 2.1.332, GitHub Copilot CLI 1.0.102 and, in arguments, Gemini
// CLI 0.61.0 keep it; opencode 1.18.33 removes it.
func (s Syntax) Keeps() bool { return s == ShellSyntax || s == BareSyntax }

// Reference is a reference in a text.
type Reference struct {
	Kind       ReferenceKind
	Name       string // of a variable, or of what only the client has
	Default    string
	HasDefault bool
}

// ReferenceKind says what a reference stands for.
type ReferenceKind string

// The kinds of references.
const (
	Variable   ReferenceKind = ""
	Folder     ReferenceKind = "folder"      // the workspace's directory
	FolderName ReferenceKind = "folder name" // its name
	Home       ReferenceKind = "home"        // the user's home directory
	Separator  ReferenceKind = "separator"   // a slash
	// Foreign is what only the client has: somebody to ask, its settings.
	Foreign ReferenceKind = "foreign"
)

// Next finds the first reference of a text. Where there is none, before is all of it.
func (s Syntax) Next(text string) (before string, ref Reference, after string, ok bool) {
	sign := byte('$')
	switch s {
	case NoSyntax:
		return text, ref, "", false
	case BraceSyntax:
		sign = '{'
	}
	for i := 0; ; i++ {
		j := strings.IndexByte(text[i:], sign)
		if j < 0 {
			return text, Reference{}, "", false
		}
		i += j
		if ref, length := s.reference(text[i:]); length > 0 {
			return text[:i], ref, text[i+length:], true
		}
	}
}

// References returns the references of a text, in order.
func (s Syntax) References(text string) (list []Reference) {
	for {
		_, ref, after, ok := s.Next(text)
		if !ok {
			return list
		}
		list = append(list, ref)
		text = after
	}
}

// reference reads the reference at the start of a text, which begins with the
// syntax's sign; its length is 0 where there is none.
func (s Syntax) reference(text string) (ref Reference, length int) {
	if s == BraceSyntax {
		inner, _, closed := strings.Cut(text[1:], "}")
		if !closed {
			return ref, 0
		}
		ref, ok := braced(inner)
		return ref, lengthIf(ok, len("{}")+len(inner))
	}
	rest := text[1:]
	if !strings.HasPrefix(rest, "{") {
		n := nameLength(rest)
		return Reference{Name: rest[:n]}, lengthIf(n > 0 && s == BareSyntax, n+1)
	}
	inner, _, closed := strings.Cut(rest[1:], "}")
	if !closed {
		return ref, 0
	}
	var ok bool
	if s == EditorSyntax {
		ref, ok = editor(inner)
	} else {
		ref, ok = shell(inner)
	}
	return ref, lengthIf(ok, len("${}")+len(inner))
}

func lengthIf(ok bool, length int) int {
	if !ok {
		return 0
	}
	return length
}

// shell reads what is between ${ and }.
func shell(inner string) (ref Reference, ok bool) {
	n := nameLength(inner)
	if n == 0 {
		return ref, false
	}
	ref.Name = inner[:n]
	switch tail := inner[n:]; {
	case tail == "":
		return ref, true
	case strings.HasPrefix(tail, ":-"):
		ref.Default, ref.HasDefault = tail[2:], true
		return ref, true
	}
	return Reference{}, false
}

// editor reads what is between ${ and }.
func editor(inner string) (ref Reference, ok bool) {
	switch inner {
	case "workspaceFolder", "workspaceRoot", "cwd":
		return Reference{Kind: Folder}, true
	case "workspaceFolderBasename":
		return Reference{Kind: FolderName}, true
	case "userHome":
		return Reference{Kind: Home}, true
	case "pathSeparator", "/":
		return Reference{Kind: Separator}, true
	}
	return prefixed(inner, "input", "command", "config", "file", "workspaceFolder")
}

// braced reads what is between { and }.
func braced(inner string) (ref Reference, ok bool) { return prefixed(inner, "file") }

// prefixed reads env:NAME, and what begins with one of the words that mean something
// that only the client has.
func prefixed(inner string, foreign ...string) (ref Reference, ok bool) {
	word, name, _ := strings.Cut(inner, ":")
	switch {
	case name == "":
		return ref, false
	case word == "env":
		return Reference{Name: name}, nameLength(name) == len(name)
	case contains(foreign, word):
		return Reference{Kind: Foreign, Name: inner}, true
	}
	return ref, false
}

func nameLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if n < 0 {
		n = len(text)
	}
	if n > 0 && text[0] >= '0' && text[0] <= '9' {
		return 0
	}
	return n
}
