package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"waymark/abi"
	"waymark/host/config"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/approval"
	"waymark/wire/reverse"
	"waymark/workspace/access"
)

// agentIDs are the ids by which a signed approval may name this agent: what this
// machine knows itself, since a hub could pass on to one what another one was given.
type agentIDs struct {
	mu  sync.Mutex // guards ids
	ids []string
}

// set takes them from the configuration and the agents' own hub, which may be nil.
func (a *agentIDs) set(c *config.Config, own *Hub) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = nil
	if c.Push.Agent != "" {
		a.ids = append(a.ids, c.Push.Agent)
	}
	if own != nil {
		a.ids = append(a.ids, own.AgentID)
	}
}

func (a *agentIDs) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ids)
}

// hubCaller is who the audit log says it was when a hub has asked for something, in
// the place of a token's id.
const hubCaller = "hub"

// prepare adds to a push's options what all of them have: who counts it, and what the
// hub may ask.
func (d *Agent) prepare(opts *push.Options) *push.Options {
	opts.Observe, opts.Describe = d.observePush, d.describe
	opts.Reverse = push.Reverse{Handlers: d.services.remote.Handlers(), Observe: d.observeReverse}
	opts.Reverse.Handlers[reverse.KindClientContext] = d.clientContext(opts.Hold)
	opts.Reverse.Handlers[reverse.KindContextCoverage] = d.contextCoverage()
	opts.Reverse.Handlers[reverse.KindSkillFiles] = d.skillManifests(opts.Hold)
	if d.signed != nil {
		opts.Reverse.SetApprovals = d.setApprovals
	}
	return opts
}

// describe says to people who look at a hub which agent this is.
func (d *Agent) describe() push.Description {
	hostname, _ := os.Hostname() // it may have none
	return push.Description{Hostname: hostname, Root: d.workspace.currentRoot(), Version: d.opts.Version}
}

// setApprovals hands over the signed approvals that a hub has for this agent. The audit
// log has a line where they are others than before.
func (d *Agent) setApprovals(_ context.Context, list [][]byte) error {
	begin := time.Now()
	d.approvalsMu.Lock()
	defer d.approvalsMu.Unlock()
	d.signed(list)
	if slices.EqualFunc(d.approvals, list, bytes.Equal) {
		return nil // as where there never were any
	}
	d.approvals = slices.Clone(list)
	record := access.Record{Time: begin, Token: hubCaller, Action: reverse.KindSetApprovals, Code: http.StatusOK, Owner: true}
	for _, document := range list {
		record.Bytes += int64(len(document))
		// It is named as it names itself; whether it counts is decided elsewhere.
		if claim, err := approval.Inspect(document); err == nil && len(record.On) < maxApprovalsNoted {
			record.On = append(record.On, claim.ID)
		}
	}
	d.services.audit.Record(record)
	return nil
}

// skillManifests tells a hub of the files of skills that are pushed to it: their paths,
// sizes and digests, for who has pinned them. Hold is the push's. It is switched off with
// what coding agents see.
func (d *Agent) skillManifests(hold func(*snapshot.Resource) push.Reason) reverse.Handler {
	return d.looking(reverse.KindSkillFiles, func(ctx context.Context, body []byte) ([]byte, []string, error) {
		begin := time.Now()
		var request reverse.SkillFilesRequest
		if json.Unmarshal(body, &request) != nil || len(request.IDs) > reverse.MaxSkillIDs {
			return nil, nil, errUnreadable
		}
		pushed := map[string]bool{}
		current := d.Current()
		for i := range current.Resources {
			if r := &current.Resources[i]; r.Kind == abi.KindSkill && (hold == nil || hold(r) == "") {
				pushed[r.ID()] = true
			}
		}
		var list []reverse.SkillManifest
		for _, id := range request.IDs {
			if time.Since(begin) > manifestsFor && len(list) > 0 {
				break // the hub asks again for the rest
			}
			one := reverse.SkillManifest{ID: id}
			if pushed[id] {
				files, err := d.SkillFiles(ctx, id)
				if ctx.Err() != nil {
					return nil, nil, ctx.Err()
				}
				// A manifest that hasn't all is none.
				if err == nil && files.Omitted == 0 {
					for _, f := range files.Files {
						one.Files = append(one.Files, reverse.SkillFile{Path: f.Path, Digest: f.Digest, Size: f.SizeBytes})
					}
				}
			}
			list = append(list, one)
		}
		encoded, err := reverse.EncodeSkillFiles(list)
		return encoded, nil, err
	})
}

// manifestsFor is how long manifests are made before those that there are are sent.
const manifestsFor = time.Second

// maxApprovalsNoted bounds a line of the audit log.
const maxApprovalsNoted = 64

// observeReverse puts what a hub was refused into the audit log.
func (d *Agent) observeReverse(s reverse.Served) {
	d.log.Debug("the hub has asked", slog.String("kind", s.Kind), slog.Uint64("code", s.Code), slog.Duration("took", s.Duration))
	if s.Code == 0 || (s.Kind == reverse.KindToolsCall || s.Kind == reverse.KindSkillFile) && s.Code != wire.CodeUnauthorized {
		return // or package hubcalls has a line of it, which says for whom it was
	}
	code := http.StatusInternalServerError
	switch s.Code {
	case wire.CodeUnauthorized:
		code = http.StatusUnauthorized
	case reverse.CodeDenied:
		code = http.StatusForbidden
	case wire.CodeUnimplemented:
		code = http.StatusNotImplemented
	case reverse.CodeInvalid:
		code = http.StatusBadRequest
	}
	d.services.audit.Record(access.Record{
		Time: time.Now().Add(-s.Duration), Token: hubCaller, Action: s.Kind, Digest: s.Digest, Bytes: int64(s.Bytes), Code: code, Looks: true,
	})
}
