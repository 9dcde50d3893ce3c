package why

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"unicode"

	"waymark/abi"
	"waymark/snapshot"
)

// ownConvention returns a configuration table by which the file, which nobody looks for,
// would be found; empty if none would.
func (p *pathInRoot) ownConvention() string {
	root, place := p.q.in.Roots[p.root], notLiteral.ReplaceAllString(p.rel, "*")
	if p.isDir() || root.Role != abi.RoleNone || root.Scope == snapshot.ScopeUser || len(place) > maxQuoted {
		return ""
	}
	kind, format := abi.KindInstructionFile, ""
	switch name := base(p.rel); {
	case name == skillFile && name != p.rel: // a skill is a directory
		kind = abi.KindSkill
	case strings.HasSuffix(name, ".json") && strings.Contains(strings.ToLower(name), "mcp"):
		kind, format = abi.KindMCPConfig, "format = \"json\"\n"
	}
	id := notWord.ReplaceAllString(strings.ToLower(p.rel), "-")
	id = "own-" + strings.Trim(id[max(0, len(id)-maxID):], "-")
	if strings.ContainsFunc(p.rel, func(r rune) bool { return r > unicode.MaxASCII }) { // little of it may be left
		id = fmt.Sprintf("%s-%x", strings.TrimSuffix(id, "-"), crc32.ChecksumIEEE([]byte(p.rel)))
	}
	return fmt.Sprintf("[[convention]]\nid = %q\nreaders = [\"anyone\"] # agents that it is for; with [conventions] agents, one of those\nplaces = [%q]\nkind = %q\n%s",
		strings.TrimSuffix(id, "-"), place, kind, format)
}

// maxID bounds how much of a path is used for an id, which is a word of the ABI.
const maxID = abi.MaxWord - len("own--01234567")

var (
	// notLiteral is what a place can't contain literally.
	notLiteral = regexp.MustCompile(`[*?\[\]{}\\[:cntrl:]]+`)
	notWord    = regexp.MustCompile(`[^a-z0-9]+`)
)
