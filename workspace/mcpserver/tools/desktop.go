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
	in, err := decode[struct {
		Action          string  `json:"action"`
		Coordinate      []int   `json:"coordinate"`
		StartCoordinate []int   `json:"start_coordinate"`
		Text            *string `json:"text"`
		Duration        *int    `json:"duration"`
		ScrollDirection *string `json:"scroll_direction"`
		ScrollAmount    *int    `json:"scroll_amount"`
	}](c)
	if err != nil {
		return nil, err
	}
	action := agentapi.DesktopAction{Action: in.Action, Text: in.Text, Duration: in.Duration, ScrollDirection: in.ScrollDirection, ScrollAmount: in.ScrollAmount, Fit: screenSide}
	for _, p := range []struct {
		given []int
		to    **[2]int
	}{{in.Coordinate, &action.Coordinate}, {in.StartCoordinate, &action.StartCoordinate}} {
		switch len(p.given) {
		case 0:
		case 2:
			*p.to = &[2]int{p.given[0], p.given[1]}
		default:
			return nil, wrong("a coordinate is [x, y]")
		}
	}
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
