// Package servertest has a Backend without an engine, for tests of both ends of the local
// API.
package servertest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"waymark/agentapi/status"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/plugin/approvals"
	"waymark/host/push"
	"waymark/host/sources"
	"waymark/host/why"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
)

// Backend is an agent without an engine. The zero value has no snapshot. Set its exported
// fields before using it.
type Backend struct {
	// Report is what Status returns.
	Report status.Status
	// Fail, if set, is returned by every method that has an error.
	Fail error
	// Block makes every method with a context, except Wait, block until the context ends.
	Block bool
	// During, if set, is called by Resync.
	During func()
	// Waiting is what WaitingPlugins returns.
	Waiting []approvals.Pending
	// Bodies are what Body returns, by id.
	Bodies map[string][]byte
	// Skills are the contents of skills' files, by resource id and path.
	Skills map[string]map[string]string
	// Discovery is the discovery of published snapshots.
	Discovery snapshot.Discovery
	// Panic, if set, is what Status panics with.
	Panic any

	published snapshot.Publisher

	mu   sync.Mutex // guards the fields below
	list []sources.Source
	seen Seen
}

// Seen records the arguments of calls.
type Seen struct {
	Root           string
	Ready, Retried int // number of calls
	Approved       []string
}

// New makes a Backend with one source and one published snapshot that has a resource of
// every kind of payload.
func New() *Backend {
	f := &Backend{}
	f.Publish("# Hello\n")
	hash := sha256.Sum256([]byte("x"))
	f.Report = status.Status{
		PID: 42, AgentVersion: "v1.2.3", StartedAt: time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC), UptimeSeconds: 1.5,
		Roots: []string{"/w"}, Version: 1, Resources: 3, Hub: "http://127.0.0.1:7878", Watch: status.Watch{Mode: "notify", Directories: 3},
		Plugins: []snapshot.Plugin{{Name: "waymark", Version: "1.0.0", Path: "builtin", State: snapshot.PluginReady}},
		Push: &push.Status{
			Peer: "unix:/run/hub.sock", State: push.StateConnected, Protocol: "waymark.v1",
			LastAccepted: &push.AcceptedPush{Version: 1, Hash: hash[:], At: time.Date(2026, 9, 1, 8, 0, 1, 0, time.UTC)},
			HeldBack:     push.HeldBack{Count: 1, Reasons: map[push.Reason]int{push.ReasonKind: 1}},
			Reverse:      push.ReverseStatus{State: push.ReverseOpen},
		},
	}
	f.Waiting = []approvals.Pending{{
		Name: "acme", Version: "1.1.0", Path: "/p/acme.wasm", Digest: "2c26", Reason: "it reads more than before: docs/**",
		NewReads: []string{"docs/**"}, Reads: []string{".acme", "docs/**"}, GrantSecrets: []string{}, ServingVersion: "1.0.0", ServingDigest: "fcde",
	}}
	f.list = []sources.Source{{Path: Source, Exists: true, Origin: sources.OriginAPI}}
	return f
}

// The source and the resources that New publishes, named after their payload.
const (
	TextID   = "instruction_file:/w/50%/AGENTS.md"
	BytesID  = "command:/w/x#k/1"
	BigID    = "skill:/w/.agents/skills/big" // oversize
	SecretID = "mcp_config:/w/.mcp.json"     // never has a payload
	Source   = "/home/me/50% of #1?/a b"
)

// Publish publishes a snapshot in which the instruction file has this text.
func (f *Backend) Publish(text string) *snapshot.Snapshot {
	hash := sha256.Sum256([]byte(text))
	s, _ := f.published.Publish(f.published.Begin(), snapshot.Content{Resources: []snapshot.Resource{
		{Kind: "command", Source: "/w/x", Key: "k/1", Status: snapshot.StatusOK, Payload: []byte("\x00\xff"), Resolver: "acme/x@1.0.0"},
		{
			Kind: "instruction_file", Source: "/w/50%/AGENTS.md", Status: snapshot.StatusOK, Payload: []byte(text),
			Description: "Hello", ContentHash: hash[:], SizeBytes: int64(len(text)), Resolver: "waymark/context@1.0.0",
			Attributes: snapshot.Attributes{"mode": {Text: "glob"}, "globs": {List: []string{"*.ts"}}},
		},
		{Kind: "mcp_config", Source: "/w/.mcp.json", Status: snapshot.StatusOK, ContentHash: hash[:], SizeBytes: 3},
		{Kind: "skill", Source: "/w/.agents/skills/big", Name: "big", Status: snapshot.StatusOversize, Error: "81920 bytes", SizeBytes: 81920},
	}, Plugins: []snapshot.Plugin{{Name: "waymark", Path: "builtin", State: snapshot.PluginReady, Resolvers: snapshot.Names{"instructions"}}}, Discovery: f.Discovery})
	return s
}

// PublishResources publishes a snapshot of resources.
func (f *Backend) PublishResources(resources ...snapshot.Resource) *snapshot.Snapshot {
	s, _ := f.published.Publish(f.published.Begin(), snapshot.Content{Resources: resources, Discovery: f.Discovery})
	return s
}

// end returns what a method with a context returns.
func (f *Backend) end(ctx context.Context) error {
	if f.Block {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return f.Fail
}

// SetSources replaces the list of sources.
func (f *Backend) SetSources(list ...sources.Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
}

// Seen returns the arguments of the calls so far.
func (f *Backend) Seen() Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// Status returns Report, or panics with Panic.
func (f *Backend) Status() status.Status {
	if f.Panic != nil {
		panic(f.Panic)
	}
	return f.Report
}

// Current returns the newest snapshot.
func (f *Backend) Current() *snapshot.Snapshot { return f.published.Current() }

// Wait waits for a newer snapshot.
func (f *Backend) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	if f.Fail != nil {
		return nil, f.Fail
	}
	return f.published.Wait(ctx, after)
}

// Resync calls During and returns the newest snapshot.
func (f *Backend) Resync(ctx context.Context) (*snapshot.Snapshot, error) {
	if f.During != nil {
		f.During()
	}
	return f.Current(), f.end(ctx)
}

// Body returns the entry of Bodies.
func (f *Backend) Body(ctx context.Context, id string) ([]byte, error) {
	return f.Bodies[id], f.end(ctx)
}

// Why finds every file.
func (f *Backend) Why(ctx context.Context, path string) (why.Answer, error) {
	return why.Answer{Path: path, Found: true, Reason: why.ReasonFound}, f.end(ctx)
}

// For answers as if the workspace were the whole file system: each resource of the newest
// snapshot applies to files below its directory.
func (f *Backend) For(ctx context.Context, path string) (*applicability.Answer, error) {
	if err := applicability.CheckPath(path); err != nil {
		return nil, err
	}
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	in := applicability.Input{Path: filepath.Clean(path), Root: "/"}
	resources := f.Current().Resources
	for i := range resources {
		r := &resources[i]
		in.Finds = append(in.Finds, applicability.Find{Resource: r, Path: r.Source, Base: filepath.Dir(r.Source)})
	}
	answer, err := applicability.Of(ctx, in)
	if err == nil {
		answer.Path = path
	}
	return answer, err
}

// clientInput presents the newest snapshot as a client's input: only an AGENTS.md in its
// directory.
func (f *Backend) clientInput(ctx context.Context, client *codingagents.Client, dir string) (codingagents.Input, error) {
	in := codingagents.Input{Client: client, Start: cmp.Or(dir, "/w/50%")}
	if err := applicability.CheckPath(in.Start); err != nil {
		return in, err
	}
	in.Looked = codingagents.Directories(client, in.Start, "", "")
	resources := f.Current().Resources
	for i := range resources {
		if r := resources[i]; filepath.Base(r.Source) == "AGENTS.md" {
			r.Convention, r.Attributes = "agents-md", nil
			in.Finds = append(in.Finds, codingagents.Find{Directory: filepath.Dir(r.Source), Path: r.Source, Resource: r})
		}
	}
	return in, f.end(ctx)
}

// ClientContext shows a client the instructions of the newest snapshot.
func (f *Backend) ClientContext(ctx context.Context, client *codingagents.Client, dir string) (*codingagents.View, error) {
	in, err := f.clientInput(ctx, client, dir)
	if err != nil {
		return nil, err
	}
	return codingagents.Of(in), nil
}

// ForClient answers with the instructions of the newest snapshot.
func (f *Backend) ForClient(ctx context.Context, client *codingagents.Client, path string) (*applicability.Answer, error) {
	if err := applicability.CheckPath(path); err != nil {
		return nil, err
	}
	in, err := f.clientInput(ctx, client, "")
	if err != nil {
		return nil, err
	}
	return codingagents.For(in, filepath.Clean(path)).Answer(path), nil
}

// WhyClient judges the instructions of the newest snapshot.
func (f *Backend) WhyClient(ctx context.Context, client *codingagents.Client, paths ...string) ([]codingagents.Verdict, error) {
	in, err := f.clientInput(ctx, client, "")
	if err != nil {
		return nil, err
	}
	view := codingagents.For(in, in.Start+"/x")
	verdicts := make([]codingagents.Verdict, len(paths))
	for i, path := range paths {
		verdicts[i] = view.Verdict(path, client.Place(path))
	}
	return verdicts, nil
}

// SkillFiles lists the files of a skill in Skills.
func (f *Backend) SkillFiles(ctx context.Context, id string) (*status.SkillFiles, error) {
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	files, ok := f.Skills[id]
	if !ok {
		return nil, noSkill
	}
	list := &status.SkillFiles{ID: id, Files: []status.SkillFile{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list.Files = append(list.Files, status.SkillFile{
			Path: name, SizeBytes: int64(len(files[name])), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(files[name]))),
		})
	}
	return list, nil
}

// SkillFile reads a file in Skills.
func (f *Backend) SkillFile(ctx context.Context, id, file string) ([]byte, error) {
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	body, ok := f.Skills[id][file]
	if !ok {
		return nil, noSkill
	}
	return []byte(body), nil
}

var noSkill = &problem.Error{Code: http.StatusNotFound, Message: "no such file of a skill"}

// Coverage returns one unused file.
func (f *Backend) Coverage(ctx context.Context) (*why.Coverage, error) {
	file := why.CoverageFile{Path: "/w/.cursorignore", Convention: "cursor-ignore", As: "ignore lists", Readers: []string{"cursor"}}
	return &why.Coverage{Groups: []why.CoverageGroup{
		{Reason: why.NoKind, Text: "1 file that no kind fits (ignore lists)", Files: []why.CoverageFile{file}},
	}}, f.end(ctx)
}

// Sources lists the sources.
func (f *Backend) Sources() []sources.Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sources.Source(nil), f.list...)
}

// AddSource adds a source with any absolute path.
func (f *Backend) AddSource(ctx context.Context, path string, persist bool) (sources.Source, bool, error) {
	if err := f.end(ctx); err != nil {
		return sources.Source{}, false, err
	}
	if !filepath.IsAbs(path) {
		return sources.Source{}, false, fmt.Errorf("%w: %q", sources.ErrRelative, path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.list {
		if s.Path == path {
			return s, false, nil
		}
	}
	s := sources.Source{Path: path, Persisted: persist, Origin: sources.OriginAPI}
	f.list = append(f.list, s)
	return s, true, nil
}

// RemoveSource removes the source with exactly that path.
func (f *Backend) RemoveSource(ctx context.Context, path string) error {
	if err := f.end(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, s := range f.list {
		if s.Path == path {
			f.list = append(f.list[:i], f.list[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("%w: %s", sources.ErrNotFound, path)
}

// SetRoot records the path.
func (f *Backend) SetRoot(ctx context.Context, path string) error {
	f.mu.Lock()
	f.seen.Root = path
	f.mu.Unlock()
	return f.end(ctx)
}

// Ready counts its calls.
func (f *Backend) Ready(ctx context.Context) error {
	f.mu.Lock()
	f.seen.Ready++
	f.mu.Unlock()
	return f.end(ctx)
}

// RetryPlugins counts its calls.
func (f *Backend) RetryPlugins(ctx context.Context) error {
	f.mu.Lock()
	f.seen.Retried++
	f.mu.Unlock()
	return f.end(ctx)
}

// WaitingPlugins returns Waiting.
func (f *Backend) WaitingPlugins() []approvals.Pending { return f.Waiting }

// ApprovePlugin finds the module in Waiting, and records its approval.
func (f *Backend) ApprovePlugin(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	for i := range f.Waiting {
		if p := &f.Waiting[i]; p.Name == name && p.Digest == digest {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen.Approved = append(f.seen.Approved, name)
			return p, nil
		}
	}
	return nil, &problem.Error{Code: http.StatusNotFound, Message: "no such module waits for approval"}
}
