package hub_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/internal/credential"
)

// failing is a store that can't create tokens, or does and says that it
// couldn't.
type failing struct {
	store.Store
	after bool
}

var errDisk = errors.New("the disk is gone")

func (f *failing) CreateToken(ctx context.Context, nt store.NewToken) (store.Token, error) {
	if f.after {
		if _, err := f.Store.CreateToken(ctx, nt); err != nil {
			return store.Token{}, err
		}
	}
	return store.Token{}, errDisk
}

// TestTokenFile: a token is valid exactly if it is in its file.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	dir := t.TempDir()
	nt := store.NewToken{Role: store.RoleReader, Scope: []string{"a"}, ExpiresAt: time.Now().Add(time.Hour)}
	valid := func() (n int) {
		t.Helper()
		tokens, err := f.store.Tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range tokens {
			if tokens[i].Valid(time.Now()) {
				n++
			}
		}
		return n
	}
	good := filepath.Join(dir, "good")
	made, err := hub.CreateTokenFile(t.Context(), f.store, nt, good)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.store.TokenByHash(t.Context(), credential.HashOf(strings.TrimSpace(string(data))))
	if err != nil || found.ID != made.ID || !found.Allows("a") || found.Allows("b") {
		t.Errorf("in the file is the token %+v, %v; made was %+v", found, err, made)
	}
	if info, err := os.Stat(good); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store store.Store
		file  string
		want  error
	}{
		"a file":                {f.store, good, fs.ErrExist},
		"a link":                {f.store, link, fs.ErrExist},
		"a directory":           {f.store, dir, fs.ErrExist},
		"no directory":          {f.store, filepath.Join(dir, "none", "x"), fs.ErrNotExist},
		"no store":              {&failing{f.store, false}, filepath.Join(dir, "one"), errDisk},
		"an answer that's lost": {&failing{f.store, true}, filepath.Join(dir, "two"), errDisk},
	} {
		if _, err := hub.CreateTokenFile(t.Context(), c.store, nt, c.file); !errors.Is(err, c.want) || strings.Contains(err.Error(), "wmr_") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if n := valid(); n != 1 {
			t.Errorf("%s: %d tokens are valid, want the first one", name, n)
		}
	}
	if now, err := os.ReadFile(good); err != nil || string(now) != string(data) {
		t.Errorf("the file was written over: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left are %v, %v; want the file and the link", entries, err)
	}
}
