package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host/config"
	"waymark/internal/errtext"
)

func (a *app) doctorCommand() *cobra.Command {
	var conn connection
	var s agent.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps an agent from working well here, and say what to do",
		Long: `Doctor looks at this machine, at the places where the agent keeps things, and at the
agent and the hub if they run: limits of the kernel, whether changes of files are
noticed, permissions, tokens, the clock, the configuration. It prints a line for each,
and what to do where something isn't right. It changes nothing.

"warn" is what an agent can live with. The exit code is 1 when anything fails.`,
		Example: `  agent doctor
  agent doctor --json | jq -r '.checks[] | select(.status == "fail").do'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.patient(cmd.Context(), &conn, &s)
			if err != nil {
				return err
			}
			return a.printFindings(p.examine(cmd.Context()), asJSON)
		},
	}
	conn.addFlags(cmd)
	addSettings(cmd, &s)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// health is how bad a finding is.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn" // an agent works, and not as well as it could
	healthFail health = "fail"
)

// finding is what a check has found. Without a status it has nothing to say.
type finding struct {
	Check  string `json:"check"`
	Status health `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do"` // what to do; empty when there is nothing
}

func fine(format string, args ...any) finding { return found(healthOK, "", format, args) }

func worry(do, format string, args ...any) finding { return found(healthWarn, do, format, args) }

func failure(do, format string, args ...any) finding { return found(healthFail, do, format, args) }

// found makes a finding. Errors among args are told in words for people.
func found(status health, do, format string, args []any) finding {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = errtext.Of(err)
		}
	}
	return finding{Status: status, Detail: fmt.Sprintf(format, args...), Do: do}
}

// checks are all checks in the order in which they are told: the machine first,
// since what is wrong there explains the rest.
var checks = []struct {
	name string
	look func(*patient, context.Context) finding
}{
	{"kernel limits", (*patient).kernelLimits},
	{"file events", (*patient).fileEvents},
	{"roots", (*patient).rootDirs},
	{"landlock", (*patient).landlock},
	{"supervisor", (*patient).helper},
	{"clock", (*patient).clock},
	{"places", (*patient).places},
	{"state", (*patient).state},
	{"cache", (*patient).cache},
	{"compiled code", (*patient).compiledCode},
	{"configuration", (*patient).configuration},
	{"plugins", (*patient).pluginDirs},
	{"tokens", (*patient).tokens},
	{"agent", (*patient).agent},
	{"processes", (*patient).processes},
	{"mcp servers", (*patient).servers},
	{"hub", (*patient).hub},
	{"clients", (*patient).clients},
}

// patient is what the checks look at.
type patient struct {
	app      *app
	settings *agent.Settings
	began    time.Time

	paths    *config.Paths // nil when there are none
	pathsErr error

	config    *config.Config // nil when it is wrong
	configErr error

	status    *status.Status // of the running agent; nil when none answers
	statusErr error

	hubURL string // with http or https; empty where that isn't known
	answer hubAnswer
}

// hubAnswer is what a hub says to who has no token.
type hubAnswer struct {
	code int
	date time.Time // its clock when it answered, to a second; zero when it doesn't say
	at   time.Time // ours, in the middle of the call
	took time.Duration
	err  error
}

// askWithin bounds what is asked of agents and hubs: one that takes longer isn't
// well.
const askWithin = 5 * time.Second

// patient asks what several checks need to know.
func (a *app) patient(ctx context.Context, conn *connection, s *agent.Settings) (*patient, error) {
	p := &patient{app: a, settings: s, began: time.Now()}
	if p.paths, p.pathsErr = config.FindPaths(config.Environment{}); p.pathsErr != nil {
		p.paths = nil
	}
	switch {
	case s.ConfigFile != "", p.paths != nil:
		p.config, p.configErr = s.Load(p.paths)
	default:
		p.config = config.Default()
	}
	c, err := conn.reader()
	switch {
	case cli.Code(err) == cli.CodeUsage:
		return nil, err
	case err != nil:
		p.statusErr = err
	default:
		within, cancel := p.within(ctx)
		defer cancel()
		p.status, p.statusErr = c.Status(within)
	}
	p.askHub(ctx)
	return p, nil
}

func (p *patient) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(p.app.Timeout, askWithin))
}

// askHub asks the hub that the agent has started, or that the configuration
// names, whether it is ready.
func (p *patient) askHub(ctx context.Context) {
	switch {
	case p.status != nil && p.status.Hub != "":
		p.hubURL = p.status.Hub
	case p.config != nil && strings.HasPrefix(p.config.Push.URL, "http"):
		p.hubURL = p.config.Push.URL
	default:
		return
	}
	ctx, cancel := p.within(ctx)
	defer cancel()
	began := time.Now()
	defer func() {
		p.answer.took = time.Since(began)
		p.answer.at = began.Add(p.answer.took / 2)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.hubURL, "/")+"/readyz", nil)
	if err != nil {
		p.answer.err = err
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.answer.err = err
		return
	}
	p.answer.err = resp.Body.Close()
	p.answer.code = resp.StatusCode
	p.answer.date, _ = http.ParseTime(resp.Header.Get("Date"))
}

// running reports whether an agent answers.
func (p *patient) running() bool { return p.status != nil }

// nobody reports whether there is no agent, as opposed to one that is not well.
func (p *patient) nobody() bool { return errors.Is(p.statusErr, client.ErrNotRunning) }

// examine makes all checks.
func (p *patient) examine(ctx context.Context) []finding {
	var list []finding
	for _, c := range checks {
		if f := c.look(p, ctx); f.Status != "" {
			f.Check = c.name
			list = append(list, f)
		}
	}
	return list
}

// printFindings prints a line for each, and fails when one of them does.
func (a *app) printFindings(list []finding, asJSON bool) error {
	count := map[health]int{}
	for _, f := range list {
		count[f.Status]++
	}
	var err error
	if asJSON {
		err = term.JSON(a.stdout, struct {
			OK     bool      `json:"ok"` // nothing fails
			Checks []finding `json:"checks"`
		}{count[healthFail] == 0, list})
	} else {
		err = printFindingTable(a.stdout, list)
	}
	if err == nil && count[healthFail] > 0 {
		err = fmt.Errorf("%d of %s failed", count[healthFail], term.Count(len(list), "check"))
	}
	return err
}

func printFindingTable(w io.Writer, list []finding) error {
	t := term.NewTable(w, "STATUS", "CHECK", "DETAIL")
	for _, f := range list {
		text := term.Visible(f.Detail)
		if f.Do != "" {
			text += ": " + term.Visible(f.Do)
		}
		t.Row(string(f.Status), f.Check, text)
	}
	return t.Flush()
}
