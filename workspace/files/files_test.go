package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/test/contracts/vfstest"
	"waymark/test/openapitest"
	"waymark/test/testenv"
	"waymark/workspace/access"
	"waymark/workspace/files"
)

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

const chatID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// server serves files over a real connection.
type server struct {
	*httptest.Server
	root, out string // the workspace, and a directory beside it
	doc       *openapitest.Checker

	audit access.Audit // set before anything is called

	mu      sync.Mutex // guards the rest
	grant   *access.Grant
	touched []string
	chats   []agentapi.Caller
}

func acting() *access.Grant {
	return &access.Grant{ID: "test", Scopes: []access.Scope{access.ScopeFiles}}
}

// checker is one for all tests: reading the document takes longer than most of
// them.
var checker struct {
	once sync.Once
	doc  *openapitest.Checker
}

// serve builds a workspace, as vfstest.Build does, and serves it.
func serve(t testing.TB, tree []string, change ...func(*files.Options)) *server {
	t.Helper()
	root := vfstest.Build(t, tree)
	checker.once.Do(func() {
		checker.doc = openapitest.Load(t, openapitest.Document(t, files.New(files.Options{}).Service()))
	})
	s := &server{root: root, out: filepath.Join(filepath.Dir(root), "out"), grant: acting(), doc: checker.doc}
	opts := files.Options{
		Root: func() string { return root }, Home: filepath.Join(s.out, "home"), Own: func() []string { return []string{filepath.Join(s.out, "agent"), filepath.Join(s.out, "later")} },
		Touched: func(who agentapi.Caller, paths ...string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.touched, s.chats = append(s.touched, paths...), append(s.chats, who)
		},
	}
	for _, c := range change {
		c(&opts)
	}
	router := httpapi.New(httpapi.Options{Name: "agent", Guard: access.Guard, Admit: func(r *http.Request) (context.Context, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.grant == nil {
			return r.Context(), nil
		}
		ctx := access.With(r.Context(), s.grant)
		if s.audit != nil {
			ctx = access.Audited(ctx, s.audit)
		}
		return ctx, nil
	}}, files.New(opts).Service())
	s.Server = httptest.NewServer(router)
	t.Cleanup(s.Close)
	return s
}

func (s *server) as(g *access.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant = g
}

// told returns what Touched was told since it was last asked.
func (s *server) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.touched
	s.touched = nil
	return list
}

func (s *server) request(t testing.TB, method, target string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// send sends a request and compares the answer with the document.
func (s *server) send(t testing.TB, r *http.Request) (code int, header http.Header, body string) {
	t.Helper()
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.doc.Check(t, r, r.URL.Path, resp)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

func query(route, path string, more ...string) string {
	q := url.Values{"path": {path}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return route + "?" + q.Encode()
}

func (s *server) read(t testing.TB, path string, more ...string) (int, string) {
	t.Helper()
	code, _, body := s.send(t, s.request(t, "GET", query(agentapi.PathReadFile, path, more...), nil))
	return code, body
}

func (s *server) lines(t testing.TB, path string, more ...string) agentapi.FileLines {
	t.Helper()
	code, _, body := s.send(t, s.request(t, "GET", query(agentapi.PathReadFileLines, path, more...), nil))
	var lines agentapi.FileLines
	if err := json.Unmarshal([]byte(body), &lines); err != nil || code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	return lines
}

func (s *server) write(t testing.TB, path, content string) (int, string) {
	t.Helper()
	code, _, body := s.send(t, s.request(t, "POST", query(agentapi.PathWriteFile, path), strings.NewReader(content)))
	return code, body
}

func (s *server) post(t testing.TB, route string, v any) (int, string) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r := s.request(t, "POST", route, bytes.NewReader(data))
	r.Header.Set("Content-Type", "application/json")
	code, _, body := s.send(t, r)
	return code, body
}

// edit makes one edit in each of some files.
func (s *server) edit(t testing.TB, search, replace string, paths ...string) (int, string) {
	t.Helper()
	var body agentapi.EditFiles
	for _, path := range paths {
		body.Files = append(body.Files, agentapi.FileEdits{Path: path, Edits: []agentapi.Edit{{Search: search, Replace: replace}}})
	}
	return s.post(t, agentapi.PathEditFiles, body)
}

func (s *server) in(name string) string { return s.root + "/" + name }

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// noTemps fails the test where a call has left a file of its own.
func noTemps(t testing.TB, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if strings.Contains(path, ".waymark-") {
				t.Errorf("%s is left", path)
			}
			return nil
		})
	}
}

func decode(t testing.TB, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// sortedListing is the order of a listing: directories, which end with a slash,
// before the rest.
func sortedListing(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if isDir := strings.HasSuffix(a, "/"); isDir != strings.HasSuffix(b, "/") {
			if isDir {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}
