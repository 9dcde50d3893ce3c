package server_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/test/openapitest"
)

// TestRoutes tries every route with good and bad input, and compares every
// answer with the document, both ways: what is documented must have been seen.
func TestRoutes(t *testing.T) {
	document := openapitest.Document(t, server.Service(servertest.New()))
	doc := openapitest.Load(t, document)
	for _, c := range append(goodCases(), badCases()...) {
		t.Run(c.name, func(t *testing.T) {
			f := servertest.New()
			opts := server.Options{Backend: f, Metrics: fakeMetrics(), Document: document}
			if c.with != nil {
				c.with(f, &opts)
			}
			target := c.target
			if target == "" {
				target = c.path
			}
			r := request(c.method, target, c.body, c.headers...)
			resp := serve(server.New(opts), r)
			doc.Check(t, r, c.path, resp)
			text := body(t, resp)
			if resp.StatusCode != c.code || !strings.Contains(text, c.contains) {
				t.Errorf("got %d %s, want %d with %q", resp.StatusCode, text, c.code, c.contains)
			}
			if got := resp.Header.Get(c.header); c.header != "" && got != c.answer {
				t.Errorf("%s is %q, want %q", c.header, got, c.answer)
			}
			if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("the answer isn't secured: %v", resp.Header)
			}
		})
	}
	everywhere(t, doc, document)
	// That too many wait is a matter of TestWaitsAreBounded.
	list := slices.DeleteFunc(doc.Unseen(), func(key string) bool { return strings.HasSuffix(key, " 429") })
	if len(list) > 0 {
		t.Errorf("documented, but no answer was so: %q", list)
	}
	if list := doc.Undocumented(404, 405, 413, 415, 403, 421, 500, 501, 503, 504, 400, 409); len(list) > 0 {
		t.Errorf("answered, but not documented: %q", list)
	}
}

func fakeMetrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte("waymark_up 1\n"))
	})
}

// everywhere tries what must hold for all routes.
func everywhere(t *testing.T, doc *openapitest.Checker, document []byte) {
	stopping, stop := context.WithCancelCause(t.Context())
	stop(server.ErrStopping)
	blocked := servertest.New()
	blocked.Block = true
	slow := server.New(server.Options{Backend: blocked, Timeout: time.Nanosecond, Document: document})
	full := server.New(server.Options{Backend: servertest.New(), Token: "secret", Document: document})
	for path, methods := range server.Routes(servertest.New()) {
		target := strings.NewReplacer("{id}", "skill:%2Fx", "{path}", "%2Fx").Replace(path)
		allowed := map[string]bool{}
		for _, method := range methods {
			allowed[method] = true
			body := ""
			switch {
			case path == sourcesPath && method == "POST", path == rootPath:
				body = `{"path":"/x"}`
			case path == approvePath:
				body = `{"name":"acme","digest":"2c26"}`
			}
			try := func(name string, h http.Handler, r *http.Request, want ...int) {
				resp := serve(h, r)
				doc.Check(t, r, path, resp)
				for _, code := range want {
					if resp.StatusCode == code {
						return
					}
				}
				t.Errorf("%s %s %s: got %d", name, method, path, resp.StatusCode)
			}
			if path != healthPath {
				try("no token", full, overTCP(request(method, "http://localhost"+target, body), "127.0.0.1:1"), 401)
				try("a wrong token", full, overTCP(request(method, "http://localhost"+target, body, "Authorization", "Bearer secrets"), "127.0.0.1:1"), 401)
			}
			r := request(method, target, body)
			try("stopping", full, r.WithContext(context.WithValue(stopping, http.LocalAddrContextKey, r.Context().Value(http.LocalAddrContextKey))), 503)
			query := ""
			switch path {
			case whyPath, forPath:
				query = "?path=/x"
			case skillFilesPath, skillFilePath:
				query = "?id=skill:/s&path=x"
			}
			if path == clientPath {
				query = "?client=codex"
			}
			try("no time", slow, request(method, target+query, body), 200, 204, 404, 504)
			try("foreign page", full, request(method, target, body, "Origin", "http://evil.example"), 403)
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			if allowed[method] || method == "HEAD" && allowed["GET"] {
				continue
			}
			r := request(method, target, "")
			resp := serve(full, r)
			doc.Check(t, r, path, resp)
			if resp.StatusCode != 405 || resp.Header.Get("Allow") == "" {
				t.Errorf("%s %s: got %d, Allow %q", method, path, resp.StatusCode, resp.Header.Get("Allow"))
			}
			for _, m := range strings.Split(resp.Header.Get("Allow"), ", ") {
				if !allowed[m] && (m != "HEAD" || !allowed["GET"]) {
					t.Errorf("%s: %s is allowed, it is said, and isn't", path, m)
				}
			}
		}
	}
}

// TestNoSuchRoute: whatever isn't a route is an error in JSON, and no redirect.
func TestNoSuchRoute(t *testing.T) {
	h := server.New(server.Options{Backend: servertest.New()})
	for _, target := range []string{
		"/", "/api", "/api/v0/status/", "/api//v0/status", "/api/v0/../v0/status", "/api/v0/context/sources/",
		"/api/v0/context/resources/", "/api/v1/status", "/API/v0/status", "*", "/api/v0/context/resources",
	} {
		r := request("GET", "/", "")
		r.URL.Path, r.URL.RawPath = target, ""
		resp := serve(h, r)
		if text := body(t, resp); resp.StatusCode != 404 || !strings.HasPrefix(text, `{"message":"no such route"`) {
			t.Errorf("%s: got %d %s", target, resp.StatusCode, text)
		}
	}
}

// TestEffects: what is asked for reaches the agent as it was meant.
func TestEffects(t *testing.T) {
	f := servertest.New()
	h := server.New(server.Options{Backend: f})
	for _, r := range []*http.Request{
		request("PUT", rootPath, `{"path":"/w/../v//x/"}`),
		request("POST", readyPath, ""),
		request("POST", retryPath, ""),
		request("POST", approvePath, `{"name":"acme","digest":"2c26"}`),
		request("POST", sourcesPath, `{"path":"/50%25"}`),
		request("DELETE", encodedSource, ""),
	} {
		if resp := serve(h, r); resp.StatusCode/100 != 2 {
			t.Errorf("%s %s: got %d %s", r.Method, r.URL, resp.StatusCode, body(t, resp))
		}
	}
	if diff := cmp.Diff(servertest.Seen{Root: "/v/x", Ready: 1, Retried: 1, Approved: []string{"acme"}}, f.Seen()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := f.Sources(); len(list) != 1 || list[0].Path != "/50%25" {
		t.Errorf("sources are %v", list)
	}
}
