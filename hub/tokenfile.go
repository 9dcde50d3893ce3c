package hub

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"waymark/hub/store"
)

const (
	// maxTokenFile bounds a file that holds one token.
	maxTokenFile = 4 << 10
	// maxTokensFile bounds a file of provisioned tokens: some ten thousand.
	maxTokensFile = 1 << 20
)

// ReadTokens reads a file of provisioned tokens, for Store.SyncProvisioned.
// It must be a file that only its owner can read. The form is a line per
// token, fields separated by blanks:
//
//	# role  agent id, or a reader's name  token
//	agent   dev-1                         wma_<32 random bytes in base64url>
//	reader  dashboard                     wmr_<32 random bytes in base64url>
//
// Empty lines and lines that begin with # don't count. Errors name the line
// and never quote a token.
func ReadTokens(file string) ([]store.NewToken, error) {
	data, err := readPrivate(file, maxTokensFile)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	tokens, err := ParseTokens(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read tokens: %s: %w", file, err)
	}
	return tokens, nil
}

// ParseTokens reads what ReadTokens describes.
func ParseTokens(r io.Reader) ([]store.NewToken, error) {
	var tokens []store.NewToken
	lines := make(map[store.TokenHash]int)
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
		return store.NewToken{}, fmt.Errorf("%d fields, want three: role, agent id or reader's name, token", len(fields))
	}
	token := store.NewToken{Role: store.Role(fields[0]), Hash: store.HashToken(fields[2])}
	switch token.Role {
	case store.RoleAgent:
		token.AgentID = fields[1]
	case store.RoleReader:
		token.Name = fields[1]
	default: // not quoted: a token may stand in the wrong place
		return store.NewToken{}, fmt.Errorf("the role is not one of agent, reader")
	}
	if err := store.CheckTokenText(token.Role, fields[2]); err != nil {
		return store.NewToken{}, err
	}
	return token, token.Check()
}

// readPrivate reads a file of at most limit bytes that nobody but its owner
// may read.
func readPrivate(file string, limit int64) ([]byte, error) {
	// O_NONBLOCK: a FIFO in the place must not hold the program up.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it, and replace its tokens if somebody may have read them", file, info.Mode().Perm())
	case info.Size() > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", file, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
