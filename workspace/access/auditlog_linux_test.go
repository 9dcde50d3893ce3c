package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
)

func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	for _, name := range access.AuditFiles() {
		info, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
		total += info.Size()
	}
	return total
}

func last(list []access.Record) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].On[0]
}

// TestLog: it goes on after a restart, is bounded, survives what a crash leaves, and
// can be followed while its oldest lines go.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	const bound = 64 << 10
	log := access.OpenLog(dir, bound, nil)
	record := func(from, to int) {
		for i := from; i < to; i++ {
			log.Record(access.Record{Time: time.Now(), Token: "t", Action: "POST /x", On: []string{fmt.Sprint(i)}, Code: 200})
		}
	}
	record(0, 10)
	list, end, err := access.ReadLog(dir)
	if err != nil || len(list) != 10 || last(list) != "9" {
		t.Fatalf("%d records, the last %q, %v", len(list), last(list), err)
	}
	seen := 10
	for next := 10; next < 3000; next += 20 {
		record(next, next+20)
		if list, end, err = access.ReadLogFrom(dir, end); err != nil || len(list) != 20 {
			t.Fatalf("after %d: %d more, %v", next, len(list), err)
		}
		seen += len(list)
	}
	if list, _, _ := access.ReadLog(dir); size(t, dir) > bound || len(list) < 50 || last(list) != fmt.Sprint(seen-1) {
		t.Errorf("%d bytes, %d records, the last %s", size(t, dir), len(list), last(list))
	}
	if err := errors.Join(log.Close(), log.Close()); err != nil {
		t.Error(err)
	}
	log.Record(access.Record{On: []string{"lost"}})
	path := filepath.Join(dir, access.AuditFiles()[1])
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, `{"time":"cut of`...), 0o600); err != nil {
		t.Fatal(err)
	}
	log = access.OpenLog(dir, bound, nil)
	record(5000, 5001)
	if list, _, err := access.ReadLog(dir); err != nil || last(list) != "5000" {
		t.Errorf("after a crash: the last is %q, %v", last(list), err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestSilence: whatever tokens do, and have refused, what others did stays: no token has
// more than a quarter of the log, and what was refused, approved or done with the control
// token is kept apart.
func TestSilence(t *testing.T) {
	const bound = 128 << 10
	long := []string{strings.Repeat("x", 4000), strings.Repeat("y", 4000)}
	for name, flood := range map[string]func(i int) access.Record{
		"one that acts": func(int) access.Record { return access.Record{Token: "loud", Action: "POST /x", On: long, Code: 200} },
		"one that is refused": func(int) access.Record {
			return access.Record{Token: "loud", Action: "POST /x" + long[0], On: long, Code: 403}
		},
		"one that doesn't find": func(int) access.Record {
			return access.Record{Token: "loud", Action: "POST /x" + long[0], On: long, Code: 404}
		},
		"one that approves": func(int) access.Record {
			return access.Record{Token: "loud", Owner: true, Action: "POST /approve", On: long, Code: 200}
		},
		"a hub that looks": func(int) access.Record {
			return access.Record{Token: "hub", Looks: true, Action: "look", On: long, Code: 200}
		},
		"as it alternates": func(i int) access.Record {
			return access.Record{Token: "loud", Action: "POST /x", On: long, Code: 200 + 203*(i%2)}
		},
		"many that act": func(i int) access.Record {
			return access.Record{Token: fmt.Sprint("loud", i%10), Action: "POST /x", On: long, Code: 200}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				log := access.OpenLog(dir, bound, nil)
				kept := map[string]access.Record{
					"acts": {Token: "quiet", Action: "POST /x", On: []string{"acts"}, Code: 200}, "owner": {Token: access.ControlID, Action: "POST /x", On: []string{"owner"}, Code: 200},
					"approves": {Token: "quiet", Owner: true, Action: "POST /x", On: []string{"approves"}, Code: 200},
				}
				if name == "one that approves" {
					delete(kept, "approves") // the two are of a kind
				}
				for _, r := range kept {
					r.Time = time.Now()
					log.Record(r)
				}
				for i := range 300 {
					r := flood(i)
					r.Time = time.Now()
					log.Record(r)
					time.Sleep(10 * time.Millisecond)
				}
				if err := log.Close(); err != nil {
					t.Error(err)
				}
				list, _, err := access.ReadLog(dir)
				if err != nil || size(t, dir) > bound {
					t.Errorf("%d bytes, %v", size(t, dir), err)
				}
				used := map[string]int{}
				for i := range list {
					line, _ := json.Marshal(list[i])
					used[list[i].Token] += len(line)
					if len(list[i].On) > 0 {
						delete(kept, list[i].On[0])
					}
				}
				if len(kept) > 0 {
					t.Errorf("%v have gone", kept)
				}
				for token, n := range used {
					if n > bound/4 {
						t.Errorf("%s has %d bytes", token, n)
					}
				}
			})
		})
	}
}

// TestFolded: of what is refused each call is there, or counted.
func TestFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		log := access.OpenLog(dir, 0, nil)
		defer func() { _ = log.Close() }()
		count := func() (lines, calls int) {
			list, _, err := access.ReadLog(dir)
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				calls += 1 + list[i].Repeated
			}
			return len(list), calls
		}
		for range 500 {
			log.Record(access.Record{Time: time.Now(), Token: "t", Action: "POST /x", Code: 403})
		}
		if lines, calls := count(); lines != 10 || calls != 10 {
			t.Errorf("at once: %d lines of %d calls", lines, calls)
		}
		time.Sleep(time.Minute + time.Second)
		if lines, calls := count(); lines != 11 || calls != 500 {
			t.Errorf("after a minute: %d lines of %d calls", lines, calls)
		}
		log.Record(access.Record{Time: time.Now(), Token: "t", Action: "POST /x", Code: 403})
		if lines, calls := count(); lines != 12 || calls != 501 {
			t.Errorf("later: %d lines of %d calls", lines, calls)
		}
	})
}

// acting is a route that acts, as others see it.
type acting struct{ did int }

func (a *acting) service() httpapi.Service {
	return httpapi.Service{Routes: []httpapi.Route{
		{Method: "POST", Pattern: "/act", Scope: string(access.ScopeFiles), Effect: httpapi.Acts, Handle: func(c *httpapi.Call) error {
			a.did++
			return c.JSON(http.StatusOK, a.did)
		}},
		{Method: "GET", Pattern: "/look", Scope: string(access.ScopeFiles), Effect: httpapi.Reads, Handle: func(c *httpapi.Call) error { return c.JSON(http.StatusOK, a.did) }},
	}}
}

// TestAdmit: a token that has acted 600 times in a minute acts no more in it, and nothing
// is done that couldn't be recorded; reading goes on.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		log := access.OpenLog(dir, 0, nil)
		defer func() { _ = log.Close() }()
		var a acting
		router := httpapi.New(httpapi.Options{Guard: access.Guard, Classify: func(*httpapi.Call, error) *problem.Error { return nil }}, a.service())
		tokens := open(t, t.TempDir())
		minted, _ := mint(t, tokens, tokens.Authenticate(control), agentapi.NewToken{})
		call := func(token, method, path string) (int, string) {
			ctx := access.Audited(access.With(t.Context(), tokens.Authenticate(token)), log)
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, nil))
			return w.Code, w.Body.String() + w.Header().Get("Retry-After")
		}
		for i := range 700 {
			want := http.StatusOK
			if i >= 600 {
				want = http.StatusTooManyRequests
			}
			code, said := call(minted.Secret, "POST", "/act")
			if code != want || code != http.StatusOK && !strings.HasSuffix(said, "60") {
				t.Fatalf("call %d: %d %s", i, code, said)
			}
		}
		if a.did != 600 {
			t.Errorf("it acted %d times", a.did)
		}
		if code, _ := call(minted.Secret, "GET", "/look"); code != http.StatusOK {
			t.Errorf("reading: %d", code)
		}
		for range 700 {
			if code, said := call(control, "POST", "/act"); code != http.StatusOK {
				t.Fatalf("the control token: %d %s", code, said)
			}
		}
		time.Sleep(time.Minute)
		if code, said := call(minted.Secret, "POST", "/act"); code != http.StatusOK {
			t.Errorf("a minute later: %d %s", code, said)
		}
		list, _, err := access.ReadLog(dir)
		acted := 0
		for i := range list {
			if list[i].Code == http.StatusOK {
				acted++
			}
		}
		if err != nil || acted != a.did {
			t.Errorf("%d acts, %d recorded, %v", a.did, acted, err)
		}
	})
}

// TestUnwritable: where the log can't be written nothing is done, and reading goes on.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, access.AuditFiles()[1]), 0o700); err != nil {
		t.Fatal(err)
	}
	log := access.OpenLog(dir, 0, nil)
	defer func() { _ = log.Close() }()
	var a acting
	router := httpapi.New(httpapi.Options{Guard: access.Guard, Classify: func(*httpapi.Call, error) *problem.Error { return nil }}, a.service())
	ctx := access.Audited(access.With(context.Background(), open(t, t.TempDir()).Authenticate(control)), log)
	for path, want := range map[string]int{"POST /act": http.StatusServiceUnavailable, "GET /look": http.StatusOK} {
		method, path, _ := strings.Cut(path, " ")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, nil))
		if w.Code != want || a.did > 0 || strings.Contains(w.Body.String(), dir) {
			t.Errorf("%s: %d %s, done %d times", path, w.Code, w.Body, a.did)
		}
	}
}

// TestFullDisk: on a full disk nothing is done, but for what there is room kept for; what
// was done is all there.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("waymark", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	log := access.OpenLog(dir, 0, nil)
	defer func() { _ = log.Close() }()
	var a acting
	router := httpapi.New(httpapi.Options{Guard: access.Guard, Classify: func(*httpapi.Call, error) *problem.Error { return nil }}, a.service())
	ctx := access.Audited(access.With(t.Context(), open(t, t.TempDir()).Authenticate(control)), log)
	call := func() int {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, "POST", "/act?path="+strings.Repeat("x", 4000), nil)
		router.ServeHTTP(w, r)
		return w.Code
	}
	call()
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 4<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	code := 0
	for range 200 {
		if code = call(); code != http.StatusOK {
			break
		}
	}
	if code != http.StatusServiceUnavailable || a.did < 2 {
		t.Errorf("on a full disk: %d, after %d calls", code, a.did)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if code := call(); code != http.StatusOK {
		t.Errorf("when there is room again: %d", code)
	}
	acted := 0
	list, _, err := access.ReadLog(dir)
	for i := range list {
		if list[i].Code == http.StatusOK {
			acted++
		}
	}
	if err != nil || acted != a.did {
		t.Errorf("%d acts, %d recorded, %v", a.did, acted, err)
	}
}

// TestTamperedLog: a log that somebody empties, removes or replaces while it is written
// goes on, and nothing that is done afterwards is lost.
func TestTamperedLog(t *testing.T) {
	for name, tamper := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 1000) },
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("nonsense"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := access.OpenLog(dir, 64<<10, nil)
			defer func() { _ = log.Close() }()
			record := func(token string, n int) {
				for i := range n {
					log.Record(access.Record{Time: time.Now(), Token: token, Action: "POST /x", On: []string{fmt.Sprint(token, i), strings.Repeat("x", 300)}, Code: 200})
				}
			}
			for i := range 4 {
				record(fmt.Sprint("t", i), 30)
			}
			if err := tamper(filepath.Join(dir, access.AuditFiles()[1])); err != nil {
				t.Fatal(err)
			}
			record("after", 60)
			list, _, err := access.ReadLog(dir)
			if err != nil || last(list) != "after59" || size(t, dir) > 64<<10 {
				t.Errorf("%d lines, the last %q, %v", len(list), last(list), err)
			}
		})
	}
}
