package agent

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"waymark/agent/server"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/push"
	"waymark/host/why"
	"waymark/hub/api"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/reverse"
	"waymark/workspace/access"
)

// looking returns a handler for requests in which a hub asks about files of this machine.
// It refuses them if the operator has switched them off, and records answered ones in the
// audit log. answer also returns what the request was about, for that record.
func (d *Agent) looking(kind string, answer func(ctx context.Context, body []byte) (encoded []byte, on []string, err error)) reverse.Handler {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		begin := time.Now()
		if d.silent.Load() {
			return nil, &reverse.Error{Code: reverse.CodeDenied, Text: "the agent's configuration has it switched off: [push] clients = false"}
		}
		encoded, on, err := answer(ctx, body)
		switch {
		case errors.Is(err, server.ErrHeld), errors.Is(err, server.ErrStopping), errors.Is(err, applicability.ErrOutside):
			return nil, &reverse.Error{Code: reverse.CodeUnavailable, Text: text.Line(err.Error(), 300)}
		case err != nil:
			return nil, err // observeReverse records it
		}
		d.services.audit.Record(access.Record{Time: begin, Token: hubCaller, Action: kind, On: on, Code: http.StatusOK, Looks: true})
		return encoded, nil
	}
}

// errUnreadable refuses a malformed request.
var errUnreadable = &reverse.Error{Code: reverse.CodeInvalid, Text: "the request can't be read"}

// clientContext answers a hub that asks what a coding agent would see if it were started in
// the working directory. hold is the push's filter: resources that aren't pushed to the hub
// are not shown here either, only counted.
func (d *Agent) clientContext(hold func(*snapshot.Resource) push.Reason) reverse.Handler {
	return d.looking(reverse.KindClientContext, func(ctx context.Context, body []byte) ([]byte, []string, error) {
		request, err := api.DecodeClientRequest(body)
		if err != nil {
			return nil, nil, errUnreadable
		}
		client := codingagents.Lookup(request.Client)
		if client == nil {
			return nil, nil, &reverse.Error{Code: reverse.CodeInvalid, Text: "the rules of this client aren't known, only those of " + strings.Join(codingagents.IDs(), ", ")}
		}
		view, err := d.ClientContext(ctx, client, "")
		if err != nil {
			return nil, nil, err
		}
		encoded, err := api.EncodeClientContext(forHub(view, d.Current(), d.hub != nil, hold))
		return encoded, []string{client.ID}, err
	})
}

// contextCoverage answers a hub that asks which files in places that agents read aren't
// used.
func (d *Agent) contextCoverage() reverse.Handler {
	return d.looking(reverse.KindContextCoverage, func(ctx context.Context, _ []byte) ([]byte, []string, error) {
		report, err := d.Coverage(ctx)
		if err != nil {
			return nil, nil, err
		}
		encoded, err := api.EncodeCoverage(coverageForHub(report, d.hub != nil))
		return encoded, nil, err
	})
}

// coverageForHub reduces a report to what a hub may know. The user's own hub on this
// machine gets all of it. Another hub gets only the number of files for each reason: unused
// files aren't pushed, and their names may come from the operator's configuration.
func coverageForHub(report *why.Coverage, own bool) api.Coverage {
	c := api.Coverage{Groups: make([]api.CoverageGroup, 0, len(report.Groups)), Partial: report.Partial}
	for _, g := range report.Groups {
		told := api.CoverageGroup{Reason: string(g.Reason), Text: g.Text}
		if !own {
			told.Text, told.Withheld = g.Reason.Count(len(g.Files)), len(g.Files)
			g.Files = nil
		}
		for _, f := range g.Files {
			told.Files = append(told.Files, api.CoverageFile{Path: f.Path, As: f.As, Readers: f.Readers})
		}
		c.Groups = append(c.Groups, told)
	}
	return c
}

// forHub reduces a view to what a hub may know. The user's own hub on this machine gets all
// of it. Another hub gets only resources that are also pushed to it.
func forHub(v *codingagents.View, pushed *snapshot.Snapshot, own bool, hold func(*snapshot.Resource) push.Reason) api.ClientContext {
	a := api.ClientContext{
		Client: v.Client, Name: v.Name, Version: v.Version, Judged: v.Judged, Root: v.Root, Project: v.Project,
		Items: make([]snapshot.ClientItem, 0, len(v.Items)), Budget: v.Budget,
	}
	for i := range codingagents.Clients {
		a.Known = append(a.Known, api.KnownClient{Client: codingagents.Clients[i].ID, Name: codingagents.Clients[i].Name})
	}
	told := map[string]bool{}
	for i := range pushed.Resources {
		if r := &pushed.Resources[i]; hold == nil || hold(r) == "" {
			told[r.ID()] = true
		}
	}
	if !own {
		a.Project = v.Root // directories above the root aren't pushed
	}
	for i := range v.Items {
		it := v.Items[i].ClientItem
		if !own && !told[it.ID] {
			a.Withheld++
			continue
		}
		if !own && (it.Reason == snapshot.ClientDuplicate || it.ImportedBy != "") {
			it.Detail = "" // it names another file
		}
		it.Description, it.Imports, it.ImportedBy = "", nil, "" // long, or other files
		a.Items = append(a.Items, it)
	}
	return a
}
