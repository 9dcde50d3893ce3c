package agentapi

import (
	"errors"
	"fmt"
	"slices"
)

// DesktopAction is the body of POST /api/v0/desktop/action. Which fields an action needs is
// said there.
type DesktopAction struct {
	// Action is what to do.
	Action string `json:"action" enum:"key,key_down,key_up,hold_key,type,cursor_position,mouse_move,left_click,right_click,middle_click,double_click,triple_click,left_click_drag,left_mouse_down,left_mouse_up,scroll,wait,screenshot"`
	// Coordinate is a point of the screen, x and y; of a drag its end.
	Coordinate []int `json:"coordinate,omitempty"`
	// StartCoordinate is where a drag begins.
	StartCoordinate []int `json:"start_coordinate,omitempty"`
	// Text is what to type, or the keys: a name of X's (Return, Page_Down), a character, or
	// several joined with "+" (ctrl+shift+t). Of clicks, drags and scrolling, only in
	// Waymark, it is the modifiers that are held meanwhile.
	Text string `json:"text,omitempty"`
	// Duration is in milliseconds, for hold_key and wait; default 1,000.
	Duration *int `json:"duration,omitzero" minimum:"0" maximum:"100000"`
	// ScrollAmount is the number of clicks of the wheel; default 3.
	ScrollAmount int `json:"scroll_amount,omitzero" minimum:"1" maximum:"100"`
	// ScrollDirection is where to scroll; default "down".
	ScrollDirection string `json:"scroll_direction,omitempty" enum:"up,down,left,right"`
	// ScaledWidth and ScaledHeight are the size of the screen as the caller sees it: its
	// coordinates are scaled to the real one, and pictures to the caller's. Default: the
	// real size.
	ScaledWidth int `json:"scaled_width,omitzero" minimum:"1" maximum:"16384"`
	// ScaledHeight is given with ScaledWidth.
	ScaledHeight int `json:"scaled_height,omitzero" minimum:"1" maximum:"16384"`
	// Fit, only in Waymark, sets both: to the real size, or, if that is longer in one
	// direction, to as much as fits into Fit by Fit pixels.
	Fit int `json:"fit,omitzero" minimum:"0" maximum:"16384"`
}

const (
	// MaxDesktopText is how much one action types, in bytes.
	MaxDesktopText = 64 << 10
	// MaxDesktopDuration is the longest Duration.
	MaxDesktopDuration = 100000
	// MaxDesktopSide is how wide and high a screen may be.
	MaxDesktopSide = 16384
	maxScroll      = 100
)

// desktopNeeds has the fields that an action must have.
var desktopNeeds = map[string][]string{
	"key": {"text"}, "key_down": {"text"}, "key_up": {"text"}, "hold_key": {"text"}, "type": {"text"},
	"cursor_position": nil, "wait": nil, "screenshot": nil, "left_mouse_down": nil, "left_mouse_up": nil,
	"mouse_move": {"coordinate"}, "left_click": {"coordinate"}, "right_click": {"coordinate"}, "middle_click": {"coordinate"},
	"double_click": {"coordinate"}, "triple_click": {"coordinate"}, "scroll": {"coordinate"},
	"left_click_drag": {"start_coordinate", "coordinate"},
}

// Check returns what is wrong with an action.
func (a *DesktopAction) Check() error {
	needs, known := desktopNeeds[a.Action]
	if !known {
		return fmt.Errorf("there is no action %.40q", a.Action)
	}
	has := map[string]bool{"text": a.Text != "", "coordinate": a.Coordinate != nil, "start_coordinate": a.StartCoordinate != nil}
	for _, field := range needs {
		if !has[field] {
			return fmt.Errorf("%s needs %s", a.Action, field)
		}
	}
	outside := func(n, most int) bool { return n < 0 || n > most }
	switch {
	case a.Coordinate != nil && len(a.Coordinate) != 2, a.StartCoordinate != nil && len(a.StartCoordinate) != 2:
		return errors.New("a coordinate is [x, y]")
	case len(a.Text) > MaxDesktopText:
		return fmt.Errorf("text has more than %d bytes", MaxDesktopText)
	case (a.ScaledWidth > 0) != (a.ScaledHeight > 0), outside(a.ScaledWidth, MaxDesktopSide), outside(a.ScaledHeight, MaxDesktopSide):
		return fmt.Errorf("scaled_width and scaled_height go together, and are from 1 to %d", MaxDesktopSide)
	case outside(a.Fit, MaxDesktopSide), a.Fit > 0 && a.ScaledWidth > 0:
		return fmt.Errorf("fit is from 1 to %d, without scaled_width", MaxDesktopSide)
	case a.Duration != nil && outside(*a.Duration, MaxDesktopDuration):
		return fmt.Errorf("duration is from 0 to %d", MaxDesktopDuration)
	case outside(a.ScrollAmount, maxScroll):
		return fmt.Errorf("scroll_amount is from 1 to %d", maxScroll)
	case !slices.Contains([]string{"", "up", "down", "left", "right"}, a.ScrollDirection):
		return errors.New("scroll_direction is up, down, left or right")
	}
	return nil
}

// DesktopResult is what an action answers.
type DesktopResult struct {
	// Output says what was done or, after cursor_position, where the pointer is: x=3,y=4.
	Output string `json:"output,omitempty"`
	// ScreenshotData is a PNG in base64.
	ScreenshotData string `json:"screenshot_data,omitempty"`
	// ScreenshotWidth and ScreenshotHeight are its size.
	ScreenshotWidth int `json:"screenshot_width,omitzero"`
	// ScreenshotHeight is its height.
	ScreenshotHeight int `json:"screenshot_height,omitzero"`
	// Width and Height, only in Waymark, are the real size of the screen, beside a picture.
	Width int `json:"width,omitzero"`
	// Height is the real height.
	Height int `json:"height,omitzero"`
}

// Desktop is the state of the desktop.
type Desktop struct {
	// Running says whether it was started.
	Running bool `json:"running"`
	// Missing is what has to be installed before it can be started, or recorded.
	Missing []string `json:"missing,omitempty"`
	// Display and Xauthority are the values of the variables DISPLAY and XAUTHORITY of programs
	// that show something on it. Processes whose token has the scope `desktop` get them.
	Display string `json:"display,omitempty"`
	// Xauthority is the file that opens the display.
	Xauthority string `json:"xauthority,omitempty"`
	// Width and Height are the size of the screen.
	Width int `json:"width,omitzero"`
	// Height is the screen's height.
	Height int `json:"height,omitzero"`
	// Error says why the last one ended, if nobody had asked for that.
	Error string `json:"error,omitempty"`
}

// DesktopRecording is the body of POST /api/v0/desktop/recording/start and stop.
type DesktopRecording struct {
	// ID is one of the caller's choice, a UUID.
	ID string `json:"recording_id" format:"uuid" example:"5b2c6a8e-1f0a-4a52-9d7a-3f5c2a1b0c9d"`
}

// DesktopMessage is what starting a recording answers.
type DesktopMessage struct {
	// Message is for people.
	Message string `json:"message"`
}
