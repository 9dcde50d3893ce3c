package hub

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/internal/atomicfile"
	"waymark/internal/credential"
)

// CreateToken makes a random token and returns its text, which isn't stored. It sets
// token.Hash.
func CreateToken(ctx context.Context, st store.Store, token store.NewToken) (text string, _ store.Token, err error) {
	text = token.Role.Kind().New()
	token.Hash = credential.HashOf(text)
	made, err := st.CreateToken(ctx, token)
	if err != nil {
		return "", store.Token{}, err
	}
	return text, made, nil
}

// EnsureToken returns the text of the token in file if it is still valid for what token
// describes. Otherwise it makes a new token and writes it there, with mode 0600. A program
// that embeds a hub keeps the same token across restarts this way, because a store doesn't
// have texts of tokens.
//
// An agent's token without an AgentID accepts any agent's.
func EnsureToken(ctx context.Context, st store.Store, token store.NewToken, file string) (text string, _ store.Token, err error) {
	data, err := credential.ReadFile("token file", file, maxTokenFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", store.Token{}, err
	}
	if kept := strings.TrimSpace(string(data)); kept != "" {
		found, err := st.TokenByHash(ctx, credential.HashOf(kept))
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return "", store.Token{}, err
		case found.Valid(time.Now()) && found.Role == token.Role && (token.AgentID == "" || token.AgentID == found.AgentID) &&
			slices.Equal(found.Scope, token.Scope) && maps.Equal(found.ScopeLabels, token.ScopeLabels):
			return kept, found, nil
		}
	}
	text, made, err := CreateToken(ctx, st, token)
	if err != nil {
		return "", store.Token{}, err
	}
	if err := writeToken(file, text); err != nil {
		return "", store.Token{}, fmt.Errorf("write token: %w", errors.Join(err, st.RevokeToken(ctx, made.ID)))
	}
	return text, made, nil
}

// writeToken replaces the file atomically.
func writeToken(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, []byte(text+"\n"), 0o600)
}

const (
	// maxTokenFile limits a file with one token.
	maxTokenFile = 4 << 10
	// maxTokensFile limits a file of provisioned tokens, to some ten thousand.
	maxTokensFile = 1 << 20
)

// ReadTokens reads a file of provisioned tokens, for Store.SyncProvisioned. Only its owner
// may be able to read the file. It has a line for each token, with fields separated by
// blanks:
//
//	# role  agent id, or a reader's name  token
//	agent   dev-1                         wma_<32 random bytes in base64url>
//	reader  dashboard                     wmr_<32 random bytes in base64url>
//
// Empty lines and lines that begin with # are ignored. Errors name the line and never quote
// a token.
func ReadTokens(file string) ([]store.NewToken, error) {
	data, err := credential.ReadFile("file of tokens", file, maxTokensFile)
	if err != nil {
		return nil, err
	}
	tokens, err := ParseTokens(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read tokens: %s: %w", file, err)
	}
	return tokens, nil
}

// ParseTokens parses such a file.
func ParseTokens(r io.Reader) ([]store.NewToken, error) {
	var tokens []store.NewToken
	lines := make(map[credential.Hash]int)
	scanner := bufio.NewScanner(r)
	for n := 1; scanner.Scan(); n++ {
		fields := strings.Fields(scanner.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		token, err := parseToken(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first, twice := lines[token.Hash]; twice {
			return nil, fmt.Errorf("line %d: the same token as on line %d", n, first)
		}
		lines[token.Hash] = n
		tokens = append(tokens, token)
	}
	return tokens, scanner.Err()
}

func parseToken(fields []string) (store.NewToken, error) {
	if len(fields) != 3 {
		return store.NewToken{}, fmt.Errorf("%d fields, want three: role, agent id or name, token", len(fields))
	}
	token := store.NewToken{Role: store.Role(fields[0]), Hash: credential.HashOf(fields[2])}
	switch token.Role {
	case store.RoleAgent:
		token.AgentID = fields[1]
	case store.RoleReader, store.RoleOperator:
		token.Name = fields[1]
	default: // not quoted: a token may be in the wrong place
		return store.NewToken{}, fmt.Errorf("the role is not one of agent, reader, operator")
	}
	if _, err := token.Role.Kind().Parse(fields[2]); err != nil {
		return store.NewToken{}, err
	}
	return token, token.Check()
}
