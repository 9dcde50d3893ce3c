package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/host/vfs"
	"waymark/internal/atomicfile"
	"waymark/internal/await"
	"waymark/internal/credential"
)

const (
	// maxTokens limits the valid tokens, because each is compared with a request's.
	maxTokens = 256
	// maxFile limits how much of the file is read, in bytes: maxTokens with long paths.
	maxFile = 4 << 20
	// maxLife limits the lifetime of tokens, so that they don't outlive the memory of who
	// made them.
	maxLife = 366 * 24 * time.Hour
	// maxHubLife is shorter, because capabilities are given to other machines.
	maxHubLife = 31 * 24 * time.Hour
	// maxTools limits the number of a capability's tools, maxTool the length of each name.
	maxTools, maxTool = 256, 200
)

var (
	// ErrRequest says that the requested token is invalid.
	ErrRequest = errors.New("no such token can be made")
	// ErrWider says that a token would grant more than its minter's.
	ErrWider = errors.New("it would be wider than the token that asks for it")
	// ErrTooMany says that the limit of valid tokens is reached.
	ErrTooMany = fmt.Errorf("there are %d tokens: revoke some", maxTokens)
	// ErrNoToken says that there is no such token, or that it doesn't belong to the caller.
	ErrNoToken = errors.New("there is no such token")
)

// Options configure Tokens.
type Options struct {
	// Dir is the workspace's private state directory, where the tokens are stored.
	Dir string
	// Control is the control token.
	Control string
	// Root returns the workspace's directory, absolute and without links; "" while it is
	// unknown.
	Root func() string
	// Logger receives problems with the file. Nil means no log.
	Logger *slog.Logger
}

// Tokens are a workspace's tokens: the control token and minted ones.
type Tokens struct {
	opts   Options
	turn   *await.Turn // serializes changes of the fields below
	minted atomic.Pointer[[]minted]
	lent   lent
}

// minted is a token as stored in the file.
type minted struct {
	agentapi.Token
	Hash credential.Hash `json:"sha256"`
}

// Open reads the tokens of a workspace. If the file is unreadable, it logs the error, and
// only the control token is valid.
func Open(opts Options) *Tokens {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	t := &Tokens{opts: opts, turn: await.NewTurn(context.Background())}
	list, err := readTokens(t.file())
	if err != nil {
		opts.Logger.Warn("the tokens that were minted are not valid any more", slog.Any("error", err))
	}
	t.minted.Store(&list)
	return t
}

func (t *Tokens) file() string { return filepath.Join(t.opts.Dir, "tokens.json") }

func readTokens(path string) (list []minted, err error) {
	if err = credential.ReadJSON("minted tokens", path, maxFile, &list); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// Authenticate returns what a token grants. It returns nil if the token is unknown, expired
// or revoked, and for a capability, which isn't valid here.
func (t *Tokens) Authenticate(token string) *Grant {
	if credential.Same(token, t.opts.Control) {
		return &Grant{ID: ControlID, Scopes: Scopes()}
	}
	hash := credential.HashOf(token)
	if g := t.lent.find(hash); g != nil {
		return g
	}
	found := t.find(hash)
	if found == nil || found.Hub != nil {
		return nil
	}
	return found.grant()
}

// find returns the valid token with a hash; nil if there is none.
func (t *Tokens) find(hash credential.Hash) *minted {
	list := t.live()
	if i := slices.IndexFunc(list, func(m minted) bool { return m.Hash == hash }); i >= 0 {
		return &list[i]
	}
	return nil
}

func (m *minted) grant() *Grant {
	g := &Grant{ID: m.ID, Plan: m.Plan, Secrets: slices.Clone(m.Secrets), Expires: m.ExpiresAt, Within: m.Hub != nil}
	for _, scope := range m.Scopes {
		g.Scopes = append(g.Scopes, Scope(scope))
	}
	return g
}

// live returns the tokens that haven't expired.
func (t *Tokens) live() []minted {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(*t.minted.Load()), func(m minted) bool { return credential.Expired(now, m.ExpiresAt) })
}

// visible returns the ids of the tokens that belong to a grant: its own and those minted
// with it, directly or indirectly. All tokens belong to the control token.
func visible(list []minted, by *Grant) map[string]bool {
	ids := map[string]bool{by.ID: true}
	for grown := true; grown; {
		grown = false
		for i := range list {
			if ids[list[i].MintedBy] && !ids[list[i].ID] {
				ids[list[i].ID], grown = true, true
			}
		}
	}
	return ids
}

// List returns the tokens that a grant may see, in the order of their creation.
func (t *Tokens) List(by *Grant) []agentapi.Token {
	live := t.live()
	ids := visible(live, by)
	list := []agentapi.Token{}
	for i := range live {
		if ids[live[i].ID] {
			list = append(list, live[i].Token)
		}
	}
	return list
}

// Mint mints a token that grants no more than by does. The control token itself grants no
// secrets, but someone must be able to: if secrets is true, which the caller decides, it
// may mint tokens that grant them.
//
// # Errors
//
// The error matches ErrRequest, ErrWider or ErrTooMany; or it is the context's, or that the
// token couldn't be stored.
func (t *Tokens) Mint(ctx context.Context, by *Grant, secrets bool, want agentapi.NewToken) (*agentapi.MintedToken, error) {
	token, err := t.narrowed(by, secrets, want)
	if err != nil {
		return nil, err
	}
	_, leave, err := t.turn.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list := t.live()
	switch {
	case len(list) >= maxTokens:
		return nil, ErrTooMany
	case by.ID != ControlID && !slices.ContainsFunc(list, func(m minted) bool { return m.ID == by.ID }):
		return nil, fmt.Errorf("%w: that one has ended", ErrWider)
	}
	answer := &agentapi.MintedToken{Token: *token, Secret: kindOf(token.Hub).New()}
	return answer, t.keep(append(list, minted{Token: *token, Hash: credential.HashOf(answer.Secret)}))
}

// Revoke revokes a token and all tokens minted with it.
//
// # Errors
//
// The error matches ErrNoToken; or it is the context's, or that the file can't be written:
// then nothing has changed.
func (t *Tokens) Revoke(ctx context.Context, by *Grant, id string) error {
	_, leave, err := t.turn.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	list := t.live()
	known := slices.ContainsFunc(list, func(m minted) bool { return m.ID == id })
	if !known || !visible(list, by)[id] {
		return ErrNoToken
	}
	gone := visible(list, &Grant{ID: id})
	return t.keep(slices.DeleteFunc(list, func(m minted) bool { return gone[m.ID] }))
}

// keep stores a list and puts it in force. The caller has the turn.
func (t *Tokens) keep(list []minted) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(t.file(), append(data, '\n'), 0o600); err != nil {
		return err
	}
	t.minted.Store(&list)
	return nil
}

// narrowed returns the token that is granted for a request.
func (t *Tokens) narrowed(by *Grant, secrets bool, want agentapi.NewToken) (*agentapi.Token, error) {
	token := &agentapi.Token{ID: strings.ToLower(rand.Text()[:10]), CreatedAt: time.Now().UTC().Truncate(time.Second), MintedBy: by.ID}
	var err error
	if token.Hub, err = capabilityOf(&want); err != nil {
		return nil, err
	}
	if token.Scopes, err = scopesOf(by, want.Scopes, want.Hub != nil); err != nil {
		return nil, err
	}
	if token.Plan, err = t.planOf(by, want.Plan); err != nil {
		return nil, err
	}
	if token.Secrets, err = secretsOf(by, secrets, want.Secrets); err != nil {
		return nil, err
	}
	token.ExpiresAt, err = expiryOf(by, token.CreatedAt, want.ExpiresAt, want.Hub)
	return token, err
}

func scopesOf(by *Grant, want []string, hub bool) (list []string, err error) {
	if len(want) == 0 && !hub {
		for _, scope := range []Scope{ScopeProcesses, ScopeFiles, ScopeMCP} {
			if by.Has(scope) {
				list = append(list, string(scope))
			}
		}
		return append([]string{}, list...), nil
	}
	for _, name := range want {
		switch scope := Scope(name); {
		case !slices.Contains(Scopes(), scope):
			return nil, fmt.Errorf("%w: there is no scope %.40q: there are %s", ErrRequest, name, scopeNames())
		case !by.Has(scope):
			return nil, fmt.Errorf("%w: that lacks the scope %s", ErrWider, name)
		case !slices.Contains(list, name):
			list = append(list, name)
		}
	}
	return append([]string{}, list...), nil
}

func scopeNames() string {
	var names []string
	for _, scope := range Scopes() {
		names = append(names, string(scope))
	}
	return strings.Join(names, ", ")
}

func secretsOf(by *Grant, all bool, want []string) (list []string, err error) {
	known := vfs.SecretPatterns()
	for _, name := range want {
		switch {
		case name != "*" && !slices.ContainsFunc(known, func(s vfs.Secret) bool { return s.Pattern == name }):
			return nil, fmt.Errorf("%w: %.80q is not an entry of the secret list: such as %q, spelled as they are there, or \"*\" for all", ErrRequest, name, known[0].Pattern)
		case by.ID == ControlID && !all:
			return nil, fmt.Errorf("%w: the control token grants secrets over the agent's socket only", ErrWider)
		case by.ID != ControlID && !slices.Contains(by.Secrets, name) && !slices.Contains(by.Secrets, "*"):
			return nil, fmt.Errorf("%w: that has no grant for %s", ErrWider, name)
		case !slices.Contains(list, name):
			list = append(list, name)
		}
	}
	return list, nil
}

func expiryOf(by *Grant, now time.Time, want *time.Time, hub *agentapi.Capability) (time.Time, error) {
	last := now.Add(maxLife)
	if hub != nil {
		last = now.Add(maxHubLife)
		if want != nil && want.After(last) {
			return time.Time{}, fmt.Errorf("%w: expires_at of a capability is more than 31 days away", ErrRequest)
		}
	}
	last = credential.Sooner(last, by.Expires)
	switch {
	case want == nil:
		return credential.Sooner(now.Add(kindOf(hub).Life), last), nil
	case credential.Expired(now, *want):
		return time.Time{}, fmt.Errorf("%w: expires_at has passed", ErrRequest)
	case want.After(now.Add(maxLife)):
		return time.Time{}, fmt.Errorf("%w: expires_at is more than a year away", ErrRequest)
	case want.After(last):
		return time.Time{}, fmt.Errorf("%w: that expires at %s", ErrWider, last.Format(time.RFC3339))
	}
	return want.UTC(), nil
}

// planOf returns the path of a fence without links. The file and its directories needn't
// exist.
func (t *Tokens) planOf(by *Grant, want string) (string, error) {
	if want == "" {
		return by.Plan, nil
	}
	if !filepath.IsAbs(want) || strings.ContainsRune(want, 0) || len(want) > maxNote {
		return "", fmt.Errorf("%w: plan is not an absolute path", ErrRequest)
	}
	root := t.opts.Root()
	if root == "" {
		return "", fmt.Errorf("%w: the agent has no root yet, in which the plan could be", ErrRequest)
	}
	plan, err := withoutLinks(filepath.Clean(want))
	if err != nil {
		return "", fmt.Errorf("%w: the plan's path can't be looked at: %w", ErrRequest, err)
	}
	rel, err := filepath.Rel(root, plan)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%w: the plan is not in the workspace, which is %s", ErrRequest, root)
	}
	if by.Plan != "" && by.Plan != plan {
		return "", fmt.Errorf("%w: that is fenced to another plan", ErrWider)
	}
	if info, err := os.Lstat(plan); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: the plan is not a regular file", ErrRequest)
	}
	return plan, nil
}

// withoutLinks resolves the links of a path whose end may not exist.
func withoutLinks(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link that leads nowhere", path)
	}
	dir, err := withoutLinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}
