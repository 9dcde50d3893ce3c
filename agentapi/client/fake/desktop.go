package fake

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"net"
	"net/http"

	"waymark/agentapi"
)

// desktop is a screen on which nothing is shown: the pointer moves, and recordings hold no
// film.
type desktop struct {
	running    bool
	pointer    [2]int
	recordings map[string]bool
}

// screen is the size of the fake's screen.
var screen = [2]int{1280, 800}

// onDesktop makes a call with the lock held. It starts the desktop, unless scope only views.
func onDesktop[T any](ctx context.Context, a *Agent, scope string, do func(d *desktop) (T, error)) (T, error) {
	return call(ctx, a, scope, func(context.Context) (answer T, err error) {
		a.state.change(func(s *state) {
			s.desktop.running = s.desktop.running || scope == scopeDesktop
			answer, err = do(&s.desktop)
		})
		return answer, err
	})
}

func (d *desktop) state() (*agentapi.Desktop, error) {
	answer := &agentapi.Desktop{Running: d.running, Width: screen[0], Height: screen[1]}
	if d.running {
		answer.Display, answer.Xauthority = ":1", Home+"/.Xauthority"
	}
	return answer, nil
}

// DesktopState implements client.Client.
func (a *Agent) DesktopState(ctx context.Context) (*agentapi.Desktop, error) {
	return onDesktop(ctx, a, scopeView, (*desktop).state)
}

// StartDesktop implements client.Client.
func (a *Agent) StartDesktop(ctx context.Context) (*agentapi.Desktop, error) {
	return onDesktop(ctx, a, scopeDesktop, (*desktop).state)
}

// StopDesktop implements client.Client.
func (a *Agent) StopDesktop(ctx context.Context) error {
	_, err := onDesktop(ctx, a, scopeDesktop, func(d *desktop) (struct{}, error) {
		d.running = false
		return struct{}{}, nil
	})
	return err
}

// DesktopAction implements client.Client. It presses nothing, and doesn't wait.
func (a *Agent) DesktopAction(ctx context.Context, action agentapi.DesktopAction) (*agentapi.DesktopResult, error) {
	return onDesktop(ctx, a, scopeDesktop, func(d *desktop) (*agentapi.DesktopResult, error) {
		if err := action.Check(); err != nil {
			return nil, refuse(http.StatusBadRequest, "%v", err)
		}
		size := screen
		if action.ScaledWidth > 0 {
			size = [2]int{action.ScaledWidth, action.ScaledHeight}
		}
		answer := &agentapi.DesktopResult{Output: action.Action + " action performed"}
		switch action.Action {
		case "cursor_position":
			answer.Output = fmt.Sprintf("x=%d,y=%d", d.pointer[0]*size[0]/screen[0], d.pointer[1]*size[1]/screen[1])
		case "screenshot":
			var b bytes.Buffer
			if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, size[0], size[1]), color.Palette{color.Black})); err != nil {
				return nil, err
			}
			answer.ScreenshotData = base64.StdEncoding.EncodeToString(b.Bytes())
			answer.ScreenshotWidth, answer.ScreenshotHeight, answer.Width, answer.Height = size[0], size[1], screen[0], screen[1]
		}
		for i := 0; i < 2 && action.Coordinate != nil; i++ {
			d.pointer[i] = min(max((2*action.Coordinate[i]+1)*screen[i]/(2*size[i]), 0), screen[i]-1)
		}
		return answer, nil
	})
}

// WatchDesktop implements client.Client. The server says which protocol it speaks, and no
// more.
func (a *Agent) WatchDesktop(ctx context.Context) (net.Conn, error) {
	return onDesktop(ctx, a, scopeView, func(d *desktop) (net.Conn, error) {
		d.running = true
		ours, theirs := net.Pipe()
		context.AfterFunc(ctx, func() { _ = theirs.Close() })
		go func() {
			_, _ = io.WriteString(theirs, "RFB 003.008\n")
			_, _ = io.Copy(io.Discard, theirs)
		}()
		return ours, nil
	})
}

// StartRecording implements client.Client.
func (a *Agent) StartRecording(ctx context.Context, id string) error {
	_, err := onDesktop(ctx, a, scopeDesktop, func(d *desktop) (struct{}, error) {
		if len(id) != 36 {
			return struct{}{}, refuse(http.StatusBadRequest, "recording_id is a UUID")
		}
		if d.recordings == nil {
			d.recordings = map[string]bool{}
		}
		d.recordings[id] = true
		return struct{}{}, nil
	})
	return err
}

// StopRecording implements client.Client.
func (a *Agent) StopRecording(ctx context.Context, id string, video io.Writer) ([]byte, error) {
	return onDesktop(ctx, a, scopeDesktop, func(d *desktop) ([]byte, error) {
		if !d.recordings[id] {
			return nil, refuse(http.StatusNotFound, "there is no such recording")
		}
		delete(d.recordings, id)
		var b bytes.Buffer
		_, err := io.WriteString(video, "\x00\x00\x00\x14ftypisom\x00\x00\x02\x00isom") // the head of an MP4
		err = errors.Join(err, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 48, 30)), nil))
		return b.Bytes(), err
	})
}
