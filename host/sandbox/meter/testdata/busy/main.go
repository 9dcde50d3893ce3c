// Command busy is a guest that computes, to measure what metering costs.
package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func main() {}

//go:wasmexport spin
func spin(n int32) int64 {
	h := uint64(14695981039346656037)
	for i := range n {
		h = (h ^ uint64(i&255)) * 1099511628211
	}
	return int64(h)
}

type item struct {
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
	Score float64           `json:"score"`
}

func items(n int32) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = item{
			Name: fmt.Sprintf("item-%d", i), Tags: []string{"a", "b", "c"},
			Attrs: map[string]string{"k": strings.Repeat("v", i%50)}, Score: float64(i) / 3,
		}
	}
	return list
}

//go:wasmexport encode
func encode(n int32) int64 {
	b, err := json.Marshal(items(n))
	if err != nil {
		panic(err)
	}
	var back []item
	if err := json.Unmarshal(b, &back); err != nil {
		panic(err)
	}
	return int64(len(b) + len(back))
}

//go:wasmexport order
func order(n int32) int64 {
	list := items(n)
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(b.Name, a.Name) })
	seen := map[string]int{}
	for _, it := range list {
		for _, w := range strings.Fields(strings.Repeat(it.Name+" ", 5)) {
			seen[w]++
		}
	}
	return int64(len(seen))
}
