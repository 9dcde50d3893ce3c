// Package apiclient makes calls to Waymark's HTTP APIs: one call at a time ([Server.Do],
// [Fetch]), streams of bytes in either direction (Request.Content, [Server.Stream]), and
// [Follow], which reconnects to a server after lost connections and restarts.
//
// # Guarantees
//
//   - Every call ends: with its context, or after Options.Timeout if the context has no
//     deadline. A stream ends when no data has moved for that long.
//   - An answer that is read as a whole is never read beyond 64 MiB.
//   - The token goes only to the server: redirects aren't followed.
//
// # Errors
//
// *problem.Error if the server refuses; the result of Options.Unreachable if nobody answers;
// the context's error if it ended first.
//
// # Concurrency
//
// A Server may be used by any number of goroutines. It needs no Close.
package apiclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/httpapi/problem"
)

// maxAnswer bounds what is read: a snapshot has at most 4,000 resources of some KiB each, and
// a diff some MiB of text.
const maxAnswer = 64 << 20

// Options say where a server is and how to call it. All but Token must be set.
type Options struct {
	// Name is what the server is called in errors: "agent" or "hub".
	Name string
	// Where says in errors where it is.
	Where string
	// Base is the beginning of all URLs.
	Base string
	// Err is returned by every call if there is no valid address; usually nil.
	Err error
	// Token is sent as "Authorization: Bearer".
	Token string
	// Timeout bounds calls whose context has no deadline, in addition to their Wait.
	Timeout time.Duration
	// Header is sent with every request, in addition.
	Header http.Header
	// Transport makes the connections.
	Transport http.RoundTripper
	// Unreachable says for a person why there is no answer.
	Unreachable func(err error) error
}

// Server is a server to be called.
type Server struct {
	opts Options
	http *http.Client
}

// New makes a Server. It connects with each call.
func New(opts Options) *Server {
	return &Server{opts: opts, http: &http.Client{
		Transport: opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a client with a token follows none
		},
	}}
}

// With returns a Server whose requests have additional headers, which replace those of the
// same names in Options.Header.
func (s *Server) With(header http.Header) *Server {
	opts := s.opts
	opts.Header = opts.Header.Clone()
	if opts.Header == nil {
		opts.Header = http.Header{}
	}
	maps.Copy(opts.Header, header)
	return &Server{opts: opts, http: s.http}
}

// errBase says that a URL can't be a base.
var errBase = errors.New("not http://HOST:PORT or https://HOST")

// ParseBase checks the URL of a server, and returns it without a trailing slash, for
// Options.Base.
func ParseBase(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errBase
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// servedWithin bounds a check of an address on this machine.
const servedWithin = time.Second

// Served returns nil if somebody listens at an address on this machine, including a socket
// whose queue is full.
func Served(ctx context.Context, network, address string) error {
	conn, err := (&net.Dialer{Timeout: servedWithin}).DialContext(ctx, network, address)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, syscall.EAGAIN):
		return nil
	}
	return err
}

// Request is a request. Method and Path must be set.
type Request struct {
	Method, Path string
	Query        url.Values
	ETag         string        // for If-None-Match
	Body         any           // sent as JSON; nil: none
	Content      io.Reader     // sent unchanged, in place of Body
	Wait         time.Duration // how long the server may take on purpose
}

// Get returns a GET request for the path.
func Get(path string) Request { return Request{Method: http.MethodGet, Path: path} }

// Answer is a complete answer.
type Answer struct {
	Code   int // 200 to 299, or 304
	ETag   string
	Header http.Header
	Body   []byte
}

// Do makes a request. Any answer but 2xx and 304 is a *problem.Error.
func (s *Server) Do(ctx context.Context, r Request) (*Answer, error) {
	if _, ok := ctx.Deadline(); !ok {
		m := s.moving(ctx, r.Wait)
		defer m.end()
		ctx = m.ctx
		if r.Content != nil {
			r.Content = &movingReader{content: r.Content, m: m}
		}
	}
	resp, err := s.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := &Answer{Code: resp.StatusCode, ETag: resp.Header.Get("ETag"), Header: resp.Header}
	if a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err != nil {
		return nil, s.Unreachable(ctx, err)
	}
	if len(a.Body) > maxAnswer {
		return nil, fmt.Errorf("the %s's answer is larger than %d MiB", s.opts.Name, maxAnswer>>20)
	}
	return a, nil
}

// Open is Do for a streamed answer. Only ctx ends it, and the caller closes the answer's
// body.
func (s *Server) Open(ctx context.Context, r Request) (*http.Response, error) {
	if s.opts.Err != nil {
		return nil, s.opts.Err
	}
	request, err := s.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := s.http.Do(request)
	if err != nil {
		return nil, s.Unreachable(ctx, err)
	}
	if resp.StatusCode != http.StatusNotModified && resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return nil, problem.Read(resp, s.opts.Name)
	}
	return resp, nil
}

func (s *Server) request(ctx context.Context, r Request) (*http.Request, error) {
	body, contentType := r.Content, "application/octet-stream"
	if r.Content == nil && r.Body != nil {
		data, err := json.Marshal(r.Body) // version 1 would change what isn't UTF-8
		if err != nil {
			return nil, fmt.Errorf("request can't be written: %w", err)
		}
		body, contentType = bytes.NewReader(data), "application/json"
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, s.URL(r), body)
	if err != nil {
		return nil, err
	}
	request.Header = s.Header()
	if body != nil {
		request.Header.Set("Content-Type", contentType)
	}
	if r.ETag != "" {
		request.Header.Set("If-None-Match", r.ETag)
	}
	return request, nil
}

// URL returns the URL of a request.
func (s *Server) URL(r Request) string {
	target := s.opts.Base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	return target
}

// Header returns the headers of every request, including the token.
func (s *Server) Header() http.Header {
	header := s.opts.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if s.opts.Token != "" {
		header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	return header
}

// HTTP returns the underlying client, which adds nothing to requests.
func (s *Server) HTTP() *http.Client { return s.http }

// Where returns Options.Where.
func (s *Server) Where() string { return s.opts.Where }

// Err returns Options.Err.
func (s *Server) Err() error { return s.opts.Err }

// Unreachable says for a person why an answer didn't arrive, or not completely.
func (s *Server) Unreachable(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // it repeats the URL
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no answer from the %s at %s: %w", s.opts.Name, s.opts.Where, context.Cause(ctx))
	}
	return s.opts.Unreachable(err)
}

// Decode reads the JSON of an answer. What is passed on in it, such as the schema of a tool
// that somebody else has written, may have a name twice, or half of a surrogate pair.
func Decode[T any](s *Server, a *Answer) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(a.Body, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("the %s's answer can't be read: %w", s.opts.Name, err)
	}
	return v, nil
}

// Fetch makes a request and reads the JSON of its answer.
func Fetch[T any](ctx context.Context, s *Server, r Request) (*T, error) {
	a, err := s.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return Decode[T](s, a)
}

// List is Fetch for a list.
func List[T any](ctx context.Context, s *Server, r Request) ([]T, error) {
	v, err := Fetch[[]T](ctx, s, r)
	if err != nil {
		return nil, err
	}
	return *v, nil
}

// Bytes makes a request and returns the body of its answer.
func (s *Server) Bytes(ctx context.Context, r Request) ([]byte, error) {
	a, err := s.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// Send makes a request and ignores the body of the answer.
func (s *Server) Send(ctx context.Context, r Request) error {
	_, err := s.Do(ctx, r)
	return err
}
