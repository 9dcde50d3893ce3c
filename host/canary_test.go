package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/snapshot"
)

// TestSettingsStayHidden: what settings files hold gets nowhere by way of a dropped-in
// module that repeats all that it reads, whatever its kinds, and whatever links lead to
// them. Those that may see them are shown to see them.
func TestSettingsStayHidden(t *testing.T) {
	t.Parallel()
	const canary = "canary-5ac1"
	coded := hex.EncodeToString([]byte(canary))
	dir := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("plain.md", "plain")
	const hooks = `{"hooks": {"PreToolUse": [], "Stop": []}}`
	put("own/hooks-events.json", hooks)
	settings := map[string]bool{}
	for i, pattern := range append(vfs.SettingsPatterns(), "own/hooks-*.json") {
		place := strings.NewReplacer("**", "deep", "*", "some").Replace(pattern)
		if settings[place] {
			continue
		}
		settings[place] = true
		put(place, canary+"\n")
		put(filepath.Join("below", strings.ToUpper(place)), canary+"\n")
		for name, target := range map[string]string{
			fmt.Sprintf("link%d.md", i): place, fmt.Sprintf("dir%d", i): filepath.Dir(place),
			fmt.Sprintf("absolute%d.md", i): filepath.Join(dir, place),
		} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(dir, place), filepath.Join(dir, fmt.Sprintf("hard%d.md", i))); err != nil {
			t.Fatal(err)
		}
	}
	logs := &logBuffer{}
	h := newHost(t, host.Options{
		PluginDirs:  []string{pluginDir(t, map[string][]byte{"canary.wasm": guest(t, "./testdata/canary")})},
		Conventions: plugin.Conventions{Own: []conventions.Convention{{ID: "own-hooks", Kind: abi.KindHook, Places: []string{"own/hooks-*.json"}}}},
		Roots:       []host.RootSpec{{Path: dir}}, Logger: debugLogger(logs),
		Limits:     sandbox.Limits{Response: 16 << 20}, // it says everything many times
		FileLimits: vfs.Limits{Opens: 1 << 20, Entries: 1 << 20},
		Caps:       snapshot.Caps{MaxResources: 4000},
	})
	report := refresh(t, h)
	shown, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if at := max(strings.Index(string(shown), canary), strings.Index(string(shown), coded)); at >= 0 {
		t.Errorf("the report holds it: …%s…", shown[max(at-300, 0):min(at+300, len(shown))])
	}
	if strings.Contains(logs.String(), canary) {
		t.Error("the log holds it")
	}
	plain, seen, rows := 0, map[string]bool{}, map[string]int{}
	named := map[string]bool{"": true, "pretooluse": true, "stop": true}
	digest, events := fmt.Sprintf("%x", sha256.Sum256([]byte(hooks))), []string(nil)
	for i := range report.Outcomes {
		if err := report.Outcomes[i].Err; err != nil {
			t.Errorf("%s: %v", report.Outcomes[i].Resolver, err)
		}
		for _, c := range report.Outcomes[i].Candidates {
			if said := fmt.Sprintf("%s %+v", c.Payload, c); strings.Contains(said, canary) || strings.Contains(said, coded) {
				t.Errorf("a row holds it: %+v", c)
			}
			if strings.HasPrefix(c.Resolver, "canary/bundles@") {
				if c.Kind == abi.KindHook && (c.Name != "" || c.Key != c.Attributes["event"].Text || len(c.Attributes) > 2 || !named[c.Attributes["event"].Text]) {
					t.Errorf("a hook is told as the module likes: %+v", c)
				}
				if event := c.Attributes["event"].Text; event != "" && c.Attributes["digest"].Text == digest {
					events = append(events, event)
				} else {
					rows[string(c.Kind)+" "+c.Path]++
				}
			}
			if string(c.Payload) == "plain" {
				plain++
			}
			if rel, err := filepath.Rel(dir, c.Source); err == nil && strings.HasPrefix(c.Resolver, "canary/bundles@") {
				seen[rel] = true
			}
		}
	}
	if slices.Sort(events); !slices.Equal(events, []string{"pretooluse", "stop"}) {
		t.Errorf("of the events that a file names these are told: %q", events)
	}
	for row, times := range rows {
		if times > 1 {
			t.Errorf("%s has %d rows, of which the module has chosen which", row, times)
		}
	}
	if plain == 0 {
		t.Error("not even what is no settings file was read")
	}
	for place := range settings {
		if !seen[place] {
			t.Errorf("%s wasn't seen by a resolver that may", place)
		}
	}
}
