package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

const (
	// maxRecordings is how many recordings there may be at a time.
	maxRecordings = 4
	// thumbnailSide is the longest side of a thumbnail, in pixels.
	thumbnailSide = 480
	// finishTime is how long writing the end of a recording may take.
	finishTime = time.Minute
	// filter leaves out pictures that show nothing new, and makes pauses at most half a
	// second long.
	filter = "mpdecimate,setpts='if(isnan(PREV_OUTPTS),0,PREV_OUTPTS+min(PTS-PREV_INPTS,0.5/TB))'"
)

// recording is a recording that somebody has started.
type recording struct {
	file     string
	desktop  *session
	recorder *started
	asked    atomic.Bool // the recorder was told to end
	taken    atomic.Bool // somebody waits for the end
	// ended is closed when there is nothing more to record; what follows is set before.
	ended     chan struct{}
	err       error // nil if the file is there
	thumbnail []byte
}

// recordingOf returns the recording that a call is about, or nil, and its id.
func (s *Service) recordingOf(c *httpapi.Call) (*recording, string, error) {
	var body agentapi.DesktopRecording
	if err := c.Decode(&body); err != nil {
		return nil, "", err
	}
	id, err := uuid.Parse(body.ID)
	if err != nil {
		return nil, "", &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "recording_id is a UUID"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recordings[id.String()], id.String(), nil
}

// startRecording answers POST /api/v0/desktop/recording/start. A recording with this id that
// is under way goes on.
func (s *Service) startRecording(c *httpapi.Call) error {
	if s.recording.Acquire(c.Context(), 1) != nil {
		return context.Cause(c.Context())
	}
	defer s.recording.Release(1)
	r, id, err := s.recordingOf(c)
	switch {
	case err != nil:
		return err
	case r != nil:
		return c.JSON(http.StatusOK, agentapi.DesktopMessage{Message: "It is being recorded already"})
	}
	s.mu.Lock()
	full := len(s.recordings) >= maxRecordings
	s.mu.Unlock()
	if full {
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: fmt.Sprintf("there are %d recordings: stop one", maxRecordings)}
	}
	if r, err = s.record(c.Context(), filepath.Join(s.opts.Dir, id+".mp4")); err != nil {
		return s.failed(c, err)
	}
	s.mu.Lock()
	s.recordings[id] = r
	s.mu.Unlock()
	return c.JSON(http.StatusOK, agentapi.DesktopMessage{Message: "Recording started"})
}

// record starts the recorder, and returns when it records.
func (s *Service) record(ctx context.Context, file string) (_ *recording, err error) {
	now := s.opts.Settings()
	program, err := now.programs()[2].find()
	if err != nil {
		return nil, err
	}
	r := &recording{file: file, ended: make(chan struct{})}
	if r.desktop, err = s.acquire(ctx); err != nil {
		return nil, err
	}
	r.recorder, err = s.run(ctx, "ffmpeg", r.desktop, program, "-nostats", "-loglevel", "error", "-progress", "pipe:1",
		"-f", "x11grab", "-framerate", "12", "-i", r.desktop.display, "-vf", filter, "-fps_mode", "vfr",
		"-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
		"-fs", strconv.FormatInt(now.MaxRecording, 10), "-y", file)
	if err != nil {
		s.release()
		return nil, err
	}
	go s.watchRecording(r, now)
	return r, nil
}

// watchRecording ends a recording when nothing happens on the desktop, and when the recorder
// ends.
func (s *Service) watchRecording(r *recording, now Settings) {
	var code int
	var err error
	var asked bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		code, err = r.recorder.Wait(context.Background())
		asked = r.asked.Load()
	}()
underway:
	for rest := now.RecordIdle; rest > 0; rest = now.RecordIdle - s.quiet(r.desktop) {
		select {
		case <-over:
			break underway
		case <-r.desktop.ended:
			break underway
		case <-time.After(rest):
		}
	}
	r.finish()
	select {
	case <-over:
	case <-time.After(finishTime):
	}
	_ = r.recorder.Close()
	<-over
	info, missing := os.Stat(r.file)
	select {
	case <-r.desktop.ended:
		r.err = &problem.Error{Code: http.StatusInternalServerError, Message: "the recording is lost", Detail: errtext.Of(r.desktop.why)}
	default:
		switch {
		case err != nil || code != 0 || missing != nil:
			r.err = &problem.Error{Code: http.StatusInternalServerError, Message: "the recording is lost", Detail: fmt.Sprintf("ffmpeg has ended with code %d: %s", code, r.recorder.said())}
		case !asked || info.Size() >= now.MaxRecording: // by itself it ends once it has passed the limit
			r.err = &problem.Error{Code: http.StatusRequestEntityTooLarge, Message: "the recording has become too large", Detail: "it was dropped"}
		}
	}
	if r.err != nil {
		s.opts.Logger.Warn("a recording has failed", slog.Any("error", r.err))
		_ = os.Remove(r.file)
	}
	s.release()
	close(r.ended)
}

// quiet returns for how long nobody has acted on the desktop, or looked at it.
func (s *Service) quiet(d *session) (quiet time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := d.do(ctx, func(x *display) (err error) {
		quiet, err = x.quiet()
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := time.Since(s.used); err != nil || used < quiet {
		return used
	}
	return quiet
}

// finish asks the recorder to write the end of the file, once, and makes the thumbnail.
func (r *recording) finish() {
	if r.asked.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	_ = r.desktop.do(ctx, func(x *display) error {
		if err := x.look(); err != nil {
			return err
		}
		img, err := x.picture()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		err = jpeg.Encode(&b, resized(img, fitting(x.size, thumbnailSide)), nil)
		r.thumbnail = b.Bytes()
		return err
	})
	_, _ = io.WriteString(r.recorder.Stdin(), "q")
}

// stopRecording answers POST /api/v0/desktop/recording/stop with the recording, and forgets
// it then.
func (s *Service) stopRecording(c *httpapi.Call) error {
	r, id, err := s.recordingOf(c)
	switch {
	case err != nil:
		return err
	case r == nil:
		return &problem.Error{Code: http.StatusNotFound, Message: "there is no such recording"}
	case r.taken.Swap(true):
		return &problem.Error{Code: http.StatusServiceUnavailable, Message: "the recording is ending", Detail: "ask again"}
	}
	defer func() {
		s.mu.Lock()
		delete(s.recordings, id)
		s.mu.Unlock()
		_ = os.Remove(r.file)
	}()
	r.finish()
	select {
	case <-r.ended:
	case <-c.Context().Done():
		return context.Cause(c.Context())
	}
	if r.err != nil {
		return r.err
	}
	return r.send(c)
}

// send answers with the recording and its thumbnail.
func (r *recording) send(c *httpapi.Call) error {
	file, err := os.Open(r.file)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	m := multipart.NewWriter(flusher{c})
	c.Writer().Header().Set("Content-Type", "multipart/mixed; boundary="+m.Boundary())
	c.Stream()
	part := func(kind string, body io.Reader) error {
		w, err := m.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}})
		if err == nil {
			_, err = io.Copy(w, body)
		}
		return err
	}
	err = part("video/mp4", file)
	if err == nil && len(r.thumbnail) > 0 {
		err = part("image/jpeg", bytes.NewReader(r.thumbnail))
	}
	return errors.Join(err, m.Close())
}

// flusher writes parts of a streamed answer.
type flusher struct{ *httpapi.Call }

func (f flusher) Write(p []byte) (int, error) { return len(p), f.Flush(p) }
