package metrics

import "sync"

// other is what stands for words that are no labels.
const other = "other"

const (
	// maxResolvers bounds resolver names: some hundred series each. A module
	// chooses its resolvers' names, and whoever drops modules in can do so again
	// and again.
	maxResolvers = 64
	// maxWords bounds what is one of a few by nature.
	maxWords = 24
	// maxWord bounds a word's length: "module/resolver", 64 bytes each.
	maxWord = 129
)

// words lets a bounded number of words through, first come, first served.
type words struct {
	max int

	mu    sync.Mutex // guards known
	known map[string]bool
}

func newWords(most int) *words { return &words{max: most, known: map[string]bool{}} }

// label returns the word, or what stands for it.
func (w *words) label(word string) string {
	word = clean(word)
	if word == other {
		return other
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.known[word] {
		if len(w.known) >= w.max {
			return other
		}
		w.known[word] = true
	}
	return word
}

// clean makes "watches added" a word, and "other" of what is none: nothing but
// ASCII letters, digits and what stands in names.
func clean(word string) string {
	if word == "" || len(word) > maxWord {
		return other
	}
	out := []byte(word)
	for i, c := range out {
		switch {
		case c == ' ':
			out[i] = '_'
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '_', c == '-', c == '.', c == '/':
		default:
			return other
		}
	}
	return string(out)
}
