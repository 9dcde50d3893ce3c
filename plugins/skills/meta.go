package skills

import (
	"errors"
	"strconv"

	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// kind is what a front matter value turned out to be.
type kind int

const (
	isMissing kind = iota // not there, or null
	isString
	isOther
)

type value struct {
	kind kind
	text string // of a string
}

// meta is what is read of the front matter.
type meta struct{ name, description value }

// yamlBudget bounds what goes through the YAML library in one run, in bytes:
// in a sandbox it reads about 1 KiB in a millisecond, and a run has two
// seconds. Front matter has a few hundred bytes, so that this is a thousand
// skills.
type yamlBudget int

const fullYAMLBudget yamlBudget = 512 << 10

var errYAMLBudget = errors.New("front matter uses anchors, tags or the like, and this root has too much of that to read it all")

// parseMeta reads a front matter block: with the SDK's reader, and with a YAML
// library what that doesn't read, if the budget allows it. cost is for spend.
func (b *yamlBudget) parseMeta(block []byte) (m meta, cost int, err error) {
	v, err := frontmatter.Parse(block, frontmatter.Options{})
	name, nameOK := known(v.Get("name"))
	description, descriptionOK := known(v.Get("description"))
	if err == nil && nameOK && descriptionOK {
		return meta{name, description}, 0, nil
	}
	if int(*b) < len(block) {
		return meta{}, len(block), errYAMLBudget
	}
	m, err = parseYAML(block)
	return m, len(block), err
}

// spend takes a cost from the budget and reports whether there was enough.
func (b *yamlBudget) spend(cost int) bool {
	*b -= yamlBudget(cost)
	return cost == 0 || *b >= 0
}

// known returns what a value is, and whether that is the same in every version
// of YAML.
func known(v frontmatter.Value) (value, bool) {
	switch v.Kind {
	case frontmatter.Null:
		return value{}, true
	case frontmatter.String:
		return value{isString, v.Text}, true
	}
	return value{kind: isOther}, v.Kind != frontmatter.Other
}

// maxNameLen is the Agent Skills specification's.
const maxNameLen = 64

// check returns the first rule that the front matter breaks.
func (m meta) check(dirName string) error {
	name := m.name.text
	switch {
	case m.name.kind == isMissing:
		return errors.New("name is missing from the front matter")
	case m.name.kind != isString:
		return errors.New("name is not a string; put it in quotes")
	case len(name) > maxNameLen:
		return errors.New("name is longer than " + strconv.Itoa(maxNameLen) + " characters")
	case !isKebab(name):
		return errors.New("name " + quote(name) + " is not kebab-case: a-z, 0-9 and single hyphens between them")
	case name != dirName:
		return errors.New("name " + quote(name) + " is not the name of its directory, " + quote(dirName))
	case m.description.kind == isOther:
		return errors.New("description is not a string; put it in quotes")
	}
	return nil
}

func quote(s string) string { return strconv.Quote(guest.Truncate(s, 128)) }

func isKebab(s string) bool {
	hyphen := true // where a hyphen may not stand
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			hyphen = false
		case c == '-' && !hyphen:
			hyphen = true
		default:
			return false
		}
	}
	return !hyphen
}
