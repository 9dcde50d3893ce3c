package catalog_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"waymark/agentapi"
	"waymark/workspace/mcp/catalog"
)

type question struct{ asked, tool string }

// questions are what people and models ask for, in their own words, with the tool that
// would do it. They were written before the search was made better: 23 of them found
// their tool then.
var questions = []question{
	{"leave a comment on the pull request", "github__add_issue_comment"},
	{"which files did this PR change?", "github__get_pull_request_files"},
	{"approve a pull request", "github__create_pull_request_review"},
	{"why did the CI job fail, show me its log", "github__get_job_logs"},
	{"restart the failed github workflow", "github__rerun_workflow_run"},
	{"publish a new version on github with release notes", "github__create_release"},
	{"send a message to the team's slack channel", "slack__post_message"},
	{"what did people say in this thread", "slack__get_thread_replies"},
	{"react with a thumbs up emoji", "slack__add_reaction"},
	{"file a bug in jira", "jira__create_ticket"},
	{"set the ticket to done", "jira__transition_ticket"},
	{"book two hours on a ticket", "jira__log_work"},
	{"what columns does the users table have", "postgres__describe_table"},
	{"why is this SQL query so slow", "postgres__explain"},
	{"find queries that block each other in the database", "postgres__list_locks"},
	{"remove a key from the cache", "redis__delete"},
	{"capture an image of the web page", "browser__screenshot"},
	{"fill in the form field", "browser__type"},
	{"errors in the browser console", "browser__console_messages"},
	{"rename a file", "files__move_file"},
	{"show the folder structure", "files__directory_tree"},
	{"read logs of a crashed pod", "k8s__pod_logs"},
	{"scale the deployment to five replicas", "k8s__scale"},
	{"roll back the last deployment", "k8s__rollout_undo"},
	{"list running docker containers", "docker__list_containers"},
	{"how much do we spend on AWS", "aws__cost_report"},
	{"get the stack trace of an exception from sentry", "sentry__get_event"},
	{"mute an alert for an hour", "grafana__silence_alert"},
	{"schedule a meeting with Anna tomorrow", "gcal__create_event"},
	{"give the customer their money back", "stripe__create_refund"},
}

// later were written after that, and nothing was changed for them.
var later = []question{
	{"is anyone free on thursday afternoon", "gcal__find_free_time"},
	{"put these rows into my google sheet", "gdrive__append_rows"},
	{"convert 3pm Berlin to Tokyo time", "time__convert"},
	{"will it rain this weekend", "weather__forecast"},
	{"which alerts are firing right now", "grafana__list_alerts"},
	{"memory usage of my pods", "k8s__top"},
	{"download a file from the bucket", "aws__s3_get_object"},
	{"open a PR from my branch", "github__create_pull_request"},
	{"who approved this pull request", "github__get_pull_request_reviews"},
	{"what tables are there", "postgres__list_tables"},
	{"click the login button", "browser__click"},
	{"save the page as a pdf", "browser__pdf_save"},
	{"what colors does the design use", "figma__get_variables"},
	{"unpaid invoices of a customer", "stripe__list_invoices"},
	{"assign this to Peter in jira", "jira__assign_ticket"},
	{"find where a function is defined in our repos", "github__search_code"},
	{"write an email but don't send it yet", "gmail__create_draft"},
	{"mark the error as fixed", "sentry__resolve_issue"},
	{"make a docker image", "docker__build"},
	{"run a command inside the pod", "k8s__exec"},
}

// TestQuestions: of some 150 tools the right one is among the first five for at least nine
// of ten questions.
func TestQuestions(t *testing.T) {
	text, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []agentapi.MCPTool
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(line, "|")
		name := strings.TrimSpace(parts[0])
		properties := map[string]any{}
		for _, p := range strings.Fields(parts[2]) {
			properties[p] = map[string]string{"type": "string"}
		}
		schema, err := json.Marshal(properties)
		if err != nil {
			t.Fatal(err)
		}
		server, _, _ := strings.Cut(name, "__")
		all = append(all, agentapi.MCPTool{Name: name, ServerName: server, Description: strings.TrimSpace(parts[1]), Schema: schema})
	}
	for _, list := range [][]question{questions, later} {
		right := 0
		for _, q := range list {
			found := catalog.Tools(all, q.asked, 2000, 5)
			if slices.ContainsFunc(found.Tools, func(tool agentapi.MCPTool) bool { return tool.Name == q.tool }) {
				right++
				continue
			}
			var names []string
			for i := range found.Tools {
				names = append(names, found.Tools[i].Name)
			}
			t.Logf("%s: not %s, but %s", q.asked, q.tool, strings.Join(names, ", "))
		}
		if t.Logf("%d of %d", right, len(list)); right*10 < len(list)*9 {
			t.Errorf("%d of %d questions find their tool", right, len(list))
		}
	}
}
