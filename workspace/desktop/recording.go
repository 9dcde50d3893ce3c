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
	"waymark/workspace/supervisor"
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
	svc      *Service
	file     string
	recorder supervisor.Owned
	said     func() string
	desktop  *session
	ready    atomic.Bool // it is under way, and the fields above are set
	stopping atomic.Bool // the recorder was told to end
	taken    atomic.Bool // somebody waits for the end
	// ended is closed when there is nothing more to record; what follows is set before.
	ended     chan struct{}
	err       *problem.Error // nil if the file is there
	thumbnail []byte
}

// startRecording answers POST /api/v0/desktop/recording/start. A recording with this id that
// is under way goes on.
func (s *Service) startRecording(c *httpapi.Call) error {
	id, err := recordingID(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	r, known := s.recordings[id]
	full := len(s.recordings) >= maxRecordings
	if !known && !full {
		s.recordings[id] = &recording{svc: s, file: filepath.Join(s.opts.Dir, id+".mp4"), ended: make(chan struct{})}
		r = s.recordings[id]
	}
	s.mu.Unlock()
	switch {
	case known:
		return c.JSON(http.StatusOK, agentapi.DesktopMessage{Message: "It is being recorded already"})
	case full:
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: fmt.Sprintf("there are %d recordings: stop one", maxRecordings)}
	}
	if err := r.start(c.Context()); err != nil {
		s.forget(id)
		return s.failed(c, err)
	}
	return c.JSON(http.StatusOK, agentapi.DesktopMessage{Message: "Recording started"})
}

func recordingID(c *httpapi.Call) (string, error) {
	var body agentapi.DesktopRecording
	if err := c.Decode(&body); err != nil {
		return "", err
	}
	id, err := uuid.Parse(body.ID)
	if err != nil {
		return "", &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: "recording_id is a UUID"}
	}
	return id.String(), nil
}

// forget drops a recording, and its file.
func (s *Service) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.recordings[id]; r != nil {
		_ = os.Remove(r.file)
		delete(s.recordings, id)
	}
}

// start starts the recorder, and returns when it records.
func (r *recording) start(ctx context.Context) (err error) {
	s := r.svc
	now := s.opts.Settings()
	program, err := ffmpeg.find(now.Recorder)
	if err != nil {
		return err
	}
	if r.desktop, err = s.acquire(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	r.recorder, err = s.own(ctx, true, r.desktop, program, "-nostats", "-loglevel", "error", "-progress", "pipe:1",
		"-f", "x11grab", "-framerate", "12", "-i", r.desktop.display, "-vf", filter, "-fps_mode", "vfr",
		"-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
		"-fs", strconv.FormatInt(now.MaxRecording, 10), "-y", r.file)
	if err != nil {
		return err
	}
	r.said = keep(r.recorder.Stderr())
	if _, err = firstLine(ctx, r.recorder); err != nil { // of its progress
		_ = r.recorder.Close()
		return fmt.Errorf("ffmpeg doesn't record: %s", r.said())
	}
	r.ready.Store(true)
	go r.watch(now.RecordIdle, now.MaxRecording)
	return nil
}

// isFull reports whether the recorder has come to the limit: it ends once it has passed it.
func (r *recording) isFull(limit int64) bool {
	info, err := os.Stat(r.file)
	return err == nil && info.Size() >= limit
}

// watch ends a recording when nothing happens on the desktop, and when the recorder ends.
func (r *recording) watch(idle time.Duration, limit int64) {
	var code int
	var err error
	var asked bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		code, err = r.recorder.Wait(context.Background())
		asked = r.stopping.Load()
	}()
underway:
	for rest := idle; rest > 0; rest = idle - r.svc.quiet() {
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
		_ = r.recorder.Close()
		<-over
	}
	_ = r.recorder.Close()
	lost := &problem.Error{Code: http.StatusInternalServerError, Message: "the recording is lost"}
	select {
	case <-r.desktop.ended:
		lost.Detail = errtext.Of(r.desktop.why)
		r.err = lost
	default:
		switch {
		case err != nil || code != 0:
			lost.Detail = fmt.Sprintf("ffmpeg has ended with code %d: %s", code, r.said())
			r.err = lost
		case !asked || r.isFull(limit): // by itself it ends at the limit alone
			r.err = &problem.Error{Code: http.StatusRequestEntityTooLarge, Message: "the recording has become too large", Detail: "it was dropped"}
		}
	}
	if r.err != nil {
		r.svc.opts.Logger.Warn("a recording has failed", slog.Any("error", r.err))
		_ = os.Remove(r.file)
	}
	r.svc.release()
	close(r.ended)
}

// finish asks the recorder to write the end of the file, once, and makes the thumbnail.
func (r *recording) finish() {
	if r.stopping.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	_ = r.desktop.do(ctx, func(c *rfb) error {
		img, err := c.picture()
		if err != nil {
			return err
		}
		s := step{DesktopAction: &agentapi.DesktopAction{Fit: thumbnailSide}}
		var b bytes.Buffer
		err = jpeg.Encode(&b, resized(img, s.size(c.size)), nil)
		r.thumbnail = b.Bytes()
		return err
	})
	_, _ = io.WriteString(r.recorder.Stdin(), "q")
}

// stopRecording answers POST /api/v0/desktop/recording/stop with the recording, and forgets
// it then.
func (s *Service) stopRecording(c *httpapi.Call) error {
	id, err := recordingID(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	r := s.recordings[id]
	s.mu.Unlock()
	switch {
	case r == nil:
		return &problem.Error{Code: http.StatusNotFound, Message: "there is no such recording"}
	case !r.ready.Load() || r.taken.Swap(true):
		return &problem.Error{Code: http.StatusServiceUnavailable, Message: "the recording is starting or ending", Detail: "ask again"}
	}
	defer s.forget(id)
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
