package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// echo answers with the name of its route and its parameters.
func echo(name string, args ...string) httpapi.Handler {
	return func(c *httpapi.Call) error {
		for _, arg := range args {
			name += fmt.Sprintf(" %s=%q", arg, c.Arg(arg))
		}
		c.Send(http.StatusOK, "text/plain", []byte(name))
		return nil
	}
}

func get(pattern string, handle httpapi.Handler) httpapi.Route {
	return httpapi.Route{Method: http.MethodGet, Pattern: pattern, Handle: handle}
}

func mount(opts httpapi.Options, routes ...httpapi.Route) *httpapi.Router {
	return httpapi.New(opts, httpapi.Service{Routes: routes})
}

// serve answers one request and returns the status and the body.
func serve(h http.Handler, method, target, body string) (int, string) {
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(method, target, strings.NewReader(body)))
	return recorder.Code, strings.TrimSuffix(recorder.Body.String(), "\n")
}

// TestUndecided: a route can't be mounted that nobody guards, or that doesn't say to
// the guard what it does.
func TestUndecided(t *testing.T) {
	guard := func(*httpapi.Call, *httpapi.Route) error { return nil }
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		for _, guarded := range []bool{true, false} {
			for effect := range httpapi.Fenced + 1 {
				for _, scope := range []string{"", "files"} {
					wrong := guarded && effect == 0 && method != "GET" || !guarded && scope != ""
					func() {
						defer func() {
							if (recover() != nil) != wrong {
								t.Errorf("%s, guarded %v, effect %d, scope %q: it should panic: %v", method, guarded, effect, scope, wrong)
							}
						}()
						opts := httpapi.Options{}
						if guarded {
							opts.Guard = guard
						}
						mount(opts, httpapi.Route{Method: method, Pattern: "/x", Scope: scope, Effect: effect, Handle: echo("x")})
					}()
				}
			}
		}
	}
}

// TestPatterns: which route a path has, and what its parameters are.
func TestPatterns(t *testing.T) {
	for target, want := range map[string]string{
		"/processes/list":               "list",
		"/processes/list/output":        `output id="list"`,
		"/processes/7/output":           `output id="7"`,
		"/processes/a%2Fb%20%25/output": `output id="a/b %"`,
		"/processes/tokens/x":           `token token="x"`,
		"/processes/tokens/output":      `token token="output"`,
		"/files/a/b":                    `files path="a/b"`,
		"/files//a/../b%2F%3F":          `files path="/a/../b/?"`,
		"/files/%2F":                    `files path="/"`,
		"/files/list":                   "file list",
		"/files/list/":                  `files path="list/"`,

		"/processes/7":          "404",
		"/processes//output":    "404",
		"/processes/7/output/":  "404",
		"/processes/7/8/output": "404",
		"/files/":               "404",
		"/files":                "404",
		"/":                     "404",
		"/processes%2Flist":     "404",
	} {
		router := mount(httpapi.Options{},
			get("/processes/list", echo("list")),
			get("/processes/{id}/output", echo("output", "id")),
			get("/processes/tokens/{token}", echo("token", "token")),
			get("/files/{path...}", echo("files", "path")),
			get("/files/list", echo("file list")))
		code, body := serve(router, http.MethodGet, target, "")
		if code == http.StatusNotFound {
			body = "404"
		}
		if body != want {
			t.Errorf("%s: got %d %s, want %s", target, code, body, want)
		}
	}
}

// TestMethods: HEAD is GET, another method is told which there are.
func TestMethods(t *testing.T) {
	router := mount(httpapi.Options{}, get("/x/{id}", echo("get")), httpapi.Route{Method: http.MethodDelete, Pattern: "/x/{id}", Handle: echo("delete")})
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "DELETE": 200, "POST": 405, "OPTIONS": 405} {
		recorder := httptest.NewRecorder()
		router.ServeHTTP(recorder, httptest.NewRequest(method, "/x/1", nil))
		if recorder.Code != want || want == 405 && recorder.Header().Get("Allow") != "DELETE, GET, HEAD" {
			t.Errorf("%s: got %d, Allow %q", method, recorder.Code, recorder.Header().Get("Allow"))
		}
	}
}

// TestBadRoutes: what can't be right is found when the routes are mounted.
func TestBadRoutes(t *testing.T) {
	for name, routes := range map[string][]httpapi.Route{
		"twice":         {get("/a", echo("")), get("/a", echo(""))},
		"other names":   {get("/{a}", echo("")), {Method: "PUT", Pattern: "/{b}", Handle: echo("")}},
		"rest in front": {get("/{a...}/b", echo(""))},
		"half a brace":  {get("/{a/b", echo(""))},
		"no name":       {get("/{}", echo(""))},
		"no slash":      {get("a", echo(""))},
		"no handler":    {get("/a", nil)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is mounted", name)
				}
			}()
			mount(httpapi.Options{}, routes...)
		}()
	}
}

// TestErrors: each has its code, headers and form.
func TestErrors(t *testing.T) {
	handlers := map[string]httpapi.Handler{
		"/own":     func(*httpapi.Call) error { return &problem.Error{Code: 418, Message: "a teapot", Detail: "short"} },
		"/other":   func(*httpapi.Call) error { return errors.New("secret") },
		"/strange": func(*httpapi.Call) error { return &problem.Error{Code: 200, Message: "fine"} },
		"/panic":   func(*httpapi.Call) error { panic("secret") },
		"/busy":    func(*httpapi.Call) error { return &problem.Error{Code: 429, Message: "busy"} },
		"/known":   func(*httpapi.Call) error { return errKnown },
	}
	var routes []httpapi.Route
	for path, handle := range handlers {
		routes = append(routes, httpapi.Route{Method: "GET", Pattern: path, Handle: handle, Failed: "nothing came of " + path})
	}
	router := mount(httpapi.Options{
		Name: "hub", RetryAfter: 7,
		Admit: func(r *http.Request) (context.Context, error) {
			if r.URL.Path == "/locked" {
				return nil, &problem.Error{Code: 401, Message: "unauthorized"}
			}
			return r.Context(), nil
		},
		Classify: func(c *httpapi.Call, err error) *problem.Error {
			if errors.Is(err, errKnown) {
				return &problem.Error{Code: 409, Message: c.Failed(), Detail: err.Error()}
			}
			return nil
		},
	}, routes...)
	internal := `500 {"message":"internal error","detail":"see the hub's log"}`
	for path, want := range map[string]string{
		"/own": `418 {"message":"a teapot","detail":"short"}`, "/other": internal, "/strange": internal, "/panic": internal,
		"/busy":   `429 {"message":"busy","detail":""} Retry-After: 7`,
		"/known":  `409 {"message":"nothing came of /known","detail":"known"}`,
		"/locked": `401 {"message":"unauthorized","detail":""}`,
		"/none":   `404 {"message":"no such route","detail":"GET /none"}`,
	} {
		recorder := httptest.NewRecorder()
		router.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		header := recorder.Header()
		got := fmt.Sprint(recorder.Code, " ", strings.TrimSuffix(recorder.Body.String(), "\n"))
		if after := header.Get("Retry-After"); after != "" {
			got += " Retry-After: " + after
		}
		if got != want || header.Get("Content-Type") != "application/json" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got %s, %v; want %s", path, got, header, want)
		}
	}
}

var errKnown = errors.New("known")

// TestGone: that who asked has gone is no failure of ours. What is canceled while somebody
// waits is one, and so is anything else that goes wrong.
func TestGone(t *testing.T) {
	for name, test := range map[string]struct {
		gone bool
		err  error
		want string
	}{
		"gone":              {true, fmt.Errorf("list agents: %w", context.Canceled), ""},
		"canceled by us":    {false, context.Canceled, "level=ERROR"},
		"gone, and trouble": {true, errors.New("the disk is full"), "level=ERROR"},
	} {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		router := mount(httpapi.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, get("/", func(*httpapi.Call) error {
			if test.gone {
				cancel()
			}
			return test.err
		}))
		router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		cancel()
		if got := log.String(); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: the log says %q, want %q", name, got, test.want)
		}
	}
}

// TestHalfAnswer: an answer that has begun when its handler fails doesn't look
// whole.
func TestHalfAnswer(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("broken") },
		"panic": func() error { panic("broken") },
	} {
		server := httptest.NewServer(mount(httpapi.Options{}, get("/", func(c *httpapi.Call) error {
			_, _ = io.WriteString(c.Writer(), strings.Repeat("half", 1<<12))
			return fail()
		})))
		if resp, err := http.Get(server.URL + "/"); err == nil {
			if _, err = io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s: half an answer looks whole", name)
			}
			_ = resp.Body.Close()
		}
		server.Close()
	}
}

// TestLimits: bodies are bounded for each route, JSON or not.
func TestLimits(t *testing.T) {
	raw := func(c *httpapi.Call) error {
		data, err := io.ReadAll(c.Body)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, len(data))
	}
	router := mount(httpapi.Options{MaxBody: 10},
		httpapi.Route{Method: "PUT", Pattern: "/small", Handle: raw},
		httpapi.Route{Method: "PUT", Pattern: "/large", Handle: raw, MaxBody: 2 << 10})
	for _, c := range []struct {
		path string
		size int
		want string
	}{
		{"/small", 10, "200 10"},
		{"/small", 11, `413 {"message":"the body is too large","detail":"at most 10 bytes are read"}`},
		{"/large", 2 << 10, "200 2048"},
		{"/large", 3 << 10, `413 {"message":"the body is too large","detail":"at most 2 KiB are read"}`},
	} {
		code, body := serve(router, "PUT", c.path, strings.Repeat("x", c.size))
		if got := fmt.Sprint(code, " ", body); got != c.want {
			t.Errorf("%s, %d bytes: got %s, want %s", c.path, c.size, got, c.want)
		}
	}
}

// TestDeadlines: a route's own deadlines hold, whatever the server's are.
func TestDeadlines(t *testing.T) {
	causes := make(chan error, 2)
	wait := func(c *httpapi.Call) error {
		_, err := io.ReadAll(c.Body)
		if err == nil {
			<-c.Context().Done()
			err = context.Cause(c.Context())
		}
		causes <- err
		if c.Arg("code") == "" {
			return err
		}
		c.Send(http.StatusAccepted, "text/plain", []byte("late"))
		return nil
	}
	server := httptest.NewUnstartedServer(mount(httpapi.Options{},
		httpapi.Route{Method: "POST", Pattern: "/late/{code}", Handle: wait, Timeout: 200 * time.Millisecond},
		httpapi.Route{Method: "POST", Pattern: "/body", Handle: wait, BodyTimeout: 50 * time.Millisecond}))
	server.Config.WriteTimeout = 50 * time.Millisecond
	server.Config.ReadTimeout = 10 * time.Minute
	server.Start()
	defer server.Close()
	resp, err := http.Post(server.URL+"/late/x", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatalf("an answer after the server's own deadline: %v", err)
	}
	_ = resp.Body.Close()
	if cause := <-causes; resp.StatusCode != http.StatusAccepted || !errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("got %s; the context ended with %v", resp.Status, cause)
	}
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if cause := <-causes; !errors.As(cause, &timeout) || !timeout.Timeout() {
		t.Errorf("a body that doesn't come ends with %v", cause)
	}
}

// TestContentType: JSON says that it is JSON, but for routes that take it
// without a word.
func TestContentType(t *testing.T) {
	decode := func(c *httpapi.Call) error {
		var body struct{ A int }
		if err := c.Decode(&body); err != nil {
			return err
		}
		return c.NoContent()
	}
	router := mount(httpapi.Options{},
		httpapi.Route{Method: http.MethodPost, Pattern: "/typed", Handle: decode},
		httpapi.Route{Method: http.MethodPost, Pattern: "/untyped", Handle: decode, Untyped: true})
	for _, c := range []struct {
		path, kind string
		want       int
	}{
		{"/typed", "application/json", 204}, {"/typed", "", 415}, {"/typed", "text/plain", 415},
		{"/untyped", "application/json; charset=utf-8", 204}, {"/untyped", "", 204}, {"/untyped", "text/plain", 415}, {"/untyped", "/", 415},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(`{"A":1}`))
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		recorder := httptest.NewRecorder()
		router.ServeHTTP(recorder, r)
		if recorder.Code != c.want {
			t.Errorf("%s %q: got %d, want %d", c.path, c.kind, recorder.Code, c.want)
		}
	}
}

// TestDone: who asked for it is told of every end, with the status that was answered.
func TestDone(t *testing.T) {
	got := -1
	router := mount(httpapi.Options{}, get("/{how}", func(c *httpapi.Call) error {
		c.Done(func(status int) { got = status })
		switch c.Arg("how") {
		case "panic":
			panic("x")
		case "error":
			return &problem.Error{Code: http.StatusConflict, Message: "no"}
		}
		return c.NoContent()
	}))
	for how, want := range map[string]int{"well": http.StatusNoContent, "error": http.StatusConflict, "panic": http.StatusInternalServerError} {
		if serve(router, http.MethodGet, "/"+how, ""); got != want {
			t.Errorf("%s: told of %d, want %d", how, got, want)
		}
	}
}
