package page_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"waymark/hub/page"
	"waymark/internal/httpapi"
)

// fake is a page whose tokens are words.
type fake struct {
	*page.Page
	codes  *page.Codes
	ended  []string
	owner  string // of the last session
	broken error  // of everything that asks the hub
}

func newFake() *fake {
	// Tries are bounded by the clock, which stands still.
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := &fake{codes: page.NewCodes(page.CodesOptions{Now: func() time.Time { return now }})}
	f.Page = page.New(page.Options{
		Authenticate: func(r *http.Request) error {
			if c, err := r.Cookie(httpapi.SessionName); err == nil && c.Value == "good" {
				return f.broken
			}
			if f.broken != nil {
				return f.broken
			}
			return page.ErrUnauthorized
		},
		NewSession: func(_ context.Context, owner string) (string, time.Time, error) {
			f.owner = owner
			if owner == "revoked" {
				return "", time.Time{}, page.ErrUnauthorized
			}
			return "good", time.Now().Add(time.Hour), f.broken
		},
		EndSession: func(_ context.Context, text string) error { f.ended = append(f.ended, text); return f.broken },
		Codes:      f.codes,
	})
	return f
}

func (f *fake) do(method, path string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, "http://hub.example"+path, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result()
}

func withCookie(value string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: httpapi.SessionName, Value: value}) }
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// policy is what the page is held to, word by word.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

func TestRoutes(t *testing.T) {
	f := newFake()
	for name, test := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
		kind, holds  string
	}{
		"page":                 {"GET", "/", withCookie("good"), 200, "text/html; charset=utf-8", `/app.js"`},
		"page without cookie":  {"GET", "/", nil, 401, "text/html; charset=utf-8", "hub login"},
		"page with bad cookie": {"GET", "/", withCookie("bad"), 401, "text/html; charset=utf-8", "hub login"},
		"two cookies": {"GET", "/", func(r *http.Request) { withCookie("bad")(r); withCookie("x")(r) }, 401,
			"text/html; charset=utf-8", "hub login"},
		"login without code":  {"GET", "/login", nil, 401, "text/html; charset=utf-8", "hub login"},
		"login with bad code": {"GET", "/login?code=x%3Cscript%3E", nil, 403, "text/html; charset=utf-8", "does not work"},
		"script":              {"GET", "/assets/0/app.js", nil, 200, "text/javascript; charset=utf-8", "import"},
		"style":               {"GET", "/assets/0/page.css", nil, 200, "text/css; charset=utf-8", "prefers-color-scheme"},
		"icon":                {"GET", "/assets/0/icon.svg", nil, 200, "image/svg+xml", "<svg"},
		"no such file":        {"GET", "/assets/0/none.js", nil, 404, "text/plain; charset=utf-8", "no such"},
		"page as a file":      {"GET", "/assets/0/index.html", nil, 404, "text/plain; charset=utf-8", "no such"},
		"out of the files":    {"GET", "/assets/0/..%2fpage.go", nil, 404, "text/plain; charset=utf-8", "no such"},
		"other methods":       {"POST", "/", nil, 405, "text/plain; charset=utf-8", "Not Allowed"},
		"sign out by a link":  {"GET", "/logout", nil, 405, "text/plain; charset=utf-8", "Not Allowed"},
		"sign out from elsewhere": {"POST", "/logout", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403,
			"text/html; charset=utf-8", "another site"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.do(test.method, test.path, test.change)
			text := bodyOf(t, r)
			if r.StatusCode != test.status || r.Header.Get("Content-Type") != test.kind || !strings.Contains(text, test.holds) {
				t.Errorf("%s, %s:\n%.500s", r.Status, r.Header.Get("Content-Type"), text)
			}
			if strings.Contains(text, "<script>") {
				t.Errorf("what was asked for is in the page:\n%s", text)
			}
			if got := r.Header.Get("Content-Security-Policy"); got != policy {
				t.Errorf("policy: %s", got)
			}
			if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("headers: %v", r.Header)
			}
		})
	}
	if len(f.ended) > 0 {
		t.Errorf("ended: %q", f.ended)
	}
}

func TestLogin(t *testing.T) {
	f := newFake()
	link, _ := f.Link("http://hub.example/", "owner")
	path, ok := strings.CutPrefix(link, "http://hub.example")
	if !ok || !regexp.MustCompile(`^/login\?code=[\w-]{22}$`).MatchString(path) {
		t.Fatalf("link is %s", link)
	}
	if r := f.do("HEAD", path, nil); r.StatusCode != 200 || len(r.Cookies()) > 0 {
		t.Errorf("a look at the link: %v, %v", r.Status, r.Cookies())
	}
	r := f.do("GET", path, nil)
	if r.StatusCode != 303 || r.Header.Get("Location") != "/" || len(r.Cookies()) != 1 {
		t.Fatalf("login: %v %v", r.Status, r.Header)
	}
	c := r.Cookies()[0]
	if c.Name != "waymark_reader" || c.Value != "good" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.MaxAge < 3500 || c.MaxAge > 3600 || f.owner != "owner" {
		t.Errorf("cookie: %+v", c)
	}
	if r := f.do("GET", path, nil); r.StatusCode != 403 || len(r.Cookies()) > 0 {
		t.Errorf("a second time: %v, %v", r.Status, r.Cookies())
	}

	// Who is signed in has the new session in place of the old one.
	link, _ = f.Link("", "another")
	if r := f.do("GET", link, withCookie("good")); r.StatusCode != 303 || len(r.Cookies()) != 1 || f.owner != "another" || len(f.ended) != 1 {
		t.Errorf("signed in already: %v, %v, ended %q", r.Status, r.Cookies(), f.ended)
	}
	link, _ = f.Link("", "revoked")
	if r := f.do("GET", link, withCookie("good")); r.StatusCode != 403 || len(r.Cookies()) != 0 || len(f.ended) != 1 {
		t.Errorf("with a link of a revoked token: %v, %v, ended %q", r.Status, r.Cookies(), f.ended)
	}

	// Under TLS, here or at a proxy, the cookie never goes in clear.
	link, _ = f.Link("", "owner")
	if r := f.do("GET", link, func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }); len(r.Cookies()) != 1 || !r.Cookies()[0].Secure || r.Cookies()[0].Name != "__Host-waymark_reader" {
		t.Errorf("under TLS: %v, %v", r.Status, r.Cookies())
	}

	r = f.do("POST", "/logout", withCookie("good"))
	if r.StatusCode != 200 || len(f.ended) != 2 || f.ended[1] != "good" || len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge != -1 {
		t.Errorf("sign out: %v, %v, ended %q", r.Status, r.Cookies(), f.ended)
	}
}

// TestLoginIsLimited: who guesses is told to wait; others, and good links,
// don't have to.
func TestLoginIsLimited(t *testing.T) {
	f := newFake()
	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = address }
	}
	guesses := 0
	for f.do("GET", "/login?code=guess", from("[2001:db8::1]:1000")).StatusCode != http.StatusTooManyRequests {
		if guesses++; guesses > 100 {
			t.Fatal("a hundred guesses in a row are let through")
		}
	}
	// One network of IPv6 is one client.
	if r := f.do("GET", "/login?code=guess", from("[2001:db8::2]:1000")); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
		t.Errorf("a neighbor: %s, %v", r.Status, r.Header)
	}
	for _, address := range []string{"[2001:db8:0:1::1]:1000", "192.0.2.1:1000", "@"} {
		if r := f.do("GET", "/login?code=guess", from(address)); r.StatusCode != 403 {
			t.Errorf("somebody else at %s: %s", address, r.Status)
		}
	}
	link, _ := f.Link("", "owner")
	if r := f.do("GET", link, from("[2001:db8::1]:1001")); r.StatusCode != 303 {
		t.Errorf("a good link from the same address: %s", r.Status)
	}
}

// TestBroken: the hub can't look anything up; nobody gets in, and nothing is
// told of it.
func TestBroken(t *testing.T) {
	f := newFake()
	f.broken = errors.New("the database is at /secret/place")
	link, _ := f.Link("", "owner")
	for _, r := range []*http.Response{f.do("GET", "/", withCookie("good")), f.do("GET", link, nil), f.do("POST", "/logout", withCookie("good"))} {
		if text := bodyOf(t, r); r.StatusCode < 500 || strings.Contains(text, "secret") || strings.Contains(text, "hub token") && r.StatusCode == 503 || len(r.Cookies()) > 0 {
			t.Errorf("%s %v:\n%.300s", r.Status, r.Cookies(), text)
		}
	}
}

// asset is where the page says that a file of its is.
func (f *fake) asset(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`/assets/[0-9a-f]{16}/`).FindString(bodyOf(t, f.do("GET", "/", withCookie("good"))))
	if found == "" {
		t.Fatal("the page names no version of its files")
	}
	return found + name
}

// TestAssetsAreKept: what the page names is kept for good; what a page of another hub
// names is asked about each time. Both come compressed.
func TestAssetsAreKept(t *testing.T) {
	f := newFake()
	zipped := func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") }
	kept := f.asset(t, "page.css")
	plain, small, other := f.do("GET", kept, nil), f.do("GET", kept, zipped), f.do("GET", "/assets/0123456789abcdef/page.css", nil)
	if plain.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || other.StatusCode != 200 || other.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%v, and of another version %v %v", plain.Header, other.Status, other.Header)
	}
	text, compressed := bodyOf(t, plain), bodyOf(t, small)
	unzipped, err := gzip.NewReader(strings.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(unzipped); err != nil || string(data) != text || len(compressed) > len(text)/2 || small.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("compressed: %d of %d bytes, %v, %v", len(compressed), len(text), err, small.Header)
	}
	if plain.Header.Get("ETag") == small.Header.Get("ETag") || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("a cache can't tell %v from %v", plain.Header, small.Header)
	}
	again := f.do("GET", kept, func(r *http.Request) { zipped(r); r.Header.Set("If-None-Match", small.Header.Get("ETag")) })
	if again.StatusCode != 304 {
		t.Errorf("asked about: %v", again.Status)
	}
}

// TestPreload: the first answers are asked for with the page, where they are what it asks for.
func TestPreload(t *testing.T) {
	f := newFake()
	for path, want := range map[string]bool{"/": true, "/?q=x": false} {
		text := bodyOf(t, f.do("GET", path, withCookie("good")))
		if got := strings.Contains(text, `as="fetch"`); got != want || strings.Contains(text, "{{") {
			t.Errorf("%s asks ahead: %v\n%s", path, got, text)
		}
	}
}

// TestNothingMakesHTML: the scripts have no way to make HTML of text, name no
// other origin, and are all known to the page.
func TestNothingMakesHTML(t *testing.T) {
	index, err := os.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|\beval\b|new Function|srcdoc|https?://|import\(`)
	names, err := fs.Glob(os.DirFS("assets"), "*")
	if err != nil || len(names) < 10 {
		t.Fatalf("assets: %q, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(`xmlns="http://www.w3.org/2000/svg"`, "", "import('./app.js')", "").Replace(string(data))
		if found := banned.FindString(text); found != "" {
			t.Errorf("%s has %s", name, found)
		}
		if strings.HasSuffix(name, ".html") && regexp.MustCompile(`(?i)\son\w+=|\sstyle=|<style|<script>|javascript:`).MatchString(text) {
			t.Errorf("%s has something inline, which the policy forbids", name)
		}
		if strings.HasSuffix(name, ".js") && name != "start.js" && name != "again.js" && !strings.Contains(string(index), `href="/assets/`+name+`"`) {
			t.Errorf("index.html doesn't preload %s: it is found a round trip later", name)
		}
	}
}
