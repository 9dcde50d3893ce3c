package config

import (
	"maps"
	"slices"
	"strings"
)

// suggest returns a hint for an unknown key: the known key that looks most
// like it, or all that there are.
func suggest(key string, known table) string {
	names := slices.Sorted(maps.Keys(known))
	best, least := "", 3 // more than two letters off is another word
	for _, name := range names {
		if d := distance(strings.ToLower(key), name); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "known here: " + strings.Join(names, ", ")
}

// distance is the number of letters to insert, remove or replace to turn a
// into b. Long words aren't compared.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
