package mcp_test

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"waymark/abi"
	"waymark/agent/server/servertest"
	agentclient "waymark/agentapi/client"
	"waymark/agentapi/client/fake"
	"waymark/snapshot"
	"waymark/workspace/mcpserver"
	"waymark/workspace/mcpserver/tools"
)

// serve starts Waymark's own server over HTTP, for an agent in memory with a skill.
func serve(t *testing.T) (url string) {
	t.Helper()
	engine := &servertest.Backend{Skills: map[string]map[string]string{}}
	engine.Report.Roots = []string{"/workspace"}
	const text = "---\nname: forms\ndescription: Fills in forms\nmetadata:\n  version: \"1\"\n---\nDo it.\n"
	r := snapshot.Resource{Kind: abi.KindSkill, Source: "/workspace/skills/forms", Name: "forms", Description: "Fills in forms", Status: snapshot.StatusOK, Payload: []byte(text)}
	engine.Skills[r.ID()] = map[string]string{"SKILL.md": text, "references/fields.md": "# Fields\n"}
	engine.PublishResources(r, snapshot.Resource{Kind: abi.KindInstructionFile, Source: "/workspace/AGENTS.md", Name: "AGENTS.md", Status: snapshot.StatusOK, Payload: []byte("Be brief.\n")})
	agent := fake.New(fake.Options{Engine: engine})
	server := mcpserver.New(mcpserver.Options{Offer: tools.All(), Dial: func(context.Context) (agentclient.Client, error) { return agent, nil }})
	ctx, cancel := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- server.Run(ctx) }()
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		cancel()
		if err := errors.Join(<-followed, agent.Close()); err != nil {
			t.Error(err)
		}
	})
	return web.URL
}

// runServer runs scenarios against the server.
func (s suite) runServer(t *testing.T, url string, args ...string) map[string]result {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{"server", "--url", url, "-o", dir}, args...)
	said, err := s.command(t, args...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) { // it fails with the scenarios that don't apply, too
		t.Fatalf("%v\n%s", err, said)
	}
	results := readResults(t, dir)
	if len(results) == 0 {
		t.Fatalf("the suite has no results; it says:\n%s", said)
	}
	return results
}

// The revisions whose scenarios are run.
const (
	newest   = "2026-07-28"
	sessions = "2025-11-25"
)

// serverScenarios are those that ask nothing of what a server offers but what ours does,
// with the revisions that they are run for.
var serverScenarios = map[string][]string{
	"server-initialize":                         {sessions},
	"server-session-lifecycle":                  {sessions},
	"server-stateless":                          {newest},
	"ping":                                      {sessions},
	"tools-list":                                {sessions, newest},
	"resources-list":                            {sessions, newest},
	"prompts-list":                              {sessions, newest},
	"server-sse-multiple-streams":               {sessions, newest},
	"server-sse-polling":                        {sessions},
	"sep-2164-resource-not-found":               {newest},
	"dns-rebinding-protection":                  {sessions, newest},
	"caching":                                   {newest},
	"http-header-validation":                    {newest},
	"sep-2640-skills-directory":                 {sessions, newest},
	"sep-2640-skills-enumeration":               {sessions, newest},
	"sep-2640-skills-manifest":                  {sessions, newest},
	"input-required-result-unsupported-methods": {newest},
}

// serverExceptions are checks of these that don't apply. Each has to fail as it says.
var serverExceptions = map[string]exception{
	"server-stateless": {
		"they call tools of the suite's own, which ask the user, need what a client doesn't have, or log; and one changes the lists by such a tool",
		[]string{
			"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400", "sep-2575-http-server-no-independent-requests-on-stream",
			"sep-2575-server-no-log-without-loglevel", "sep-2575-server-sends-prompts-list-changed-on-subscription", "sep-2575-server-sends-tools-list-changed-on-subscription",
		},
	},
	"server-sse-polling": {
		"streams aren't resumed: a client that comes back asks again",
		[]string{"server-sse-priming-event", "server-sse-retry-field"},
	},
}

// serverNotRun says why a scenario isn't run, by a pattern of names.
var serverNotRun = []struct{ names, because string }{
	{`tools-call-.*|resources-(read|templates)-.*|prompts-get-.*|json-schema-2020-12|http-custom-header-server-validation`,
		"it is about a tool, a resource or a prompt of the suite's own, with a fixed name"},
	{`input-required-result-.*|elicitation-.*`, "the user is never asked, nor a client's model: a tool ends in one round"},
	{`resources-(un)?subscribe`, "resources can't be subscribed to: a change of the list is told"},
	{`completion-complete`, "there is nothing to complete"},
	{`logging-set-level`, "nothing is logged to clients"},
	{`tasks-.*`, "an extension, which go-sdk doesn't have: a command that takes long is a process, with an id"},
}

// TestServerConformance runs the scenarios for servers that apply to our own, of the two
// revisions that clients speak, and those of the skills extension.
func TestServerConformance(t *testing.T) {
	t.Parallel()
	s := install(t)
	url := serve(t)
	for _, name := range slices.Sorted(maps.Keys(serverScenarios)) {
		for _, revision := range serverScenarios[name] {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, result := range s.runServer(t, url, "--scenario", name, "--spec-version", revision, "--force") {
					judgeBy(t, serverExceptions[name], result)
				}
			})
		}
	}
	// What the suite gets with a new version is looked at, too.
	listed, err := s.command(t, "list", "--server").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^ +- (\S+) \[`).FindAllSubmatch(listed, -1)
	if len(all) < 60 {
		t.Errorf("the suite lists only %d scenarios:\n%s", len(all), listed)
	}
	for _, match := range all {
		name := string(match[1])
		known := serverScenarios[name] != nil
		for _, not := range serverNotRun {
			known = known || regexp.MustCompile("^("+not.names+")$").MatchString(name)
		}
		if !known {
			t.Errorf("the scenario %s isn't run: run it, or say why it doesn't apply", name)
		}
	}
}
