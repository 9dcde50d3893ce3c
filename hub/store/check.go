package store

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/internal/credential"
	"waymark/snapshot"
)

const (
	// maxName limits ids and names given by operators, in bytes.
	maxName = 128
	// maxScope limits the agents in a token's scope, which is read with every request.
	maxScope = 1000
	// MaxResourceID limits a resource's id, in bytes. Together with an agent's id it must
	// fit into an index row of PostgreSQL, which has some 2700 bytes. A hub allows 1024
	// each for source and key.
	MaxResourceID = 2304
)

// Check reports whether every store can hold the token.
func (t *NewToken) Check() error {
	switch {
	case t.Role.Kind() == (credential.Kind{}):
		return fmt.Errorf("%w: role %q is not one of agent, reader, operator", ErrInvalid, t.Role)
	case t.Role != RoleAgent && t.AgentID != "":
		return fmt.Errorf("%w: a token of role %s belongs to no agent", ErrInvalid, t.Role)
	case t.Role == RoleAgent && t.Scope != nil:
		return fmt.Errorf("%w: an agent token has no scope, it belongs to its agent", ErrInvalid)
	case t.Role == RoleOperator && t.Scope != nil:
		return fmt.Errorf("%w: an operator token has no scope: it is for all agents", ErrInvalid)
	case t.Role != RoleReader && t.ScopeLabels != nil:
		return fmt.Errorf("%w: only a reader's token has a scope of labels", ErrInvalid)
	case t.ScopeLabels != nil && len(t.ScopeLabels) == 0:
		return fmt.Errorf("%w: the scope names no label", ErrInvalid)
	case t.Scope != nil && len(t.Scope) == 0:
		// An empty list must not be mistaken for nil.
		return fmt.Errorf("%w: the scope names no agent", ErrInvalid)
	case len(t.Scope) > maxScope:
		return fmt.Errorf("%w: the scope names %d agents, at most %d are allowed", ErrInvalid, len(t.Scope), maxScope)
	case t.Hash == credential.Hash{}:
		return fmt.Errorf("%w: the token has no hash", ErrInvalid)
	}
	if err := CheckName(t.Name); err != nil {
		return err
	}
	if err := t.ScopeLabels.Check(); err != nil {
		return err
	}
	for _, id := range t.Scope {
		if err := CheckAgentID(id); err != nil {
			return err
		}
	}
	if t.AgentID == "" {
		return nil
	}
	return CheckAgentID(t.AgentID)
}

// CheckName checks whether every store can hold the name of a token or an agent.
func CheckName(name string) error {
	if len(name) > maxName || !isText(name) {
		return fmt.Errorf("%w: a name is at most %d bytes of UTF-8 without NUL", ErrInvalid, maxName)
	}
	return nil
}

// CheckAgentID checks whether id can be an agent's id. Ids appear in URLs and logs, so they
// consist of letters, digits and . _ @ : - and begin with a letter or digit.
func CheckAgentID(id string) error {
	ok := id != "" && len(id) <= maxName
	for i, c := range []byte(id) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._@:-", rune(c))) {
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("%w: agent id %q: use at most %d letters, digits and . _ @ : - and begin with a letter or digit",
			ErrInvalid, id, maxName)
	}
	return nil
}

// CheckPush checks whether every store can hold the push: text is UTF-8 without NUL,
// numbers fit into 63 bits, ids are present and unique, and only a push that names its base
// is partial. Implementations call it first.
func CheckPush(p *Push) error {
	s := &p.Snapshot
	if s.Version > math.MaxInt64 {
		return fmt.Errorf("%w: version %d is too large", ErrInvalid, s.Version)
	}
	if !isText(s.SnapshotError) {
		return fmt.Errorf("%w: snapshot error is not UTF-8 without NUL", ErrInvalid)
	}
	if slices.ContainsFunc(s.Discovery.Sources, func(o snapshot.SourceOutcome) bool {
		return notText(o.ID) || notText(o.Name) || notText(string(o.Outcome)) || notText(o.Error)
	}) {
		return fmt.Errorf("%w: a source of the discovery is not UTF-8 without NUL", ErrInvalid)
	}
	if err := checkUpdate(p); err != nil {
		return err
	}
	if err := checkBodies(p); err != nil {
		return err
	}
	ids := make(map[string]struct{}, len(s.Resources))
	for i := range s.Resources {
		r := &s.Resources[i]
		if err := checkResource(r); err != nil {
			return fmt.Errorf("%w: resource %d: %w", ErrInvalid, i, err)
		}
		id := r.ID()
		if _, dup := ids[id]; dup {
			return fmt.Errorf("%w: resource %d: id %q appears twice", ErrInvalid, i, id)
		}
		ids[id] = struct{}{}
	}
	for _, id := range p.removed() {
		if !isText(id) {
			return fmt.Errorf("%w: a removed id is not UTF-8 without NUL", ErrInvalid)
		}
		if _, dup := ids[id]; dup {
			return fmt.Errorf("%w: removed id %q appears twice", ErrInvalid, id)
		}
		ids[id] = struct{}{}
	}
	for i := range s.Plugins {
		p := &s.Plugins[i]
		texts := append([]string{p.Name, p.Version, p.Digest, p.Path, string(p.State), p.Error}, p.Resolvers...)
		if !slices.ContainsFunc(texts, notText) {
			continue
		}
		return fmt.Errorf("%w: plugin %d: a field is not UTF-8 without NUL", ErrInvalid, i)
	}
	return nil
}

// removed returns the ids that a push removes.
func (p *Push) removed() []string {
	if p.Update == nil {
		return nil
	}
	return p.Update.Removed
}

// checkUpdate checks that a partial push names its base.
func checkUpdate(p *Push) error {
	c, s := p.Update, &p.Snapshot
	if c == nil {
		return nil
	}
	head := len(s.Plugins) > 0 || len(s.Discovery.Sources) > 0 || len(s.AggregateHash) > 0 || s.SnapshotError != ""
	switch {
	case p.Initial:
		return fmt.Errorf("%w: a change needn't be said to be initial", ErrInvalid)
	case !p.Partial() && (!c.Head || len(c.Removed) > 0):
		return fmt.Errorf("%w: everything has a head, and removes nothing", ErrInvalid)
	case !c.Head && head:
		return fmt.Errorf("%w: a head that doesn't count", ErrInvalid)
	}
	return nil
}

// checkBodies checks Bodies against the resources. BodyDigests checks the digests of
// payloads, because it computes them anyway.
func checkBodies(p *Push) error {
	for i, body := range p.Bodies {
		switch {
		case i < 0 || i >= len(p.Snapshot.Resources):
			return fmt.Errorf("%w: a body of resource %d, of %d resources", ErrInvalid, i, len(p.Snapshot.Resources))
		case body.Size < 0:
			return fmt.Errorf("%w: resource %d: the size of the body is negative", ErrInvalid, i)
		}
		if payload := p.Snapshot.Resources[i].Payload; payload != nil && int64(len(payload)) != body.Size {
			return fmt.Errorf("%w: resource %d: the body has %d bytes and should have %d", ErrInvalid, i, len(payload), body.Size)
		}
	}
	return nil
}

func checkResource(r *snapshot.Resource) error {
	if r.Kind == "" || r.Source == "" {
		return fmt.Errorf("kind or source is empty")
	}
	if n := len(r.ID()); n > MaxResourceID {
		return fmt.Errorf("the id is %d bytes long, at most %d are allowed", n, MaxResourceID)
	}
	if r.SizeBytes < 0 {
		return fmt.Errorf("size is negative")
	}
	var texts []string
	for _, s := range r.Texts() {
		texts = append(texts, *s)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Attributes)) {
		a := r.Attributes[k]
		texts = append(append(texts, k, a.Text), a.List...)
	}
	texts = append(append(texts, r.Convention, string(r.Scope)), r.Readers...)
	for i := range r.Findings {
		texts = append(texts, r.Findings[i].Code, string(r.Findings[i].Severity), r.Findings[i].Message)
	}
	if slices.ContainsFunc(texts, notText) {
		return fmt.Errorf("a field is not UTF-8 without NUL")
	}
	return nil
}

// Findable reports whether s can be the id of anything in a store. PostgreSQL returns an
// error for other text instead of no result.
func Findable(s string) bool { return isText(s) }

// isText reports whether every database accepts s as text: PostgreSQL refuses U+0000 and
// invalid UTF-8, SQLite accepts both.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func notText(s string) bool { return !isText(s) }
