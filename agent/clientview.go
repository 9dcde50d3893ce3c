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
	"waymark/host/coverage"
	"waymark/host/push"
	"waymark/internal/clientview"
	"waymark/internal/text"
	"waymark/snapshot"
	"waymark/wire/reverse"
	"waymark/workspace/access"
)

// looking is the handler of a kind with which a hub asks about the files here: refused
// where the operator has that switched off, and with a line in the audit log. answer also
// returns what was asked about, for that line.
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
			return nil, err // and observeReverse has a line of it
		}
		d.services.audit.Record(access.Record{Time: begin, Token: hubCaller, Action: kind, On: on, Code: http.StatusOK, Looks: true})
		return encoded, nil
	}
}

// errUnreadable refuses a request that isn't one.
var errUnreadable = &reverse.Error{Code: reverse.CodeInvalid, Text: "the request can't be read"}

// clientContext answers a hub that asks what a coding agent would see that is started
// where the agent works. Hold is the push's: what the hub isn't pushed it isn't told of
// here either, but for how much that is.
func (d *Agent) clientContext(hold func(*snapshot.Resource) push.Reason) reverse.Handler {
	return d.looking(reverse.KindClientContext, func(ctx context.Context, body []byte) ([]byte, []string, error) {
		request, err := clientview.DecodeRequest(body)
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
		encoded, err := clientview.Encode(forHub(view, d.Current(), d.hub != nil, hold))
		return encoded, []string{client.ID}, err
	})
}

// contextCoverage answers a hub that asks which files lie where agents look and aren't
// used.
func (d *Agent) contextCoverage() reverse.Handler {
	return d.looking(reverse.KindContextCoverage, func(ctx context.Context, _ []byte) ([]byte, []string, error) {
		report, err := d.Coverage(ctx)
		if err != nil {
			return nil, nil, err
		}
		encoded, err := clientview.EncodeCoverage(coverageForHub(report, d.hub != nil))
		return encoded, nil, err
	})
}

// coverageForHub is what a hub is told of a report. One that is the user's own, on this
// machine, is told all; another one how many files there are for each reason: what isn't
// used isn't pushed, and what the files are called may be the operator's own words.
func coverageForHub(report *coverage.Report, own bool) clientview.Coverage {
	c := clientview.Coverage{Groups: make([]clientview.CoverageGroup, 0, len(report.Groups)), Partial: report.Partial}
	for _, g := range report.Groups {
		told := clientview.CoverageGroup{Reason: string(g.Reason), Text: g.Text}
		if !own {
			told.Text, told.Withheld = g.Reason.Count(len(g.Files)), len(g.Files)
			g.Files = nil
		}
		for _, f := range g.Files {
			told.Files = append(told.Files, clientview.CoverageFile{Path: f.Path, As: f.As, Readers: f.Readers})
		}
		c.Groups = append(c.Groups, told)
	}
	return c
}

// forHub is what a hub is told of a view. One that is the user's own, on this machine,
// is told all; another one what the snapshot that is pushed to it has, too.
func forHub(v *codingagents.View, pushed *snapshot.Snapshot, own bool, hold func(*snapshot.Resource) push.Reason) clientview.Answer {
	a := clientview.Answer{
		Client: v.Client, Name: v.Name, Version: v.Version, Judged: v.Judged, Root: v.Root, Project: v.Project,
		Items: make([]clientview.Item, 0, len(v.Items)), Budget: clientview.Budget{
			InstructionBytes: v.Budget.InstructionBytes, UsedBytes: v.Budget.UsedBytes,
			SkillTokens: v.Budget.SkillTokens, WindowTokens: v.Budget.WindowTokens, UsedTokens: v.Budget.UsedTokens,
			Builtin: v.Budget.Builtin, Shortened: v.Budget.Shortened, Dropped: v.Budget.Dropped,
		},
	}
	for i := range codingagents.Clients {
		a.Known = append(a.Known, clientview.Known{Client: codingagents.Clients[i].ID, Name: codingagents.Clients[i].Name})
	}
	told := map[string]bool{}
	for i := range pushed.Resources {
		if r := &pushed.Resources[i]; hold == nil || hold(r) == "" {
			told[r.ID()] = true
		}
	}
	if !own {
		a.Project = v.Root // what lies above isn't pushed
	}
	for i := range v.Items {
		it := &v.Items[i]
		if !own && !told[it.ID] {
			a.Withheld++
			continue
		}
		detail := it.Detail
		if !own && (it.Reason == codingagents.Duplicate || it.ImportedBy != "") {
			detail = "" // it names another file
		}
		a.Items = append(a.Items, clientview.Item{
			ID: it.ID, Kind: string(it.Kind), Path: it.Path, Name: it.Name, Bytes: it.Bytes, Tokens: it.Tokens,
			Included: it.Included, CutBytes: it.CutBytes, Reason: string(it.Reason), Detail: detail,
		})
	}
	return a
}
