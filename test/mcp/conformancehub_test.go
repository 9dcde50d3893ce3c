package mcp_test

import (
	"crypto/sha256"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"

	"waymark/abi"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/e2e"
)

// serveHub starts a hub with a pin of a skill and of instructions, and returns the URL of
// the pin's endpoint. The suite shows no token: what is in front of the hub shows it.
func serveHub(t *testing.T) (address string) {
	t.Helper()
	h, err := e2e.StartHub(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	resource := func(kind abi.Kind, source, name, text string) snapshot.Resource {
		sum := sha256.Sum256([]byte(text))
		return snapshot.Resource{Kind: kind, Source: source, Name: name, Description: "Of " + source, Status: snapshot.StatusOK,
			ContentHash: sum[:], SizeBytes: int64(len(text)), Payload: []byte(text), Resolver: "test/test@1"}
	}
	s := &snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{
		resource(abi.KindInstructionFile, "/w/AGENTS.md", "", "Be brief.\n"),
		resource(abi.KindSkill, "/w/.agents/skills/forms", "forms", "---\nname: forms\ndescription: Of /w/.agents/skills/forms\n---\nDo it.\n"),
	}}
	s.AggregateHash = snapshot.Aggregate(s.Resources)
	_, err = h.Token(t.Context(), "a") // which makes it known
	if err != nil {
		t.Fatal(err)
	}
	generation, _, err := h.Stored.BeginSession(t.Context(), "a", "")
	if err == nil {
		_, err = h.Stored.Push(t.Context(), "a", generation, store.Push{Initial: true, Snapshot: *s})
	}
	if err != nil {
		t.Fatal(err)
	}
	pin, err := h.Stored.CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := hub.CreateToken(t.Context(), h.Stored, store.NewToken{Role: store.RoleReader})
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(h.Web)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path, r.Out.URL.RawPath = "/api/v0/pins/"+pin.ID+"/mcp", ""
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(front.Close)
	return front.URL
}

// hubScenarios are those for servers that apply to a pin's endpoint, which has no sessions
// in either revision and only what is pinned.
var hubScenarios = map[string][]string{
	"server-initialize":           {sessions},
	"ping":                        {sessions},
	"tools-list":                  {sessions, newest},
	"resources-list":              {sessions, newest},
	"prompts-list":                {sessions, newest},
	"sep-2164-resource-not-found": {newest},
	"caching":                     {newest},
	"sep-2640-skills-enumeration": {sessions, newest},
	"sep-2640-skills-manifest":    {sessions, newest},
}

// hubNotRun says why another scenario of serverScenarios isn't run for it.
var hubNotRun = map[string]string{
	"server-session-lifecycle":                  "there are no sessions",
	"server-sse-multiple-streams":               "there are no sessions, and no streams: a request has one answer",
	"server-sse-polling":                        "there are no streams",
	"server-stateless":                          "it calls tools of the suite's own, and hears of changes by a subscription: the hub tells of them by its events",
	"http-header-validation":                    "it calls a tool, and without a capability there are none",
	"sep-2640-skills-directory":                 "of a skill's files a pin has SKILL.md: there are no directories, which its capabilities say",
	"dns-rebinding-protection":                  "what is in front of the hub here has its own address; the hub's tests look at Host and Origin",
	"input-required-result-unsupported-methods": "it is about the SDK's server, which is the same",
}

// hubExceptions are checks of hubScenarios that don't apply. Each has to fail as it says.
var hubExceptions = map[string]exception{
	"sep-2640-skills-manifest": {
		"what is said of the pin beside a resource is Waymark's own, and has its name",
		[]string{"sep-2640-meta-prefix"},
	},
}

// TestHubConformance runs the scenarios that apply to the hub's endpoint for a pin.
func TestHubConformance(t *testing.T) {
	t.Parallel()
	s := install(t)
	address := serveHub(t)
	for name := range serverScenarios {
		if (hubScenarios[name] == nil) == (hubNotRun[name] == "") {
			t.Errorf("the scenario %s is run or has a reason, not both or none", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hubScenarios)) {
		for _, revision := range hubScenarios[name] {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, result := range s.runServer(t, address, "--scenario", name, "--spec-version", revision, "--force") {
					judgeBy(t, hubExceptions[name], result)
				}
			})
		}
	}
}
