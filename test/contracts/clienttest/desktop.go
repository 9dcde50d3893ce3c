package clienttest

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/jpeg" // of thumbnails
	_ "image/png"  // of pictures
	"io"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/test/testenv"
)

// desktop: actions, watching, recording, and who may.
func (s *suite) desktop() {
	if state, err := s.c.DesktopState(s.ctx); err != nil || state.Running {
		s.Fatalf("at first: %+v, %v", state, err)
	} else if s.has.Desktop {
		testenv.NeedsPrograms(s, "Xvnc", "openbox", "ffmpeg")
	}
	act := func(a agentapi.DesktopAction) *agentapi.DesktopResult {
		s.Helper()
		done, err := s.c.DesktopAction(s.ctx, a)
		s.must(err)
		return done
	}
	if done := act(agentapi.DesktopAction{Action: "mouse_move", Coordinate: []int{40, 30}}); done.Output != "mouse_move action performed" {
		s.Errorf("it says %q", done.Output)
	}
	if state, err := s.c.DesktopState(s.ctx); err != nil || !state.Running || state.Display == "" || state.Xauthority == "" {
		s.Errorf("after an action: %+v, %v", state, err)
	}
	if done := act(agentapi.DesktopAction{Action: "cursor_position"}); done.Output != "x=40,y=30" {
		s.Errorf("the pointer is at %s", done.Output)
	}
	half := agentapi.DesktopAction{Action: "screenshot", ScaledWidth: 640, ScaledHeight: 400}
	done := act(half)
	data, err := base64.StdEncoding.DecodeString(done.ScreenshotData)
	s.must(err)
	img, kind, err := image.Decode(bytes.NewReader(data))
	s.must(err)
	if kind != "png" || img.Bounds() != image.Rect(0, 0, 640, 400) || done.ScreenshotWidth != 640 || done.ScreenshotHeight != 400 || done.Width != 1280 || done.Height != 800 {
		s.Errorf("a picture: %s %v, of %d × %d", kind, img.Bounds(), done.Width, done.Height)
	}
	half.Action, half.Coordinate = "left_click", []int{100, 50}
	act(half)
	if done := act(agentapi.DesktopAction{Action: "cursor_position"}); done.Output != "x=201,y=101" {
		s.Errorf("scaled, the pointer is at %s", done.Output)
	}
	for _, bad := range []agentapi.DesktopAction{
		{}, {Action: "fly"}, {Action: "key"}, {Action: "type", Text: ""}, {Action: "scroll"}, {Action: "left_click_drag", Coordinate: []int{1, 1}},
		{Action: "screenshot", ScaledWidth: 100}, {Action: "wait", Duration: new(-1)}, {Action: "scroll", Coordinate: []int{1, 1}, ScrollDirection: "in"},
	} {
		_, err := s.c.DesktopAction(s.ctx, bad)
		s.code("an action that can't be", err, 400)
	}

	view, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Scopes: []string{"desktop-view"}})
	s.must(err)
	other, err := s.c.CreateToken(s.ctx, agentapi.NewToken{})
	s.must(err)
	plan, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Scopes: []string{"desktop"}, Plan: s.env.Root() + "/PLAN.md"})
	s.must(err)
	watch := func(c client.Client) error {
		conn, err := c.WatchDesktop(s.ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		hello := make([]byte, 12)
		if _, err = io.ReadFull(conn, hello); string(hello) != "RFB 003.008\n" {
			s.Errorf("it begins with %q", hello)
		}
		return err
	}
	id := uuid.NewString()
	s.must(watch(s.c))
	s.must(watch(s.env.WithToken(view.Secret)))
	for _, c := range []struct {
		token string
		views bool
		code  int
	}{{"", false, 401}, {view.Secret, true, 403}, {other.Secret, false, 403}, {plan.Secret, false, 403}} {
		who := s.env.WithToken(c.token)
		_, acts := who.DesktopAction(s.ctx, agentapi.DesktopAction{Action: "cursor_position"})
		_, starts := who.StartDesktop(s.ctx)
		_, fetches := who.StopRecording(s.ctx, id, io.Discard)
		for what, err := range map[string]error{"acts": acts, "starts": starts, "stops": who.StopDesktop(s.ctx), "records": who.StartRecording(s.ctx, id), "fetches": fetches} {
			s.code(what, err, c.code)
		}
		if _, err := who.DesktopState(s.ctx); c.views {
			s.code("looks", err, 0)
		} else {
			s.code("looks", err, c.code)
			s.code("watches", watch(who), c.code)
		}
	}

	_, err = s.c.StopRecording(s.ctx, id, io.Discard)
	s.code("a recording that isn't", err, 404)
	s.code("no id", s.c.StartRecording(s.ctx, "x"), 400)
	s.must(s.c.StartRecording(s.ctx, id))
	s.must(s.c.StartRecording(s.ctx, id))
	act(agentapi.DesktopAction{Action: "mouse_move", Coordinate: []int{400, 300}})
	var video bytes.Buffer
	thumbnail, err := s.c.StopRecording(s.ctx, id, &video)
	s.must(err)
	if !bytes.Contains(video.Bytes()[:min(video.Len(), 12)], []byte("ftyp")) {
		s.Errorf("no film: %.12q", video.Bytes())
	}
	if _, kind, err := image.DecodeConfig(bytes.NewReader(thumbnail)); err != nil || kind != "jpeg" {
		s.Errorf("a thumbnail: %s, %v", kind, err)
	}
	_, err = s.c.StopRecording(s.ctx, id, io.Discard)
	s.code("a recording that was fetched", err, 404)

	s.must(s.c.StopDesktop(s.ctx))
	if state, err := s.c.DesktopState(s.ctx); err != nil || state.Running || state.Display != "" {
		s.Errorf("afterwards: %+v, %v", state, err)
	}
	state, err := s.c.StartDesktop(s.ctx)
	if err != nil || !state.Running || state.Width != 1280 || state.Height != 800 {
		s.Errorf("started again: %+v, %v", state, err)
	}
}
