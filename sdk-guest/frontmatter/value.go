package frontmatter

import "strings"

// Kind says what a value is.
type Kind int

// The kinds of values.
const (
	// Null is nothing, one of the words for it, or a key that isn't there.
	Null Kind = iota
	// Bool is true or false, written as YAML 1.1 and 1.2 both have them.
	Bool
	// Other is a number, a date, or a word like yes that only some versions
	// of YAML take for a boolean. Its text is there as it was written.
	Other
	// String is a string in every version of YAML.
	String
	// List is a list of values.
	List
	// Map is a map of keys to values.
	Map
)

// Value is a value of front matter. The zero Value is Null.
type Value struct {
	Kind Kind
	// Text is what a String says, what an Other is written as, and "true" or
	// "false" of a Bool; empty for the rest.
	Text string
	List []Value
	Map  []Member // in the order of the file
	// Line is where the value begins, counted as in the file. Zero: the value
	// isn't there.
	Line int
}

// Member is a key with its value.
type Member struct {
	Key   string
	Value Value
}

// Get returns the value of a key, or of a key in the map that a key has, and so
// on. What isn't there is Null.
func (v Value) Get(keys ...string) Value {
	for _, key := range keys {
		found := Value{}
		for i := range v.Map {
			if m := &v.Map[i]; m.Key == key {
				found = m.Value
			}
		}
		v = found
	}
	return v
}

// True reports whether the value is true: not "true", which is a text.
func (v Value) True() bool { return v.Kind == Bool && v.Text == "true" }

// maxGlobs keeps patterns within a resource's attributes, of 16 KiB: in bytes, as
// they are written there.
const maxGlobs = 8 << 10

// Globs reads a list of patterns as agents do: a list of texts, or one text
// with commas between them. A comma in braces belongs to its pattern. What is
// more than 8 KiB, which attributes have room for, is left out.
func (v Value) Globs() (globs []string) {
	items := v.List
	if v.Kind == String || v.Kind == Other {
		items = []Value{v}
	}
	size := 0
	for _, item := range items {
		start, braces := 0, 0
		text := item.Text + ","
		for i := range len(text) {
			switch c := text[i]; {
			case c == '{':
				braces++
			case c == '}' && braces > 0:
				braces--
			case c == ',' && (braces == 0 || i == len(item.Text)):
				glob := strings.Trim(text[start:i], " \t\n")
				start = i + 1
				if glob == "" {
					continue
				}
				if size += written(glob); size > maxGlobs {
					return globs
				}
				globs = append(globs, glob)
			}
		}
	}
	return globs
}

// written is what a text takes in JSON at most, with its quotes and a comma.
func written(text string) int {
	n := len(text) + 3
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			n += 5
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}
