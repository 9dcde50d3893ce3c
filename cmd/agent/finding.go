package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/internal/errtext"
)

// health is the severity of a finding.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn" // an agent works, but not as well as it could
	healthFail health = "fail"
)

// finding is the result of a check. Without a status there is nothing to report.
type finding struct {
	Check  string `json:"check"`
	Status health `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do"` // what to do; empty if nothing
}

func fine(format string, args ...any) finding { return found(healthOK, "", format, args) }

func worry(do, format string, args ...any) finding { return found(healthWarn, do, format, args) }

func failure(do, format string, args ...any) finding { return found(healthFail, do, format, args) }

// found makes a finding. It formats errors among args for people.
func found(status health, do, format string, args []any) finding {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = errtext.Of(err)
		}
	}
	return finding{Status: status, Detail: fmt.Sprintf(format, args...), Do: do}
}

// patient is what the checks examine.
type patient struct {
	app      *app
	settings *agent.Settings
	began    time.Time

	paths    *config.Paths // nil if there are none
	pathsErr error

	config    *config.Config // nil if it is invalid
	configErr error

	status    *status.Status // of the running agent; nil if none answers
	statusErr error

	hubURL string // http or https; empty if unknown
	answer hubAnswer
}

// hubAnswer is a hub's answer to a request without a token.
type hubAnswer struct {
	code int
	date time.Time // the hub's clock when it answered, to a second; zero if not given
	at   time.Time // our clock, in the middle of the call
	took time.Duration
	err  error
}

// askWithin limits each request to agents and hubs: one that takes longer has a fault.
const askWithin = 5 * time.Second

// patient gathers what several checks need.
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

// askHub asks the hub that the agent runs, or that the configuration names, whether it is
// ready.
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

// nobody reports whether no agent runs, as opposed to one that has a fault.
func (p *patient) nobody() bool { return errors.Is(p.statusErr, client.ErrNotRunning) }
