package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"waymark/agentapi"
)

// Weights of words by where they occur. Authors choose a tool's name with care; names of
// parameters are incidental.
const (
	weightName        = 3
	weightTitle       = 2.5
	weightDescription = 2
	weightParameter   = 1
	// A word that only starts with the searched word counts half, and so does one that
	// often means the same.
	prefixShare  = 0.5
	synonymShare = 0.5
)

// bytesPerToken is the approximate number of bytes of JSON in a token of a model.
const bytesPerToken = 4

// Default limits of a search, which suit a chat.
const (
	DefaultTokens = 8000
	DefaultTools  = 20
)

// Tools returns the tools that match a query, best first: those with most of its words,
// where rare words count more than common ones. Tools with equal scores are ordered by
// name. Words are compared by their stems; insignificant words are ignored, and some words
// also match synonyms. An empty query matches all tools. The result has at most limit tools
// that take about tokens tokens; a tool that doesn't fit is skipped.
func Tools(tools []agentapi.MCPTool, query string, tokens, limit int) agentapi.MCPSearch {
	answer := agentapi.MCPSearch{Tools: []agentapi.MCPTool{}}
	for _, t := range ranked(tools, asked(query)) {
		size := tokensOf(t)
		if len(answer.Tools) == limit || answer.Tokens+size > tokens {
			answer.Omitted++
			continue
		}
		answer.Tools = append(answer.Tools, *t)
		answer.Tokens += size
	}
	return answer
}

// tokensOf returns the approximate number of tokens of a tool.
func tokensOf(t *agentapi.MCPTool) int {
	n := len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.Annotations)
	return (n + bytesPerToken - 1) / bytesPerToken
}

// ranked returns the tools that match any of the words, best first.
func ranked(tools []agentapi.MCPTool, query []string) []*agentapi.MCPTool {
	type match struct {
		tool   *agentapi.MCPTool
		scores []float64 // by word
		score  float64
	}
	matches := make([]match, 0, len(tools))
	having := make([]int, len(query)) // number of tools that have the word
	for i := range tools {
		m := match{tool: &tools[i], scores: make([]float64, len(query))}
		fields := fieldsOf(&tools[i])
		found := len(query) == 0
		for j, word := range query {
			if m.scores[j] = fields.score(word); m.scores[j] > 0 {
				having[j]++
				found = true
			}
		}
		if found {
			matches = append(matches, m)
		}
	}
	for i := range matches {
		for j := range query {
			matches[i].score += matches[i].scores[j] * math.Log(1+(float64(len(tools)-having[j])+0.5)/(float64(having[j])+0.5))
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tool.Name, b.tool.Name))
	})
	list := make([]*agentapi.MCPTool, len(matches))
	for i := range matches {
		list[i] = matches[i].tool
	}
	return list
}

// fields are the words of a tool with their weights.
type fields map[string]float64

func fieldsOf(t *agentapi.MCPTool) fields {
	f := fields{}
	for _, part := range []struct {
		text   string
		weight float64
	}{{t.Name, weightName}, {t.Title, weightTitle}, {t.Description, weightDescription}, {parameters(t.Schema), weightParameter}} {
		for _, word := range words(part.text) {
			f[word] = max(f[word], part.weight)
		}
	}
	return f
}

// score returns the weight of a word.
func (f fields) score(word string) float64 {
	best := f[word]
	for other, weight := range f {
		if len(word) >= 2 && strings.HasPrefix(other, word) {
			best = max(best, weight*prefixShare)
		}
	}
	for _, other := range alike()[word] {
		best = max(best, f[other]*synonymShare)
	}
	return best
}

// parameters returns the names and descriptions of a tool's parameters.
func parameters(schema json.RawMessage) string {
	var properties map[string]json.RawMessage
	if json.Unmarshal(schema, &properties) != nil {
		return ""
	}
	var b strings.Builder
	for name, property := range properties {
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(property, &p) // a schema may be true, or its description may have another type
		b.WriteString(name + " " + p.Description + " ")
	}
	return b.String()
}

// words splits a text into the stems of its words in lower case. Words end at characters
// that are neither letters nor digits, and before a capital that follows a small letter.
func words(s string) []string {
	var list []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, stem(strings.ToLower(string(word))))
			word = nil
		}
	}
	var last rune
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(last):
			flush()
			fallthrough
		default:
			word = append(word, r)
		}
		last = r
	}
	flush()
	slices.Sort(list)
	return slices.Compact(list)
}
