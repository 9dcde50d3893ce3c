package session

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/workspace/mcp/catalog"
)

// addPage adds the tools of a page. It returns the names of the tools that were added, the
// cursor of the next page, and the page as the SDK may see it.
func addPage(b *catalog.Builder, raw []byte) (taken []string, next string, shown []byte) {
	var wire struct {
		Tools      []jsontext.Value `json:"tools"`
		NextCursor string           `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &wire, lenient); err != nil {
		b.Find("bad_page", "", "The server's list of tools can't be read: %s.", "it doesn't have the fields of one")
		return nil, "", []byte(`{"resultType":"complete","tools":[]}`)
	}
	type sdkTool struct {
		Name        string         `json:"name"`
		InputSchema jsontext.Value `json:"inputSchema"`
	}
	page := struct {
		ResultType string    `json:"resultType"`
		Tools      []sdkTool `json:"tools"`
	}{"complete", []sdkTool{}}
	for _, rawTool := range wire.Tools {
		tool, ok := b.Add(rawTool)
		if !ok {
			continue
		}
		schema := jsontext.Value(tool.InputSchema)
		if schema == nil {
			schema = jsontext.Value("{}")
		}
		taken = append(taken, tool.Name)
		page.Tools = append(page.Tools, sdkTool{tool.Name, schema})
	}
	shown, err := json.Marshal(page, lenient)
	if err != nil {
		shown = []byte(`{"resultType":"complete","tools":[]}`)
		b.Find("bad_page", "", "The server's list of tools can't be read: %s.", fmt.Sprint(err))
	}
	return taken, wire.NextCursor, shown
}
