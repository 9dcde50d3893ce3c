package chats_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/test/testenv"
)

// TestComputer: a chat at the hub acts on the workspace's screen and gets a picture of it,
// with a capability that has the scope; one that hasn't is refused.
func TestComputer(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	w := newWorld(t, agentapi.NewToken{Scopes: []string{"desktop"}})
	read := func(path string) string {
		data, err := os.ReadFile(path)
		w.must(err)
		return strings.TrimSpace(string(data))
	}
	pin := struct{ ID string }{}
	w.must(post(http.DefaultClient, "http://"+w.web+"/api/v0/pins", `{"agent_id":"dev"}`, read(w.reader), "", &pin))
	type content struct {
		Type, Text, MimeType string
		Data                 []byte
	}
	use := func(capability, arguments string) ([]content, string) {
		t.Helper()
		var answer struct {
			Result struct {
				Content []content
				IsError bool
			}
			Error struct{ Message string }
		}
		w.must(post(http.DefaultClient, "http://"+w.web+"/api/v0/pins/"+pin.ID+"/mcp",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"computer","arguments":%s}}`, arguments),
			read(w.reader), capability, &answer))
		if answer.Result.IsError {
			return nil, answer.Result.Content[0].Text
		}
		return answer.Result.Content, answer.Error.Message
	}
	if done, failed := use(read(w.capacity), `{"action":"mouse_move","coordinate":[640,300]}`); failed != "" || done[0].Text != "mouse_move action performed" {
		t.Errorf("it moves: %+v %s", done, failed)
	}
	if done, failed := use(read(w.capacity), `{"action":"cursor_position"}`); failed != "" || done[0].Text != "x=640,y=300" {
		t.Errorf("the pointer: %+v %s", done, failed)
	}
	shot, failed := use(read(w.capacity), `{"action":"screenshot"}`)
	if failed != "" || len(shot) != 2 || !strings.Contains(shot[0].Text, "1280 × 800") || shot[1].MimeType != "image/png" {
		t.Fatalf("a picture: %d parts, %s", len(shot), failed)
	}
	if img, err := png.Decode(bytes.NewReader(shot[1].Data)); err != nil || img.Bounds() != image.Rect(0, 0, 1280, 800) {
		t.Errorf("the picture: %v", err)
	}
	if _, failed := use(read(w.capacity), `{"action":"left_click"}`); !strings.Contains(failed, "left_click needs coordinate") {
		t.Errorf("an action that can't be: %q", failed)
	}
	if _, failed := use("", `{"action":"screenshot"}`); failed == "" {
		t.Error("without a capability it sees the screen")
	}
}
