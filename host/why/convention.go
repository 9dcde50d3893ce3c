package why

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// ownConvention is the table of a configuration that has a file found which nobody looks for;
// empty where one wouldn't: it isn't a regular file of this root, nobody may read it, or it is
// too large.
func (p *pathInRoot) ownConvention() string {
	place, kind := p.rel, string(abi.KindInstructionFile)
	info, err := os.Lstat(p.absolute(place))
	if err == nil && info.IsDir() {
		place = join(place, skillFile)
		if info, err = os.Lstat(p.absolute(place)); err == nil && !info.Mode().IsRegular() {
			return ""
		}
	}
	root := p.q.in.Roots[p.root]
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o444 == 0 || info.Size() > snapshot.DefaultMaxResourceBytes ||
		root.Role != abi.RoleNone || root.Scope == snapshot.ScopeUser || root.FS.File() != "" || len(p.runs) == 0 {
		return ""
	}
	format := string(conventions.Text)
	switch ending := strings.ToLower(path.Ext(place)); {
	case path.Base(place) == skillFile && strings.Contains(place, "/"):
		kind, format = string(abi.KindSkill), string(conventions.Markdown)
	case ending == ".md" || ending == ".mdc" || ending == ".markdown":
		format = string(conventions.Markdown)
	case ending == ".json" && strings.Contains(strings.ToLower(path.Base(place)), "mcp"):
		kind, format = string(abi.KindMCPConfig), string(conventions.JSON)
	}
	pattern := patternSigns.ReplaceAllString(strings.Map(printable, place), "*")
	if first, _, _ := strings.Cut(pattern, "/"); first == "*" && strings.Contains(pattern, "/") || len(pattern) > maxQuoted*2 {
		return "" // it would search too much
	}
	return fmt.Sprintf("[[convention]]\nid = %q\nreaders = [\"anyone\"] # agents that it is for; with [conventions] agents, one of those\nplaces = [%s]\nkind = %q\nformat = %q\n",
		conventionID(place), strconv.Quote(pattern), kind, format)
}

// patternSigns are what a place can't have as it is.
var patternSigns = regexp.MustCompile(`[*?\[\]{}\\]+`)

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return '*'
	}
	return r
}

// conventionID makes an id of the end of a path.
func conventionID(place string) string {
	words := strings.FieldsFunc(strings.ToLower(place), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	for len(words) > 0 && len(strings.Join(words, "-")) > abi.MaxWord-len("own-") {
		words = words[1:]
	}
	return strings.Join(append([]string{"own"}, words...), "-")
}
