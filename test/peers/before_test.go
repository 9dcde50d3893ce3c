package peers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/e2e"
)

// envBefore names a directory with the programs agent and hub of another version.
const envBefore = "WAYMARK_BEFORE"

// TestBefore: an agent and a hub of this version work with a hub and an agent of
// another, such as the first. What the one lists of a workspace the other stores, also
// after an edit and a removal, and with more than the older one takes what fits.
func TestBefore(t *testing.T) {
	before := os.Getenv(envBefore)
	if before == "" {
		t.Skip(envBefore + " names no directory with the programs of another version")
	}
	now := programs(t)
	then := e2e.Programs{Agent: filepath.Join(before, "agent"), Hub: filepath.Join(before, "hub")}
	for _, pair := range []struct {
		name       string
		agent, hub string
	}{
		{"old agent", then.Agent, now.Hub},
		{"old hub", now.Agent, then.Hub},
	} {
		for _, skills := range []int{402, 4000} {
			t.Run(fmt.Sprintf("%s, %d skills", pair.name, skills), func(t *testing.T) {
				meet(t, pair.agent, pair.hub, skills)
			})
		}
	}
}

// leastListed is what both versions list and store of a workspace that has as much.
const leastListed = 1000

// meet starts a hub and an agent that pushes to it.
func meet(t *testing.T, agent, hub string, skills int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	dir, err := os.MkdirTemp(common.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: ctx, dir: dir, root: filepath.Join(dir, "w")}
	texts := w.skills(filepath.Join(w.root, "skills"), "s", skills, small)
	home, err := e2e.NewHome(filepath.Join(dir, "hub"))
	if err != nil {
		t.Fatal(err)
	}
	reader := store.NewTokenText(store.RoleReader)
	token := store.NewTokenText(store.RoleAgent)
	for name, text := range map[string]string{
		"tokens":    "agent box " + token + "\nreader test " + reader + "\n",
		"box.token": token + "\n",
	} {
		if err := os.WriteFile(filepath.Join(home.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := e2e.StartHubProcess(ctx, hub, home, "box")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Kill()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	if err := h.Await(ctx, address); err != nil {
		t.Fatal(err)
	}
	api := address.FindString(h.Output())
	a := w.start("agent", e2e.AgentOptions{Program: agent, URL: api, TokenFile: filepath.Join(home.Dir, "box.token")})
	defer a.Kill()

	all := min(skills, leastListed)
	s := w.read(api, reader, func(s *snapshot.Snapshot) bool { return len(s.Resources) >= all })
	texted := 0
	for i := range s.Resources {
		r := &s.Resources[i]
		if texts[r.Source] == "" || r.Name != filepath.Base(r.Source) {
			t.Fatalf("it stores %s, called %q", r.Source, r.Name)
		}
		if r.Status == snapshot.StatusOK && r.SizeBytes == int64(len(texts[r.Source])) {
			texted++
		}
	}
	if texted < min(skills, snapshot.CoderMaxResources)*9/10 {
		t.Errorf("%d of %d have their text", texted, len(s.Resources))
	}
	t.Logf("%d skills: %d stored, %d of them with their text", skills, len(s.Resources), texted)

	edited, gone := s.Resources[1].Source, s.Resources[2].Source
	if err := os.WriteFile(filepath.Join(edited, "SKILL.md"), []byte(text("edited", 321)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	w.read(api, reader, func(s *snapshot.Snapshot) bool {
		has := func(source string, size int64) bool {
			return slices.ContainsFunc(s.Resources, func(r snapshot.Resource) bool {
				return r.Source == source && (size == 0 || r.SizeBytes == size)
			})
		}
		return has(edited, 321) && !has(gone, 0)
	})
}

// read asks a hub for the context of its agent until it is as wanted.
func (w *world) read(api, reader string, wanted func(*snapshot.Snapshot) bool) *snapshot.Snapshot {
	w.t.Helper()
	next := time.NewTicker(50 * time.Millisecond)
	defer next.Stop()
	last := "nothing"
	for {
		req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, api+"/api/v0/agents/box/context", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+reader)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			var s snapshot.Snapshot
			err := json.NewDecoder(resp.Body).Decode(&s)
			_ = resp.Body.Close()
			last = fmt.Sprintf("%s with %d resources", resp.Status, len(s.Resources))
			if err == nil && resp.StatusCode == http.StatusOK && wanted(&s) {
				return &s
			}
		}
		select {
		case <-next.C:
		case <-w.ctx.Done():
			w.t.Fatalf("the hub doesn't get what was expected; it last had %s", last)
		}
	}
}
