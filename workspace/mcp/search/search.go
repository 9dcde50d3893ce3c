// Package search finds tools of MCP servers by the words of a question. The agent and
// the fake that stands in for it in tests answer with the same.
//
// # Concurrency
//
// It keeps nothing, and may be called by any number of goroutines.
package search

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"waymark/agentapi"
)

// How much a word counts by where it stands. A tool's name is what its author chose
// to say in two words; a parameter's name comes along with it.
const (
	weightName        = 3
	weightTitle       = 2.5
	weightDescription = 2
	weightParameter   = 1
	// A word that only begins with the one that was searched counts half, and so does
	// one that often means the same.
	prefixShare  = 0.5
	synonymShare = 0.5
)

// bytesPerToken is about how many bytes of JSON a model takes for a token.
const bytesPerToken = 4

// What a search is bounded by where nobody says: as much as a chat reads willingly.
const (
	DefaultTokens = 8000
	DefaultTools  = 20
)

// Tools returns the tools that match a query, the best first: those with most of
// its words, and with rare ones rather than with words that many tools have; of
// equal ones in order of names. Words count by their stems, those
// that say nothing don't, and some count for others. An empty query matches all. At most limit tools are
// returned, and as many as take about so many tokens; one that doesn't fit is left
// out, and the next is tried.
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

// tokensOf is about how many tokens a tool takes in a chat.
func tokensOf(t *agentapi.MCPTool) int {
	n := len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.Annotations)
	return (n + bytesPerToken - 1) / bytesPerToken
}

// ranked returns the tools that match any of the words, the best first.
func ranked(tools []agentapi.MCPTool, query []string) []*agentapi.MCPTool {
	type match struct {
		tool   *agentapi.MCPTool
		scores []float64 // by word
		score  float64
	}
	matches := make([]match, 0, len(tools))
	having := make([]int, len(query)) // how many tools have a word
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

// fields are the words of a tool with what they count.
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

// score is what a word counts.
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
		_ = json.Unmarshal(property, &p) // a schema may be true, or have a description of another type
		b.WriteString(name + " " + p.Description + " ")
	}
	return b.String()
}

// words splits a text into the stems of its words, in lower case: at what is neither a
// letter nor a digit, and where a capital follows a small letter.
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
