package catalog

import "encoding/json"

// Fit returns the first tools that fit into a number and a length, in bytes as JSON with
// commas between tools, and how many it leaves out. It skips a tool that doesn't fit and
// tries the next. Zero means no limit.
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
