package text

import "strings"

// Nearest returns the name that somebody may have meant by a word: the one with the fewest
// letters to insert, remove or replace, at most two and fewer than the word has; else the
// only name that begins with the word. It is empty if there is none; of equally near names it
// is the first. Case doesn't count in the word.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	best, least := "", min(3, len(word)) // more than two letters off is another word
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best != "" || word == "" {
		return best
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			if best != "" {
				return ""
			}
			best = name
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace to turn a into b. Long words
// aren't compared.
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
