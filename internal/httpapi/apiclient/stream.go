package apiclient

import (
	"context"
	"io"
	"time"
)

// moving is a context that ends when no data has moved for some time.
type moving struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

// moving starts the timer, with the server's intended delay added.
func (s *Server) moving(ctx context.Context, wait time.Duration) *moving {
	m := &moving{idle: s.opts.Timeout}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	m.timer = time.AfterFunc(m.idle+wait, func() { m.cancel(context.DeadlineExceeded) })
	return m
}

// moved restarts the timer.
func (m *moving) moved() { m.timer.Reset(m.idle) }

func (m *moving) end() {
	m.timer.Stop()
	m.cancel(context.Canceled)
}

// movingReader reports reads of a content that is sent.
type movingReader struct {
	content io.Reader
	m       *moving
}

// Read implements io.Reader.
func (r *movingReader) Read(p []byte) (int, error) {
	n, err := r.content.Read(p)
	if n > 0 {
		r.m.moved()
	}
	return n, err
}

// Stream makes a request and returns the body of its answer, which the caller closes. It ends
// with ctx, or when nothing has arrived for Options.Timeout.
func (s *Server) Stream(ctx context.Context, r Request) (io.ReadCloser, error) {
	m := s.moving(ctx, r.Wait)
	resp, err := s.Open(m.ctx, r) //nolint:bodyclose // the stream's Close does
	if err != nil {
		m.end()
		return nil, err
	}
	m.moved()
	return &stream{server: s, m: m, body: resp.Body}, nil
}

// stream is the body of an answer.
type stream struct {
	server *Server
	m      *moving
	body   io.ReadCloser
}

// Read implements io.Reader.
func (b *stream) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		b.m.moved()
	}
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader has it
		err = b.server.Unreachable(b.m.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *stream) Close() error {
	b.m.end()
	return b.body.Close()
}
