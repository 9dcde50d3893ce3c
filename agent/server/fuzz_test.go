package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi/status"
	"waymark/host/sources"
)

// recorder is a Backend that records the paths it is called with.
type recorder struct {
	*servertest.Backend
	removed, added, root *string
}

func (b recorder) RemoveSource(_ context.Context, path string) error {
	*b.removed = path
	return nil
}

func (b recorder) AddSource(_ context.Context, path string, _ bool) (sources.Source, bool, error) {
	*b.added = path
	return sources.Source{Path: path}, true, nil
}

func (b recorder) SetRoot(_ context.Context, path string) error {
	*b.root = path
	return nil
}

func newRecorder() recorder {
	return recorder{servertest.New(), new(string), new(string), new(string)}
}

// isError fails unless the answer is an error as all are, of one of the codes.
func isError(t *testing.T, resp *http.Response, codes ...int) {
	t.Helper()
	text := body(t, resp)
	var e server.Error
	if !slices.Contains(codes, resp.StatusCode) || json.Unmarshal([]byte(text), &e) != nil || e.Message == "" {
		t.Errorf("got %d %q", resp.StatusCode, text)
	}
}

// FuzzPath: a path that a client escapes arrives as it was, whatever it holds.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/", "/a b", "/50%", "/%2F", "/%252F", "//", "/../..", "/a/./b/", "/\xff\xfe", "/é?x=1#y", "/a;b", "/\x00", ".", "~", "/a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		b := newRecorder()
		r := request("DELETE", sourcesPath+"/"+url.PathEscape(path), "")
		resp := serve(server.New(server.Options{Backend: b}), r)
		switch {
		case path == "":
			isError(t, resp, 404)
		case strings.ContainsRune(path, 0):
			isError(t, resp, 400)
		case resp.StatusCode != 204 || *b.removed != path:
			t.Errorf("%q arrives as %q, %d", path, *b.removed, resp.StatusCode)
		}
	})
}

// FuzzTarget: whatever stands in a request line, there is an answer, and it is
// never a redirect.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"/api/v0/context/sources/%2Fx", "/api/v0/context/sources/a|b\"<>", "//api/v0/status", "http://x/api/v0/status", "*",
		"/api/v0/context/resources/skill:/a?x#y", "/api/v0/context/sources/%zz", "/%2e%2e/", "/api/v0/context/snapshot?%", "a:b",
	} {
		f.Add("GET", s)
		f.Add("DELETE", s)
		f.Add("CONNECT", s)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		raw := method + " " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return // net/http answers it
		}
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.UnixAddr{Net: "unix"})
		resp := serve(server.New(server.Options{Backend: newRecorder(), MaxWait: 1, Timeout: time.Second}), r.WithContext(ctx))
		if resp.StatusCode >= 400 && r.Method != http.MethodHead {
			isError(t, resp, 400, 404, 405, 413, 415, 504)
		} else if resp.StatusCode/100 == 3 && resp.StatusCode != 304 {
			t.Errorf("got %d", resp.StatusCode)
		}
	})
}

// FuzzBody: what is accepted means the same to encoding/json, which is less
// strict, and has arrived as it was meant.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"path":"/x"}`, `{"path":"/x","persist":true}`, `{"path":"/\ud83d\ude00"}`, `{"path":"/\ud83d"}`, `{"path":"/x"} x`, `[]`, `null`, ``,
		`{"path":"/x","path":"/y"}`, `{"Path":"/x"}`, "{\"path\":\"/\xff\"}", `{"path":"/x","persist":1}`, `{"path":"` + "\u0000" + `"}`, `{"path":"/\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newRecorder()
		h := server.New(server.Options{Backend: b})
		add := serve(h, withBody(request("POST", sourcesPath, ""), data))
		root := serve(h, withBody(request("PUT", rootPath, ""), data))
		if add.StatusCode != 201 {
			isError(t, add, 400, 413)
		}
		if root.StatusCode != 204 {
			isError(t, root, 400, 413)
		}
		if add.StatusCode != 201 {
			return
		}
		var want status.NewSource
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil || *b.added != want.Path || !utf8.ValidString(want.Path) || want.Path == "" {
			t.Errorf("%q is accepted as %q; %v", data, *b.added, err)
		}
	})
}

func withBody(r *http.Request, data []byte) *http.Request {
	req := request(r.Method, r.URL.Path, string(data))
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	return req
}

// FuzzQuery: no query and no ETag blocks for longer than is allowed, or breaks
// anything.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"wait=1s&after=1", "after=18446744073709551615", "wait=9999999h", "timeout=1ns", "path=/a&path=/b", "path=%ff", "wait=1s;x", "%", "wait=-0s"} {
		f.Add(s, `"x-1", W/"y"`)
		f.Add(s, "*")
		f.Add(s, `,,"`)
	}
	h := server.New(server.Options{Backend: servertest.New(), MaxWait: time.Nanosecond, Timeout: time.Second})
	f.Fuzz(func(t *testing.T, query, tag string) {
		for path, method := range map[string]string{snapshotPath: "GET", resyncPath: "POST", whyPath: "GET", resourcePath: "GET"} {
			r := request(method, path, "", "If-None-Match", tag)
			r.URL.RawQuery = query
			resp := serve(h, r)
			if resp.StatusCode >= 400 {
				isError(t, resp, 400, 404, 504)
			}
		}
	})
}
