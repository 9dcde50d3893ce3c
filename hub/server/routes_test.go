package server_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/wire/approval"
)

// TestRoutes asks for everything, and looks at each answer through the
// document.
func TestRoutes(t *testing.T) {
	f := newFixture(t, server.Limits{StreamsPerToken: 1, ListRate: 0.001, ListBurst: 20})
	const odd = "/w/a b/?#%//../<script>"
	first := f.push("a", text("/w/AGENTS.md", "one\n"), text(odd, "odd"), mcpServer("s", ""))
	second := f.push("a", text("/w/AGENTS.md", "two\n"), text("/w/bytes", "\x00\xff"), text("/w/empty", ""))
	f.push("late")
	f.token("agent", "silent")
	f.token("agent", "busy")
	pinned, empty := f.pin("a"), f.pin("silent")
	rev := func(n int64) string { return strconv.FormatInt(n, 10) }
	agentsPath, pinPath := "/api/v0/agents/a", "/api/v0/pins/"+pinned.ID
	for _, c := range []struct {
		code         int
		method, path string
		contains     string
	}{
		{200, "GET", "/api/v0/openapi.json", `"openapi": "3.1.0"`},
		{200, "GET", "/api/v0/agents", `"id":"silent"`},
		{200, "GET", "/api/v0/agents?unknown=key", `"id":"a"`},
		{200, "GET", "/api/v0/search?q=agents.md", `"agent_id":"a"`},
		{200, "GET", "/api/v0/search?q=agents.md&limit=1", `"more":false`},
		{400, "GET", "/api/v0/search?q=x", "look for 2"},
		{400, "GET", "/api/v0/agents?%zz", "escape"},
		{200, "GET", agentsPath, `"connected":false`},
		{404, "GET", "/api/v0/agents/b", "no agent b"},
		{200, "GET", agentsPath + "/context", `"revision":` + rev(second)},
		{200, "HEAD", agentsPath + "/context", ""},
		{200, "GET", agentsPath + "/context?revision=" + rev(first), `"revision":` + rev(first)},
		{404, "GET", "/api/v0/agents/late/context?revision=1", "revision 1 is not kept"},
		{400, "GET", agentsPath + "/context?revision=1&revision=2", "more than once"},
		{400, "GET", agentsPath + "/context?wait=soon", "30s"},
		{404, "GET", "/api/v0/agents/silent/context", "has not pushed yet"},
		{200, "GET", agentsPath + "/context?format=markdown", "## Instructions"},
		{200, "GET", agentsPath + "/context?wait=1m&after=" + rev(first), `"revision":` + rev(second)},
		{200, "GET", agentsPath + "/context?wait=1m&after=999999", `"revision":` + rev(second)},
		{304, "GET", agentsPath + "/context?wait=1ms&after=" + rev(second), ""},
		{304, "GET", "/api/v0/agents/silent/context?wait=1ms", ""},
		{404, "GET", "/api/v0/agents/b/context?wait=1m", ""},
		{200, "GET", agentsPath + "/context/resources/instruction_file:/w/AGENTS.md", "two\n"},
		{200, "GET", agentsPath + "/context/resources/instruction_file:%2Fw%2FAGENTS.md?revision=" + rev(first), "one\n"},
		{200, "GET", agentsPath + "/context/resources/" + url.PathEscape("instruction_file:"+odd) + "?revision=" + rev(first), "odd"},
		{200, "GET", agentsPath + "/context/resources/instruction_file:/w/bytes", "\x00\xff"},
		{200, "GET", agentsPath + "/context/resources/instruction_file:/w/empty", ""},
		{404, "GET", agentsPath + "/context/resources/instruction_file:%00%ff", ""},
		{400, "GET", agentsPath + "/context/resources/instruction_file:/w/empty?revision=x", ""},
		{404, "GET", agentsPath + "/context/resources/", ""},
		{200, "GET", agentsPath + "/clients/codex", `"client":"codex"`},
		{400, "GET", agentsPath + "/clients/400", "since 400"},
		{400, "GET", agentsPath + "/clients/" + strings.Repeat("x", 65), "so long a name"},
		{404, "GET", "/api/v0/agents/b/clients/codex", "no agent b"},
		{409, "GET", agentsPath + "/clients/409", "since 409"},
		{429, "GET", agentsPath + "/clients/429", ""},
		{503, "GET", agentsPath + "/clients/503", ""},
		{200, "GET", agentsPath + "/coverage", `"path":"/w/x"`},
		{404, "GET", "/api/v0/agents/b/coverage", "no agent b"},
		{503, "GET", "/api/v0/agents/silent/coverage", "since silent"},
		{409, "GET", "/api/v0/agents/late/coverage", "since late"},
		{429, "GET", "/api/v0/agents/busy/coverage", "since busy"},
		{200, "GET", agentsPath + "/history", `"added":2,"changed":1,"removed":2`},
		{200, "GET", agentsPath + "/history?limit=0", `[]`},
		{200, "GET", "/api/v0/agents/silent/history", `[]`},
		{404, "GET", "/api/v0/agents/b/history", ""},
		{400, "GET", agentsPath + "/history?limit=-1", ""},
		{200, "GET", agentsPath + "/diff?from=" + rev(first), `-one\n+two\n`},
		{200, "GET", agentsPath + "/diff?from=" + rev(second) + "&to=" + rev(first), `-two\n+one\n`},
		{400, "GET", agentsPath + "/diff", "from is missing"},
		{404, "GET", agentsPath + "/diff?from=0", ""},
		{404, "GET", "/api/v0/agents/silent/diff?from=1", ""},
		{404, "GET", "/api/v0/agents/b/diff?from=1", ""},
		{200, "GET", "/api/v0/pins", pinned.ID},
		{200, "GET", "/api/v0/pins?agent_id=b", "[]"},
		{400, "GET", "/api/v0/pins?agent_id=a&agent_id=b", "more than once"},
		{200, "GET", pinPath, `"drifted_at":null`},
		{404, "GET", "/api/v0/pins/x", "no pin x"},
		{200, "GET", pinPath + "/context", `"revision":` + rev(second)},
		{200, "GET", pinPath + "/context?format=markdown", "two\n"},
		{400, "GET", pinPath + "/context?format=html", "json, markdown"},
		{404, "GET", "/api/v0/pins/" + empty.ID + "/context", "the pin is empty"},
		{404, "GET", "/api/v0/pins/x/context", ""},
		{200, "GET", pinPath + "/context/resources/instruction_file:/w/AGENTS.md", "two\n"},
		{404, "GET", pinPath + "/context/resources/x", ""},
		{404, "GET", "/api/v0/pins/x/context/resources/x", ""},
		{200, "GET", pinPath + "/diff", `"changes":[]`},
		{200, "GET", "/api/v0/pins/" + empty.ID + "/diff", `"from":0,"to":0,"changes":[]`},
		{404, "GET", "/api/v0/pins/x/diff", ""},
		{200, "POST", pinPath + "/refresh", `"revision":` + rev(second)},
		{404, "POST", "/api/v0/pins/x/refresh", ""},
		{204, "DELETE", "/api/v0/pins/" + empty.ID, ""},
		{404, "DELETE", "/api/v0/pins/" + empty.ID, ""},
		{400, "GET", "/api/v0/events?after=x", ""},
		{400, "GET", "/api/v0/events?after=-1", ""},
		{200, "HEAD", "/api/v0/events", ""},
		{404, "GET", "/api/v0/", ""},
		{404, "GET", "/api/v0//agents", ""},
		{404, "GET", "/api/v0/agents/", ""},
		{404, "GET", "/api/v0/agents/a/", ""},
		{404, "GET", "/api%2Fv0/agents", ""},
		{405, "POST", "/api/v0/agents", "GET, HEAD"},
		{405, "PUT", pinPath, "DELETE, GET, HEAD"},
		{405, "GET", pinPath + "/refresh", "POST"},
		{405, "OPTIONS", "/api/v0/events", "GET, HEAD"},
	} {
		body := f.want(c.code, c.method, c.path, "")
		if c.method != "HEAD" && !strings.Contains(body, c.contains) {
			t.Errorf("%s %s: %q isn't in %s", c.method, c.path, c.contains, body)
		}
	}
	for _, path := range []string{pinPath + "/context", "/api/v0/agents", "/api/v0/search?q=agents"} {
		f.want(304, "GET", path, "", "If-None-Match", "*")
	}
	for range 20 {
		f.do("GET", "/api/v0/agents", "")
	}
	f.want(429, "GET", "/api/v0/agents", "")
	f.want(429, "GET", "/api/v0/search?q=agents", "")
	f.badBodies()
	f.tooMany()
	f.approvals()
	f.operating()
	f.reader = f.token("agent", "c")
	for path, methods := range server.Routes() {
		for _, method := range methods {
			f.want(403, method, strings.NewReplacer("{id}", "a", "{rid}", "x", "{client}", "x").Replace(path), "")
		}
	}
	f.reader = "nobody's"
	for path, methods := range server.Routes() {
		for _, method := range methods {
			f.want(401, method, strings.NewReplacer("{id}", "a", "{rid}", "x", "{client}", "x").Replace(path), "")
		}
	}
	unseen := slices.DeleteFunc(f.doc.Unseen(), func(key string) bool {
		return key == "POST /api/v0/pins 409" || key == "POST /api/v0/backup 501" || key == "GET /api/v0/events 200"
	})
	if len(unseen) > 0 {
		t.Errorf("documented, and never answered here: %q", unseen)
	}
	if list := f.doc.Undocumented(400, 405); len(list) > 0 {
		t.Errorf("answered, and not documented: %q", list)
	}
}

// badBodies makes pins of what isn't one.
func (f *fixture) badBodies() {
	f.Helper()
	for body, code := range map[string]int{
		`{"agent_id":"a"}`: 201, `{"agent_id":"a","name":"\u202e<b>"}`: 201,
		`{}`: 400, `{"agent_id":""}`: 400, `{"agent_id":"a","Name":"x"}`: 400, `{"agent_id":"a","agent_id":"b"}`: 400,
		`{"agent_id":1}`: 400, `[]`: 400, `{"agent_id":"a"} x`: 400, "{\"agent_id\":\"\xff\"}": 400, `{"agent_id":"a","name":"\u0000"}`: 400,
		`{"agent_id":"a","name":"` + strings.Repeat("x", 129) + `"}`:  400,
		`{"agent_id":"a","name":"` + strings.Repeat("x", 5000) + `"}`: 413,
		`{"agent_id":"b"}`: 404, `{"agent_id":"../a"}`: 404, `{"agent_id":"\u0000"}`: 404,
	} {
		f.want(code, "POST", "/api/v0/pins", body)
	}
	f.want(415, "POST", "/api/v0/pins", `{"agent_id":"a"}`, "Content-Type", "text/plain")
	f.want(415, "POST", "/api/v0/pins", "")
}

// approvals asks for what operators alone get.
func (f *fixture) approvals() {
	f.Helper()
	reader := f.reader
	defer func() { f.reader = reader }()
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	sign := func(id, name string, begin, end time.Duration) string {
		now := time.Now().Truncate(time.Second)
		signed, err := approval.Sign(&approval.Approval{
			ID: id, Name: name, Definition: "sha256:" + strings.Repeat("0", 64), Issued: now.Add(begin), Expires: now.Add(end),
		}, private)
		if err != nil {
			f.Fatal(err)
		}
		return `{"signed":"` + base64.StdEncoding.EncodeToString(signed) + `"}`
	}
	one := sign("one", "db", 0, time.Hour)
	for _, method := range []string{"GET", "POST"} {
		if body := f.want(403, method, "/api/v0/approvals", one); !strings.Contains(body, "hub token create --role operator") {
			f.Error(body)
		}
	}
	f.want(403, "DELETE", "/api/v0/approvals/one", "")
	f.reader = f.token(store.RoleOperator, "")
	f.want(200, "GET", "/api/v0/agents/a/context", "") // an operator reads as well
	if body := f.want(200, "GET", "/api/v0/approvals", ""); strings.TrimSpace(body) != "[]" {
		f.Error(body)
	}
	for _, body := range []string{one, one} {
		if body := f.want(201, "POST", "/api/v0/approvals", body); !strings.Contains(body, `"name":"db"`) || !strings.Contains(body, `"state":"live"`) {
			f.Error(body)
		}
	}
	for body, code := range map[string]int{
		sign("one", "other", 0, time.Hour):      409,
		sign("two", "", -time.Hour, 0):          400, // it has expired
		`{"signed":"e30="}`:                     400,
		`{"signed":"?"}`:                        400,
		`{"signed":null}`:                       400,
		`{}`:                                    400,
		strings.Replace(one, "{", `{"x":1,`, 1): 400,
		`{"signed":"` + strings.Repeat("A", 40<<10) + `"}`: 413,
	} {
		f.want(code, "POST", "/api/v0/approvals", body)
	}
	f.want(415, "POST", "/api/v0/approvals", one, "Content-Type", "text/plain")
	f.want(404, "DELETE", "/api/v0/approvals/two", "")
	f.want(404, "DELETE", "/api/v0/approvals/%00", "")
	for range 2 {
		if body := f.want(200, "DELETE", "/api/v0/approvals/one", ""); !strings.Contains(body, `"state":"revoked"`) {
			f.Error(body)
		}
	}
	f.want(409, "POST", "/api/v0/approvals", one)
}

// acts looks at the log of what was done to the token, the key and the agent before.
func (f *fixture) acts(token, key string) {
	f.Helper()
	var said []string
	for path := "/api/v0/audit?limit=2"; path != ""; {
		response := f.do("GET", path, "")
		var page []struct{ By, What, Subject, Detail string }
		if err := json.NewDecoder(response.Body).Decode(&page); err != nil || response.StatusCode != 200 || len(page) > 2 {
			f.Fatalf("%d entries, %s, %v", len(page), response.Status, err)
		}
		for _, a := range page {
			said = append(said, strings.NewReplacer(token, "TOKEN", key, "KEY").Replace(a.What+" "+a.Subject+" "+a.Detail))
			if a.By == "" {
				f.Errorf("%+v was done by nobody", a)
			}
		}
		link, _, _ := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
		path = link
	}
	want := []string{
		"agent.removed late ", "agent.renamed late Later", "agent.labeled late a-", "agent.labeled late a=b,c=d", "enrollment.revoked KEY with the tokens of its agents",
		"enrollment.created KEY for 2: a=b", "token.revoked TOKEN ", "token.revoked TOKEN ", "token.created TOKEN reader",
	}
	if d := cmp.Diff(want, said[:min(len(said), len(want))]); d != "" {
		f.Errorf("the log (-want +got)\n%s", d)
	}
	f.want(200, "GET", "/api/v0/audit?subject=late&limit=5000", "")
	for _, query := range []string{"after=x", "after=e30", "limit=x"} {
		f.want(400, "GET", "/api/v0/audit?"+query, "")
	}
}

// operating does what operators alone may.
func (f *fixture) operating() {
	f.Helper()
	reader := f.reader
	defer func() { f.reader = reader }()
	for _, path := range []string{"/tokens", "/enrollments", "/webhooks"} {
		for _, method := range []string{"GET", "POST"} {
			f.want(403, method, "/api/v0"+path, "{}")
		}
		f.want(403, "DELETE", "/api/v0"+path+"/x", "")
	}
	f.want(403, "POST", "/api/v0/backup", "")
	f.want(403, "PATCH", "/api/v0/agents/a/labels", "{}")
	f.want(403, "PATCH", "/api/v0/agents/a", "{}")
	f.want(403, "GET", "/api/v0/audit", "")
	f.want(403, "DELETE", "/api/v0/agents/a", "")

	f.reader = f.token(store.RoleOperator, "")
	hash := func(text string) string { return hex.EncodeToString(sha256sum(text)) }
	later, before := time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().Add(-time.Hour).Format(time.RFC3339)
	id := func(body string) string {
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(body), &made); err != nil || made.ID == "" {
			f.Fatalf("%v in %s", err, body)
		}
		return made.ID
	}
	refused := func(path string, bodies map[string]int) {
		for body, code := range bodies {
			f.want(code, "POST", path, body)
		}
		f.want(415, "POST", path, "{}", "Content-Type", "text/plain")
	}

	text := store.RoleReader.Kind().New()
	token := id(f.want(201, "POST", "/api/v0/tokens", `{"token_sha256":"`+hash(text)+`","role":"reader","scope":["a"],"expires_at":"`+later+`"}`))
	if body := f.want(200, "GET", "/api/v0/tokens", ""); !strings.Contains(body, token) || strings.Contains(body, hash(text)) {
		f.Error(body)
	}
	operator := f.reader
	f.reader = text
	f.want(200, "GET", "/api/v0/agents/a", "")
	f.want(404, "GET", "/api/v0/agents/late", "")
	f.reader = operator
	refused("/api/v0/tokens", map[string]int{
		`{"token_sha256":"` + hash(text) + `","role":"reader"}`:                                              409,
		`{"token_sha256":"` + hash("b") + `","role":"king"}`:                                                 400,
		`{"token_sha256":"x","role":"reader"}`:                                                               400,
		`{"token_sha256":"` + hash("b") + `","role":"operator","scope":["a"]}`:                               400,
		`{"token_sha256":"` + hash("b") + `","role":"reader","expires_at":"` + before + `"}`:                 400,
		`{"token_sha256":"` + hash("b") + `","role":"agent","agent_id":"../a"}`:                              400,
		`{"token_sha256":"` + hash("b") + `","role":"reader","name":"` + strings.Repeat("x", 300<<10) + `"}`: 413,
	})
	for range 2 {
		f.want(204, "DELETE", "/api/v0/tokens/"+token, "")
	}
	f.want(404, "DELETE", "/api/v0/tokens/"+hash(text), "")

	key := id(f.want(201, "POST", "/api/v0/enrollments", `{"key_sha256":"`+hash("key")+`","max_uses":2,"labels":{"a":"b"},"expires_at":"`+later+`"}`))
	if body := f.want(200, "GET", "/api/v0/enrollments", ""); !strings.Contains(body, key) || !strings.Contains(body, `"state":"valid"`) {
		f.Error(body)
	}
	refused("/api/v0/enrollments", map[string]int{
		`{"key_sha256":"` + hash("b") + `","max_uses":0,"expires_at":"` + later + `"}`:                                            400,
		`{"key_sha256":"` + hash("b") + `","max_uses":1}`:                                                                         400,
		`{"key_sha256":"` + hash("b") + `","max_uses":1,"expires_at":"` + before + `"}`:                                           400,
		`{"key_sha256":"x","max_uses":1,"expires_at":"` + later + `"}`:                                                            400,
		`{"key_sha256":"` + hash("b") + `","max_uses":1,"name":"` + strings.Repeat("x", 5000) + `","expires_at":"` + later + `"}`: 413,
	})
	f.want(400, "DELETE", "/api/v0/enrollments/"+key+"?tokens=yes", "")
	if body := f.want(200, "DELETE", "/api/v0/enrollments/"+key+"?tokens=1", ""); !strings.Contains(body, `"tokens":0`) {
		f.Error(body)
	}
	f.want(404, "DELETE", "/api/v0/enrollments/x", "")

	if body := f.want(200, "PATCH", "/api/v0/agents/late/labels", `{"set":{"a":"b","c":"d"}}`); !strings.Contains(body, `{"set":{"a":"b","c":"d"}}`) {
		f.Error(body)
	}
	if body := f.want(200, "PATCH", "/api/v0/agents/late/labels", `{"remove":["a"]}`); !strings.Contains(body, `{"set":{"c":"d"}}`) {
		f.Error(body)
	}
	for body, code := range map[string]int{`{"set":{"":"x"}}`: 400, `{"a":"b"}`: 400, `{"set":{"a":"` + strings.Repeat("x", 5000) + `"}}`: 413} {
		f.want(code, "PATCH", "/api/v0/agents/late/labels", body)
	}
	f.want(415, "PATCH", "/api/v0/agents/late/labels", "{}", "Content-Type", "text/plain")
	f.want(404, "PATCH", "/api/v0/agents/b/labels", "{}")
	if body := f.want(200, "PATCH", "/api/v0/agents/late", `{"name":"Later\u202e"}`); !strings.Contains(body, `"name":"Later`) {
		f.Error(body)
	}
	for body, code := range map[string]int{`{"name":1}`: 400, `{"name":"a\u0000"}`: 400, `{"name":"` + strings.Repeat("x", 129) + `"}`: 400, `{"name":"` + strings.Repeat("x", 5000) + `"}`: 413} {
		f.want(code, "PATCH", "/api/v0/agents/late", body)
	}
	f.want(415, "PATCH", "/api/v0/agents/late", "{}", "Content-Type", "text/plain")
	f.want(404, "PATCH", "/api/v0/agents/b", `{"name":"x"}`)
	f.want(204, "DELETE", "/api/v0/agents/late", "")
	f.want(404, "DELETE", "/api/v0/agents/late", "")
	f.acts(token, key)

	f.hooks(refused, id)

	if body := f.want(200, "POST", "/api/v0/backup", ""); body != "the database" {
		f.Error(body)
	}
	f.backups.Lock()
	answers := make(chan int, 2)
	for range 2 {
		go func() { answers <- f.do("POST", "/api/v0/backup", "").StatusCode }()
	}
	if code := <-answers; code != 429 { // the other one has the only place
		f.Errorf("the second of two backups at a time answers %d", code)
	}
	f.backups.Unlock()
	if code := <-answers; code != 200 {
		f.Errorf("the first of two backups at a time answers %d", code)
	}
}

// hooks adds, tests and removes webhooks.
func (f *fixture) hooks(refused func(string, map[string]int), id func(string) string) {
	f.Helper()
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer receiver.Close()
	secret := credential.WebhookSecret.New()
	add := func(url string) string {
		return `{"url":"` + url + `","secret":"` + secret + `","insecure":true,"private":true,"types":["drifted_pins"]}`
	}
	hook := id(f.want(201, "POST", "/api/v0/webhooks", add(receiver.URL)))
	if body := f.want(200, "GET", "/api/v0/webhooks", ""); !strings.Contains(body, hook) || strings.Contains(body, secret) {
		f.Error(body)
	}
	refused("/api/v0/webhooks", map[string]int{
		add("ftp://x"): 400, strings.Replace(add("https://x"), "drifted_pins", "all", 1): 400, strings.Replace(add("https://x"), secret, "x", 1): 400,
		add("https://" + strings.Repeat("x", 5000)): 413,
	})
	f.want(204, "POST", "/api/v0/webhooks/"+hook+"/test", "")
	status = http.StatusInternalServerError
	f.want(502, "POST", "/api/v0/webhooks/"+hook+"/test", "")
	f.want(404, "POST", "/api/v0/webhooks/x/test", "")
	for range store.MaxWebhooks - 1 {
		f.want(201, "POST", "/api/v0/webhooks", add(receiver.URL))
	}
	f.want(409, "POST", "/api/v0/webhooks", add(receiver.URL))
	f.want(204, "DELETE", "/api/v0/webhooks/"+hook, "")
	f.want(404, "DELETE", "/api/v0/webhooks/"+hook, "")
}

func sha256sum(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// tooMany has one stream more than a token may.
func (f *fixture) tooMany() {
	f.Helper()
	stream := f.do("GET", "/api/v0/events", "")
	if stream.StatusCode != 200 || stream.Header.Get("Content-Type") != "text/event-stream" {
		f.Fatalf("%v %v", stream.Status, stream.Header)
	}
	f.want(429, "GET", "/api/v0/events", "")
	f.want(429, "GET", "/api/v0/agents/a/context?wait=1m&after=999", "")
	_ = stream.Body.Close()
	for end := time.Now().Add(timeout); f.do("GET", "/api/v0/agents/a/context?wait=1ms&after=999", "").StatusCode == 429; {
		if time.Now().After(end) {
			f.Fatal("the place of a stream that ended is not free again")
		}
	}
}

// TestETags asks again for what is known.
func TestETags(t *testing.T) {
	f := newFixture(t, server.Limits{})
	f.push("a", text("/w/AGENTS.md", "one"))
	p := f.pin("a")
	for _, path := range []string{"/api/v0/agents/a/context", "/api/v0/pins/" + p.ID + "/context"} {
		for _, format := range []string{"json", "markdown"} {
			resp := f.do("GET", path+"?format="+format, "")
			tag := resp.Header.Get("ETag")
			if resp.StatusCode != 200 || tag == "" {
				t.Fatalf("%s: %s with tag %s", path, resp.Status, tag)
			}
			for known, code := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, strings.Trim(tag, `"`): 200} {
				if body := f.want(code, "GET", path+"?format="+format, "", "If-None-Match", known); code == 304 && body != "" {
					t.Errorf("a body comes with 304: %q", body)
				}
			}
		}
	}
	before := f.do("GET", "/api/v0/pins/"+p.ID+"/context", "").Header.Get("ETag")
	f.push("a", text("/w/AGENTS.md", "one"), mcpServer("s", "new"))
	f.want(200, "GET", "/api/v0/pins/"+p.ID+"/context", "", "If-None-Match", before) // what follows live counts
	if got := f.do("GET", "/api/v0/agents/a/context", "").Header.Get("ETag"); got != `"`+strconv.FormatInt(get[struct{ Revision int64 }](f, "/api/v0/agents/a").Revision, 10)+`"` {
		t.Errorf("the ETag is %s, want the revision", got)
	}
}

// TestWait waits for what comes.
func TestWait(t *testing.T) {
	f := newFixture(t, server.Limits{MaxWait: timeout})
	first := f.push("a", text("/w/AGENTS.md", "one"))
	f.push("b", text("/w/AGENTS.md", "one"))
	type result struct {
		revision int64
		agent    string
	}
	got := make(chan result, 3)
	for agent, query := range map[string]string{"a": "after=" + strconv.FormatInt(first, 10), "none": "", "b": "after=0"} {
		if agent == "none" {
			f.token("agent", agent)
		}
		r := f.request("GET", fmt.Sprint("/api/v0/agents/", agent, "/context?wait=", timeout, "&", query), "")
		go func() {
			var answer struct{ Revision int64 }
			resp, err := f.ask(r)
			if err == nil {
				err = json.NewDecoder(resp.Body).Decode(&answer)
			}
			if err != nil {
				f.Error(err)
			}
			got <- result{answer.Revision, agent}
		}()
	}
	if r := <-got; r.agent != "b" { // it has something already
		t.Errorf("%+v", r)
	}
	f.push("b", text("/w/AGENTS.md", "two")) // nobody waits for it
	want := map[string]int64{"none": f.push("none", text("/w/AGENTS.md", "x"))}
	if r := <-got; want[r.agent] != r.revision {
		t.Errorf("%+v, want %v", r, want)
	}
	want["a"] = f.push("a", []snapshot.Resource{}...)
	if r := <-got; want[r.agent] != r.revision {
		t.Errorf("%+v, want %v", r, want)
	}
}
