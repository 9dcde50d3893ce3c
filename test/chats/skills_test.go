package chats_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	hubclient "waymark/hub/client"
	"waymark/test/process"
)

// TestSkillFiles: a pin keeps which files a skill has; a chat reads them in the workspace as
// long as they are what was pinned, and is told when they aren't.
func TestSkillFiles(t *testing.T) {
	w := newWorld(t, agentapi.NewToken{})
	capability, err := os.ReadFile(w.capacity)
	w.must(err)
	token, err := os.ReadFile(w.reader)
	w.must(err)
	reader := strings.TrimSpace(string(token))
	hub := hubclient.New("http://"+w.web, hubclient.Options{Token: reader})
	pin, err := hub.CreatePin(w.ctx, "dev", "")
	w.must(err)
	for pin.Revision == 0 { // its first push is on the way
		w.must(process.Pause(w.ctx, 50*time.Millisecond))
		pin, err = hub.RefreshPin(w.ctx, pin.ID)
		w.must(err)
	}
	ask := func(method, uri string) string {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, uri)
		r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, "http://"+w.web+"/api/v0/pins/"+pin.ID+"/mcp", strings.NewReader(body))
		w.must(err)
		r.Header = http.Header{
			"Authorization": {"Bearer " + reader}, "Waymark-Capability": {strings.TrimSpace(string(capability))},
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
		}
		response, err := http.DefaultClient.Do(r)
		w.must(err)
		defer func() { _ = response.Body.Close() }()
		said, err := io.ReadAll(response.Body)
		w.must(err)
		return string(said)
	}
	var got struct {
		Result struct {
			Skill struct {
				Resources []struct {
					URI  string
					Size int
				}
			}
		}
	}
	said := ask("skills/get", "skill://deploy/SKILL.md")
	w.must(json.Unmarshal([]byte(said), &got))
	if files := got.Result.Skill.Resources; len(files) != 2 || files[1].URI != "skill://deploy/ref/times.md" || files[1].Size != len("A minute.\n") {
		t.Fatalf("the manifest is %s\n%s", said, w.hub.Output())
	}
	if said := ask("resources/read", "skill://deploy/ref/times.md"); !strings.Contains(said, `A minute.\n`) {
		t.Errorf("the file is %s", said)
	}
	w.write(".agents/skills/deploy/ref/times.md", "An hour.\n")
	if said := ask("resources/read", "skill://deploy/ref/times.md"); !strings.Contains(said, "-32003") || !strings.Contains(said, "refresh the pin") || strings.Contains(said, "hour") {
		t.Errorf("after it has changed: %s", said)
	}
	pin, err = hub.RefreshPin(w.ctx, pin.ID)
	w.must(err)
	if said := ask("resources/read", "skill://deploy/ref/times.md"); !strings.Contains(said, `An hour.\n`) {
		t.Errorf("after the refresh: %s", said)
	}
	if log := w.hub.Output() + w.agent.Output(); strings.Contains(log, "A minute.") || strings.Contains(log, strings.TrimSpace(string(capability))) {
		t.Errorf("a log has what it mustn't:\n%s", log)
	}
}
