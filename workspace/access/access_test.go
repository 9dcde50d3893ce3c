package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/test/goisms"
	"waymark/test/openapitest"
	"waymark/workspace/access"
)

const control = "the control token"

// open opens the tokens of a workspace, whose root is in the same directory.
func open(t *testing.T, dir string) *access.Tokens {
	t.Helper()
	root := filepath.Join(dir, "ws")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	return access.Open(access.Options{Dir: dir, Control: control, Root: func() string { return root }})
}

// mint makes a token that must be possible.
func mint(t *testing.T, tokens *access.Tokens, by *access.Grant, want agentapi.NewToken) (*agentapi.MintedToken, *access.Grant) {
	t.Helper()
	made, err := tokens.Mint(t.Context(), by, true, want)
	if err != nil {
		t.Fatal(err)
	}
	g := tokens.Authenticate(made.Secret)
	if g == nil {
		t.Fatalf("the token of %+v isn't valid", want)
	}
	return made, g
}

// TestControl: the control token may do all, and has no grant for secrets; where
// there is none, nothing passes for it.
func TestControl(t *testing.T) {
	g := open(t, t.TempDir()).Authenticate(control)
	if g == nil || g.ID != access.ControlID || !slices.Equal(g.Scopes, access.Scopes()) || g.Secrets != nil || g.Plan != "" || !g.Expires.IsZero() {
		t.Errorf("grants %+v", g)
	}
	none := access.Open(access.Options{Dir: t.TempDir(), Root: func() string { return "" }})
	for _, token := range []string{"", control, "x"} {
		if g := none.Authenticate(token); g != nil {
			t.Errorf("%q grants %+v where there is no control token", token, g)
		}
	}
}

// TestNarrower: no token is wider than the one it is made with, in any way.
func TestNarrower(t *testing.T) {
	dir := t.TempDir()
	tokens := open(t, dir)
	root := filepath.Join(dir, "ws")
	soon, later, past := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour), time.Now().Add(-time.Second)
	far := time.Now().Add(400 * 24 * time.Hour)
	all := tokens.Authenticate(control)
	_, narrow := mint(t, tokens, all, agentapi.NewToken{
		Scopes: []string{"files", "tokens"}, Plan: filepath.Join(root, "PLAN.md"), Secrets: []string{".env*"}, ExpiresAt: &soon,
	})
	_, every := mint(t, tokens, all, agentapi.NewToken{Scopes: []string{"tokens"}, Secrets: []string{"*"}})
	ended, gone := mint(t, tokens, all, agentapi.NewToken{Scopes: []string{"tokens"}})
	if err := tokens.Revoke(t.Context(), all, ended.ID); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by      *access.Grant
		secrets bool
		want    agentapi.NewToken
		err     error
	}{
		"as narrow":                   {narrow, false, agentapi.NewToken{Scopes: []string{"tokens", "files"}, Secrets: []string{".env*"}, ExpiresAt: &soon}, nil},
		"less":                        {narrow, false, agentapi.NewToken{}, nil},
		"the same plan":               {narrow, false, agentapi.NewToken{Plan: root + "/x/../PLAN.md"}, nil},
		"another scope":               {narrow, true, agentapi.NewToken{Scopes: []string{"files", "processes"}}, access.ErrWider},
		"another plan":                {narrow, true, agentapi.NewToken{Plan: root + "/OTHER.md"}, access.ErrWider},
		"another secret":              {narrow, true, agentapi.NewToken{Secrets: []string{".ssh/**"}}, access.ErrWider},
		"all secrets":                 {narrow, true, agentapi.NewToken{Secrets: []string{"*"}}, access.ErrWider},
		"longer":                      {narrow, true, agentapi.NewToken{ExpiresAt: &later}, access.ErrWider},
		"one secret of all":           {every, false, agentapi.NewToken{Secrets: []string{".ssh/**"}}, nil},
		"secrets by control":          {all, true, agentapi.NewToken{Secrets: []string{"*"}}, nil},
		"secrets by control over TCP": {all, false, agentapi.NewToken{Secrets: []string{".env*"}}, access.ErrWider},
		"by one that has ended":       {gone, false, agentapi.NewToken{}, access.ErrWider},
		"no scope":                    {all, true, agentapi.NewToken{Scopes: []string{"everything"}}, access.ErrRequest},
		"no secret":                   {all, true, agentapi.NewToken{Secrets: []string{"secret"}}, access.ErrRequest},
		"ended already":               {all, true, agentapi.NewToken{ExpiresAt: &past}, access.ErrRequest},
		"for years":                   {all, true, agentapi.NewToken{ExpiresAt: &far}, access.ErrRequest},
	} {
		made, err := tokens.Mint(t.Context(), c.by, c.secrets, c.want)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if err != nil || c.by != narrow {
			continue
		}
		if g := tokens.Authenticate(made.Secret); g.Plan != narrow.Plan || g.Expires.After(narrow.Expires) || made.MintedBy != narrow.ID {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// TestPlan: a fence is a file in the workspace, without links, that needn't exist.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	tokens := open(t, dir)
	root := filepath.Join(dir, "ws")
	for _, build := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(root, "sub"), 0o700) },
		func() error { return os.Symlink("sub", filepath.Join(root, "in")) },
		func() error { return os.Symlink("..", filepath.Join(root, "out")) },
		func() error { return os.Symlink("nowhere", filepath.Join(root, "dangling")) },
		func() error { return os.Symlink("/etc/passwd", filepath.Join(root, "passwd")) },
	} {
		if err := build(); err != nil {
			t.Fatal(err)
		}
	}
	all := tokens.Authenticate(control)
	for plan, want := range map[string]string{
		root + "/PLAN.md":                 root + "/PLAN.md",
		root + "/new/deep/PLAN.md":        root + "/new/deep/PLAN.md",
		root + "/in/PLAN.md":              root + "/sub/PLAN.md",
		root + "/in/../PLAN.md":           root + "/PLAN.md", // cleaned as text, like every path of the API
		root + "/in/new/../PLAN.md":       root + "/sub/PLAN.md",
		root + "/../ws/PLAN.md":           root + "/PLAN.md",
		"PLAN.md":                         "",
		root:                              "",
		root + "/sub":                     "",
		root + "/../PLAN.md":              "",
		root + "/out/PLAN.md":             "",
		root + "/dangling":                "",
		root + "/dangling/PLAN.md":        "",
		root + "/passwd":                  "",
		root + "x/PLAN.md":                "",
		root + "/a\x00b":                  "",
		root + strings.Repeat("/x", 4096): "",
	} {
		made, err := tokens.Mint(t.Context(), all, false, agentapi.NewToken{Plan: plan})
		switch {
		case want == "" && !errors.Is(err, access.ErrRequest):
			t.Errorf("%.60q: %+v, %v", plan, made, err)
		case want != "" && (err != nil || made.Plan != want):
			t.Errorf("%q: %+v, %v, want %s", plan, made, err, want)
		}
	}
	rootless := access.Open(access.Options{Dir: t.TempDir(), Control: control, Root: func() string { return "" }})
	if _, err := rootless.Mint(t.Context(), all, false, agentapi.NewToken{Plan: "/x/PLAN.md"}); !errors.Is(err, access.ErrRequest) {
		t.Errorf("without a root: %v", err)
	}
}

// TestKept: tokens are there after a restart, as hashes; what is revoked or made
// with what is revoked is gone.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	tokens := open(t, dir)
	all := tokens.Authenticate(control)
	first, g := mint(t, tokens, all, agentapi.NewToken{Scopes: []string{"tokens"}})
	child, cg := mint(t, tokens, g, agentapi.NewToken{Scopes: []string{"tokens"}})
	grandchild, _ := mint(t, tokens, cg, agentapi.NewToken{})
	other, og := mint(t, tokens, all, agentapi.NewToken{Scopes: []string{"tokens"}})
	data, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first.Secret, child.Secret, other.Secret, control} {
		if strings.Contains(string(data), strings.TrimPrefix(secret, "wm_")) {
			t.Errorf("the file has %s", secret)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "tokens.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	tokens = open(t, dir)
	if diff := cmp.Diff(g, tokens.Authenticate(first.Secret)); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	ids := func(by *access.Grant) (list []string) {
		for _, token := range tokens.List(by) {
			list = append(list, token.ID)
		}
		return list
	}
	for who, want := range map[*access.Grant][]string{
		all: {first.ID, child.ID, grandchild.ID, other.ID}, g: {first.ID, child.ID, grandchild.ID}, og: {other.ID},
	} {
		if got := ids(who); !slices.Equal(got, want) {
			t.Errorf("%s knows of %q, want %q", who.ID, got, want)
		}
	}
	for _, id := range []string{first.ID, "none", "", access.ControlID} {
		if err := tokens.Revoke(t.Context(), og, id); !errors.Is(err, access.ErrNoToken) {
			t.Errorf("another one revokes %q: %v", id, err)
		}
	}
	if err := tokens.Revoke(t.Context(), g, first.ID); err != nil { // itself
		t.Fatal(err)
	}
	for _, restarted := range []*access.Tokens{tokens, open(t, dir)} {
		for _, secret := range []string{first.Secret, child.Secret, grandchild.Secret} {
			if restarted.Authenticate(secret) != nil {
				t.Error("a token is valid that was revoked, or made with one that was")
			}
		}
		if restarted.Authenticate(other.Secret) == nil {
			t.Error("another one has gone, too")
		}
	}
}

// TestExpiry: a token ends by itself, and gives its place back.
func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		tokens := open(t, dir)
		all := tokens.Authenticate(control)
		made, g := mint(t, tokens, all, agentapi.NewToken{})
		if got := time.Until(made.ExpiresAt); got <= 7*time.Hour || got > 8*time.Hour {
			t.Errorf("it ends after %s", got)
		}
		n := 1
		for ; n < 300; n++ {
			if _, err := tokens.Mint(t.Context(), all, false, agentapi.NewToken{}); errors.Is(err, access.ErrTooMany) {
				break
			}
		}
		if n != 256 {
			t.Errorf("%d tokens are possible", n)
		}
		time.Sleep(time.Until(g.Expires) - time.Nanosecond)
		if tokens.Authenticate(made.Secret) == nil {
			t.Error("it has ended early")
		}
		time.Sleep(time.Minute)
		if tokens.Authenticate(made.Secret) != nil || len(tokens.List(all)) != 0 {
			t.Error("it hasn't ended")
		}
		mint(t, tokens, all, agentapi.NewToken{})
	})
}

// TestBadFile: a file that can't be read lets nobody in, and isn't followed.
func TestBadFile(t *testing.T) {
	for name, build := range map[string]func(path string) error{
		"nonsense":  func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a link":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := build(filepath.Join(dir, "tokens.json")); err != nil {
			t.Fatal(err)
		}
		tokens := open(t, dir)
		if g := tokens.Authenticate(control); g == nil || len(tokens.List(g)) != 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// TestService: the routes answer as they are described, whatever is asked.
func TestService(t *testing.T) {
	tokens := open(t, t.TempDir())
	service := tokens.Service()
	doc := openapitest.Load(t, openapitest.Document(t, service))
	router := httpapi.New(httpapi.Options{
		Guard:    access.Guard,
		Classify: func(*httpapi.Call, error) *problem.Error { return nil },
	}, service)
	ask := func(token, method, path, body string, overTCP bool) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://agent"+path, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		var local net.Addr = &net.UnixAddr{}
		if overTCP {
			local = &net.TCPAddr{}
		}
		ctx := r.Context()
		if g := tokens.Authenticate(token); g != nil {
			ctx = access.With(ctx, g)
		}
		r = r.WithContext(context.WithValue(ctx, http.LocalAddrContextKey, local))
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		template := "/api/v0/tokens"
		if strings.HasPrefix(path, template+"/") {
			template += "/{id}"
		}
		resp := w.Result()
		resp.Body = io.NopCloser(strings.NewReader(w.Body.String()))
		doc.Check(t, r, template, resp)
		return w.Code, w.Body.String()
	}
	code, body := ask(control, http.MethodPost, "/api/v0/tokens", `{"secrets":["*"],"scopes":["files"]}`, false)
	var made agentapi.MintedToken
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != http.StatusCreated || made.Secret == "" {
		t.Fatalf("%d %s", code, body)
	}
	for _, c := range []struct {
		token, method, path, body string
		tcp                       bool
		want                      int
	}{
		{control, "GET", "", "", false, 200},
		{control, "POST", "", `{"secrets":["*"]}`, true, 403},
		{control, "POST", "", `{"scopes":["x"]}`, false, 400},
		{control, "POST", "", `{"scope":["files"]}`, false, 400},
		{control, "POST", "", "", false, 415},
		{made.Secret, "GET", "", "", false, 403},
		{"", "GET", "", "", false, 401},
		{"", "POST", "", "{}", false, 401},
		{control, "DELETE", "/none", "", false, 404},
		{made.Secret, "DELETE", "/" + made.ID, "", false, 403},
		{control, "DELETE", "/" + made.ID, "", false, 204},
		{made.Secret, "GET", "", "", false, 401},
	} {
		if code, body := ask(c.token, c.method, "/api/v0/tokens"+c.path, c.body, c.tcp); code != c.want {
			t.Errorf("%s %s %s: %d, want %d: %s", c.method, c.path, c.body, code, c.want, body)
		}
	}
}

// TestPlainErrors: whatever is asked, what is answered is for people.
func TestPlainErrors(t *testing.T) {
	tokens := open(t, t.TempDir())
	router := httpapi.New(httpapi.Options{
		Guard: access.Guard,
		Classify: func(c *httpapi.Call, err error) *problem.Error {
			return &problem.Error{Code: http.StatusInternalServerError, Message: c.Failed(), Detail: err.Error()}
		},
	}, tokens.Service())
	check := func(method, path, body string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		ctx := access.With(r.Context(), tokens.Authenticate(control))
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r.WithContext(context.WithValue(ctx, http.LocalAddrContextKey, &net.UnixAddr{})))
		var e problem.Error
		if json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Message == "" {
			return
		}
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s %s %.60q: %s", method, path, body, w.Body)
		}
		for _, find := range []func(string) string{goisms.Find, goisms.FindRequest} {
			if found := find(e.Error()); found != "" {
				t.Errorf("%s %s with %.60q says %q: %s", method, path, body, found, w.Body)
			}
		}
	}
	for _, body := range goisms.Bodies("scopes", "plan", "secrets", "expires_at") {
		check(http.MethodPost, "/api/v0/tokens", body)
		check(http.MethodDelete, "/api/v0/tokens/x", body)
	}
	for _, value := range goisms.Values() {
		target := "/api/v0/tokens/" + url.PathEscape(value)
		check(http.MethodDelete, target, "")
		body, _ := json.Marshal(value)
		check(http.MethodPost, "/api/v0/tokens", `{"plan":`+string(body)+`}`)
		check(http.MethodPost, "/api/v0/tokens", `{"plan":"/`+strings.Trim(string(body), `"`)+`"}`)
	}
}
