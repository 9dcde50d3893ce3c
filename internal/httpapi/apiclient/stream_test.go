package apiclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/internal/httpapi/apiclient"
)

const timeout = time.Minute

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func server(f roundTrip) *apiclient.Server {
	return apiclient.New(apiclient.Options{
		Name: "agent", Where: "a.sock", Base: "http://agent", Token: "s3cret", Timeout: timeout, Transport: f,
		Unreachable: func(err error) error { return err },
	})
}

// slow is a content that takes its time for each byte, and ends after some.
type slow struct {
	ctx  context.Context
	each time.Duration
	left int
}

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(s.each):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	s.left--
	p[0] = 'x'
	return 1, nil
}

func (s *slow) Close() error { return nil }

// TestStreamMoves: a stream may take longer than any call, and doesn't stand still
// for as long as one.
func TestStreamMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			each time.Duration
			want error
		}{{timeout - 1, nil}, {timeout + 1, context.DeadlineExceeded}} {
			down := server(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: &slow{r.Context(), c.each, 5}}, nil
			})
			body, err := down.Stream(t.Context(), apiclient.Get("/f"))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(body)
			if !errors.Is(err, c.want) || err == nil && len(data) != 5 {
				t.Errorf("down, %s each: %q, %v", c.each, data, err)
			}
			if err := body.Close(); err != nil {
				t.Error(err)
			}

			up := server(func(r *http.Request) (*http.Response, error) {
				if media := r.Header.Get("Content-Type"); media != "application/octet-stream" {
					t.Errorf("the content is %s", media)
				}
				data, err := io.ReadAll(r.Body)
				if err = errors.Join(err, r.Context().Err()); err != nil || len(data) != 5 {
					return nil, err
				}
				return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			err = up.Send(ctx, apiclient.Request{Method: http.MethodPost, Path: "/f", Content: &slow{ctx, c.each, 5}})
			if cancel(); !errors.Is(err, c.want) {
				t.Errorf("up, %s each: %v", c.each, err)
			}
		}
	})
}

// TestStreamEnds: what isn't begun isn't waited for, and what the caller leaves
// ends.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		silent := server(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		if _, err := silent.Stream(t.Context(), apiclient.Get("/f")); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Errorf("no answer: %v after %s", err, time.Since(began))
		}
		var inside context.Context
		left := server(func(r *http.Request) (*http.Response, error) {
			inside = r.Context()
			return &http.Response{StatusCode: 200, Body: &slow{r.Context(), time.Hour, 1}}, nil
		})
		body, err := left.Stream(t.Context(), apiclient.Get("/f"))
		if err != nil {
			t.Fatal(err)
		}
		if err := body.Close(); err != nil || inside.Err() == nil {
			t.Errorf("closed: %v, %v", err, inside.Err())
		}
		refusing := server(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 403, Body: io.NopCloser(strings.NewReader(`{"message":"no","detail":"never"}`))}, nil
		})
		if _, err := refusing.Stream(t.Context(), apiclient.Get("/f")); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("refused: %v", err)
		}
	})
}

// TestWith: what every request has in addition.
func TestWith(t *testing.T) {
	var got http.Header
	s := server(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	})
	one := s.With(http.Header{"A": {"1"}, "B": {"1"}})
	two := one.With(http.Header{"A": {"2"}, "B": nil})
	for _, c := range []struct {
		server *apiclient.Server
		a, b   string
	}{{s, "", ""}, {one, "1", "1"}, {two, "2", ""}} {
		if err := c.server.Send(t.Context(), apiclient.Get("/")); err != nil {
			t.Fatal(err)
		}
		if got.Get("A") != c.a || got.Get("B") != c.b || got.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("headers are %v", got)
		}
	}
}
