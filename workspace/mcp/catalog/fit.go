package catalog

import "encoding/json"

// Fit returns the first tools, as many as fit a number and, as JSON with a comma
// between them, a length in bytes; and how many are left out. A tool that alone is
// too long is left out, and the next is tried. Zero is no bound.
func (c *Catalogue) Fit(number int, length int64) (tools []Tool, left int) {
	tools = []Tool{}
	for i := range c.Tools {
		encoded, err := json.Marshal(&c.Tools[i])
		size := int64(len(encoded)) + 1
		if err != nil || (number > 0 && len(tools) >= number) || (length > 0 && size > length) {
			left++
			continue
		}
		if length > 0 {
			length = max(length-size, 1)
		}
		tools = append(tools, c.Tools[i])
	}
	return tools, left
}
