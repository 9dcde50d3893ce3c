package mcp_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agentapi"
	"waymark/snapshot"
)

// TestDisk: a server whose own directories hold too much is ended, says what to do, and
// comes back when that is done. What links lead to isn't its own.
func TestDisk(t *testing.T) {
	fill := func(t *testing.T, path string, size int) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, own, elsewhere string)
		over bool
	}{
		"little": {func(t *testing.T, own, _ string) { fill(t, own+"/cache/a/b", 700<<10) }, false},
		"much":   {func(t *testing.T, own, _ string) { fill(t, own+"/cache/a/b", 3<<20) }, true},
		"much of both": {func(t *testing.T, own, _ string) {
			fill(t, own+"/cache/a", 700<<10)
			fill(t, own+"/tmp/a", 700<<10)
		}, true},
		"many empty files": {func(t *testing.T, own, _ string) {
			for i := range 300 {
				fill(t, fmt.Sprintf("%s/cache/%d", own, i), 0)
			}
		}, true},
		"one file of many names": {func(t *testing.T, own, _ string) {
			fill(t, own+"/cache/a", 700<<10)
			for i := range 3 {
				if err := os.Link(own+"/cache/a", fmt.Sprintf("%s/cache/a%d", own, i)); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		"links": {func(t *testing.T, own, elsewhere string) {
			fill(t, elsewhere+"/big", 3<<20)
			for name, to := range map[string]string{"file": elsewhere + "/big", "dir": elsewhere, "self": own + "/cache"} {
				if err := os.Symlink(to, own+"/cache/"+name); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		"deep": {func(t *testing.T, own, _ string) { fill(t, own+"/cache"+strings.Repeat("/d", 110)+"/a", 0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			with := settings
			with.Disk = 1 << 20
			bubble(t, with, func(w *world) {
				a := w.fakes.server("a")
				w.configure(map[string]definition{"a": stdio("a")})
				w.expect("connected", snapshot.PhaseComplete, "a__echo", "a connected")
				dirs, err := filepath.Glob(w.state + "/cache/mcp/*")
				if err != nil || len(dirs) != 1 {
					t.Fatalf("%q, %v", dirs, err)
				}
				c.do(t, dirs[0], t.TempDir())
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if !c.over {
					w.expect("within its bounds", snapshot.PhaseComplete, "a__echo", "a connected")
					return
				}
				w.expect("too much", snapshot.PhaseComplete, "", "a failed")
				want := "it was ended: its cache and temporary files hold more than they may, 1 MiB: empty " + dirs[0] + ", or raise disk in [mcp] of the configuration"
				if d := w.detail("a"); d.Error != want {
					t.Errorf("it says %q\nwant %q", d.Error, want)
				}
				if _, log := w.text("GET", agentapi.PathMCPServers+"/a/logs", ""); !strings.Contains(log, want) {
					t.Errorf("its log: %s", log)
				}
				if code, text := w.say("a", "x"); code != http.StatusBadGateway || !strings.Contains(text, "raise disk") {
					if name != "much of both" { // its temporary files are gone with the next start
						t.Errorf("a call: %d %s", code, text)
					}
				}
				starts, _, _ := a.counts()
				if starts > 2 || starts > 1 && name != "much of both" {
					t.Errorf("it was started %d times", starts)
				}
				if err := os.RemoveAll(dirs[0]); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if code, text := w.say("a", "x"); code != http.StatusOK {
					t.Errorf("emptied: %d %s", code, text)
				}
			})
		})
	}
}
