package codingagents

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"waymark/abi"
	"waymark/snapshot"
)

// line is a skill in a list.
type line struct {
	size        int64 // without the description
	description string
}

// with returns the size of a line with this many bytes of its description, which is preceded
// by a blank.
func (l *line) with(shown int) int64 {
	if shown == 0 {
		return l.size
	}
	return l.size + 1 + int64(shown)
}

func (l *line) full() int64 { return l.with(len(l.description)) }

// cost is what a line takes of a budget: it is counted separately, with its line end.
func (l *line) cost(shown int) int64 { return tokens(l.with(shown) + 1) }

// fitted is how a list fits into a budget.
type fitted struct {
	// shown is how many bytes of each description are shown; -1 if the skill isn't listed.
	shown              []int
	used               int64
	shortened, dropped int
}

// fit shows as much of a list as fits into a budget, besides the list of its numbered roots.
// A nil Budget has room for all.
func (b *Budget) fit(lines []line, roots map[string]int) fitted {
	f := fitted{shown: make([]int, len(lines))}
	for i := range lines {
		f.shown[i] = len(lines[i].description)
	}
	if b == nil {
		return f
	}
	// The client's own skills come first, and are treated like the others.
	const path = " (file: r0//SKILL.md)" // their path contains their name
	all := make([]line, 0, len(b.Builtin)+len(lines))
	for _, own := range b.Builtin {
		all = append(all, line{size: int64(len("- :") + len(own.Name) + len(path) + len(own.Name)), description: string(make([]byte, own.Description))})
	}
	all = append(all, lines...)
	room := b.Tokens - b.table(roots)
	shown := show(all, room)
	f.shown = shown[len(b.Builtin):]
	for i := range all {
		if shown[i] >= 0 {
			f.used += all[i].cost(shown[i])
		}
	}
	for i, n := range f.shown {
		switch {
		case n < 0:
			f.dropped++
		case n < len(lines[i].description):
			f.shortened++
		}
	}
	return f
}

// table returns what the list of roots takes of the budget.
func (b *Budget) table(roots map[string]int) int64 {
	var size int64
	for root, number := range roots {
		size += int64(len(fmt.Sprintf("- `r%d` = `%s`\n", number, root)))
	}
	return tokens(max(size-b.FreeRoots, 0))
}

// show returns how many bytes of each description are shown; -1 if not even the name is.
func show(all []line, room int64) []int {
	shown := make([]int, len(all))
	var full, least int64
	for i := range all {
		full, least = full+all[i].cost(len(all[i].description)), least+all[i].cost(0)
	}
	switch {
	case full <= room:
		for i := range all {
			shown[i] = len(all[i].description)
		}
	case least <= room:
		share(all, shown, room-least)
	default:
		left := room
		for i := range all {
			if cost := all[i].cost(0); cost <= left {
				left -= cost
			} else {
				shown[i] = -1
			}
		}
	}
	return shown
}

// share gives each description in turn one more character, as long as the next character of
// any of them fits.
func share(all []line, shown []int, left int64) {
	for changed := true; changed; {
		changed = false
		for i := range all {
			rest := all[i].description[shown[i]:]
			if rest == "" {
				continue
			}
			_, size := utf8.DecodeRuneInString(rest)
			more := all[i].cost(shown[i]+size) - all[i].cost(shown[i])
			if more <= left {
				shown[i] += size
				left -= more
				changed = true
			}
		}
	}
}

// fitList removes the descriptions of skills and commands that have no room.
func (v *viewer) fitList() {
	b := v.in.Client.ListBudget
	if b == nil {
		return
	}
	usage := &v.view.Budget
	usage.SkillTokens, usage.WindowTokens, usage.Builtin = tokens(int64(b.Characters)), int64(b.Window), b.Builtin
	var list []*Item
	used := b.BuiltinCharacters
	for i := range v.view.Items {
		if it := &v.view.Items[i]; it.Included && (it.Kind == abi.KindSkill || it.Kind == abi.KindCommand) {
			list = append(list, it)
			used += len("- \n") + units(it.Name)
		}
	}
	detail := "the list has room for %d characters, and none for its description"
	if b.Element > 0 {
		used, detail = 0, "the list has room for %d characters, and from here on for names alone"
	}
	full, commands := false, false
	for _, it := range list {
		more := len(": ") + units(it.Description)
		if b.Element > 0 {
			more = b.Element + escaped(it.Name) + escaped(it.Description) + len(it.location())
			if it.Kind == abi.KindCommand && !commands { // behind the client's own
				commands = true
				if full = full || used+b.BuiltinCharacters > b.Characters; !full {
					used += b.BuiltinCharacters
				}
			}
		}
		if full = full && b.Element > 0 || used+more > b.Characters; !full {
			used += more
			continue
		}
		it.CutBytes, it.Reason, it.Description = int64(len(it.Description)), snapshot.ClientShortened, ""
		it.Detail = fmt.Sprintf(detail, b.Characters)
		it.Tokens = tokens(it.Bytes - it.CutBytes)
		usage.Shortened++
	}
	usage.UsedTokens = tokens(int64(used))
}

// location is the word for where something comes from.
func (it *Item) location() string {
	switch {
	case it.find.plugin != "":
		return "plugin"
	case it.User:
		return "user"
	}
	return "project"
}

// units is how many characters a text takes, in UTF-16 code units.
func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// escaped is units for a text in XML.
func escaped(text string) int { return units(xmlSigns.Replace(text)) }

var xmlSigns = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
