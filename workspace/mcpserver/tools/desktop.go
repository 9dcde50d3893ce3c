package tools

import (
	"fmt"

	"waymark/agentapi"
)

// screenSide is the longest side of the screen as models see it: what they take without
// scaling it down themselves, which would make their coordinates wrong.
const screenSide = 1280

// computer acts on the desktop.
func (c *call) computer() (any, error) {
	action, err := decode[agentapi.DesktopAction](c)
	if err != nil {
		return nil, err
	}
	action.Fit = screenSide
	if err := action.Check(); err != nil {
		return nil, misuse(err.Error())
	}
	done, err := c.client.DesktopAction(c, action)
	if err != nil {
		return nil, err
	}
	if done.ScreenshotData == "" {
		return &agentapi.MCPToolResult{Content: textOf(done.Output)}, nil
	}
	text := fmt.Sprintf("The screen, %d × %d pixels.", done.ScreenshotWidth, done.ScreenshotHeight)
	if done.Width != done.ScreenshotWidth {
		text += fmt.Sprintf(" It really has %d × %d; coordinates are those of the picture.", done.Width, done.Height)
	}
	return &agentapi.MCPToolResult{Content: append(textOf(text), agentapi.MCPContent{Type: "image", MediaType: "image/png", Data: done.ScreenshotData})}, nil
}
