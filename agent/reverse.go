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

// agentIDs are the ids by which a signed approval may name this agent. They come from this
// machine alone, because a hub could pass on approvals that were made for another agent.
type agentIDs struct {
	mu  sync.Mutex // guards ids
	ids []string
}

// set derives the ids from the configuration and the shared hub, which may be nil.
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

// hubCaller stands for a token's id in audit records of a hub's requests.
const hubCaller = "hub"

// prepare completes a push's options with its observer and the handlers for the hub's
// requests.
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

// describe returns how people recognize this agent at a hub.
func (d *Agent) describe() push.Description {
	hostname, _ := os.Hostname() // left out if there is none
	return push.Description{Hostname: hostname, Root: d.workspace.currentRoot(), Version: d.opts.Version}
}

// setApprovals takes over the signed approvals that a hub has for this agent. It writes an
// audit record if they have changed.
func (d *Agent) setApprovals(_ context.Context, list [][]byte) error {
	begin := time.Now()
	d.approvalsMu.Lock()
	defer d.approvalsMu.Unlock()
	d.signed(list)
	if slices.EqualFunc(d.approvals, list, bytes.Equal) {
		return nil // unchanged, which includes none before and none now
	}
	d.approvals = slices.Clone(list)
	record := access.Record{Time: begin, Token: hubCaller, Action: reverse.KindSetApprovals, Code: http.StatusOK, Owner: true}
	for _, document := range list {
		record.Bytes += int64(len(document))
		// The id is only a claim; whether the approval counts is decided elsewhere.
		if claim, err := approval.Inspect(document); err == nil && len(record.On) < maxApprovalsNoted {
			record.On = append(record.On, claim.ID)
		}
	}
	d.services.audit.Record(record)
	return nil
}

// skillManifests tells a hub which files skills have: their paths, sizes and digests. It
// answers only for skills that are pushed to the hub (hold is the push's filter), and only if
// the hub may ask what coding agents see.
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
				// An incomplete manifest counts as none.
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

// manifestsFor is how long to collect manifests before sending those that are ready.
const manifestsFor = time.Second

// maxApprovalsNoted limits the ids in a record of the audit log.
const maxApprovalsNoted = 64

// observeReverse records refused requests of a hub in the audit log.
func (d *Agent) observeReverse(s reverse.Served) {
	d.log.Debug("the hub has asked", slog.String("kind", s.Kind), slog.Uint64("code", s.Code), slog.Duration("took", s.Duration))
	if s.Code == 0 || (s.Kind == reverse.KindToolsCall || s.Kind == reverse.KindMCPRequest || s.Kind == reverse.KindSkillFile) && s.Code != wire.CodeUnauthorized {
		return // package hubcalls records it, with its chat
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
