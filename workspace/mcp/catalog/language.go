package catalog

import (
	"slices"
	"strings"
	"sync"
)

// asked returns the significant words of a query, or all words if none is significant.
func asked(query string) []string {
	all := words(query)
	some := slices.DeleteFunc(slices.Clone(all), func(word string) bool { return empty()[word] })
	if len(some) == 0 {
		return all
	}
	return some
}

// stem removes English endings from a word, so that "deploy" finds "deployments" and
// "deployed". The result needn't be a word, because both sides are stemmed.
func stem(word string) string {
	const least = 3 // shorter words stay as they are
	s := word
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > least+2:
		s = s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "shes"):
		s = s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") && !strings.HasSuffix(s, "is") && len(s) > least:
		s = s[:len(s)-1]
	}
	for _, ending := range []string{"ing", "ed"} {
		rest, ok := strings.CutSuffix(s, ending)
		if !ok || len(rest) < least || !strings.ContainsAny(rest, "aeiouy") {
			continue
		}
		if n := len(rest); rest[n-1] == rest[n-2] && !strings.ContainsRune("aeiouls", rune(rest[n-1])) {
			rest = rest[:n-1] // running
		}
		s = rest
		break
	}
	if len(s) > least {
		s = strings.TrimSuffix(s, "e") // schedule, scheduling
	}
	return s
}

// empty are words of any question that say nothing about a tool.
var empty = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(`a an and any are as at be been by can could did do does for from had has have how i if in into is it its
		let may me my need of on or our please shall should so some than that the their them then there these they this those to up us use using
		want was we were what when where which who why will with would you your`) {
		set[stem(word)] = true
	}
	return set
})

// alike maps words to others that often mean the same in questions and descriptions of
// tools. They are general words, not those of particular servers.
var alike = sync.OnceValue(func() map[string][]string {
	groups := []string{
		"delete remove erase drop clear", "create add new make open", "change edit modify update set", "search find look query lookup",
		"run execute start launch invoke call", "stop end kill terminate cancel", "get read show view display fetch see", "list show all",
		"send post write", "move rename transition", "copy duplicate clone", "directory folder", "file document", "image picture screenshot photo",
		"error exception failure bug crash problem", "log output", "message mail email", "meeting event appointment calendar", "schedule book plan record",
		"task ticket issue bug", "page site website", "container pod", "cost price spend spending money", "user person member people account",
		"time hour duration date", "mute silence", "cache redis key", "sql database table", "slow plan performance", "undo revert rollback roll back",
		"tree structure hierarchy", "return refund back", "pr pull", "deploy deployment release rollout", "version release", "status state",
		"comment reply note remark", "approve accept review", "capture screenshot record",
	}
	others := map[string][]string{}
	for _, group := range groups {
		list := words(group)
		for _, word := range list {
			for _, other := range list {
				if other != word && !slices.Contains(others[word], other) {
					others[word] = append(others[word], other)
				}
			}
		}
	}
	return others
})
