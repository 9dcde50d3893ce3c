package built

import (
	"os"
	"path/filepath"

	"waymark/host/sandbox/codecache"
)

// wazero is the version of wazero that go.mod names, which test binaries don't know.
const wazero = "v1.12.0"

// Whoever imports this package shares what was compiled with all that do.
func init() { codecache.Wazero = wazero } //nolint:gochecknoinits // nobody has to remember to call it

// CodeCache returns a directory for the native code of guests, which all tests of a
// user share, those with the race detector too: compiling takes seconds, and under
// the detector a minute. It is empty where there is no such place; nothing is kept
// then.
//
// It isn't for tests of when modules are compiled.
func CodeCache() string {
	dir := filepath.Join(CacheHome(), "waymark", "code")
	if ShareKey(dir) != nil {
		return ""
	}
	return dir
}

// CacheHome is the XDG_CACHE_HOME for programs under test that are to find what
// CodeCache has. They need ShareKey as well. It is empty where there is no such
// place.
func CacheHome() string {
	dir, err := cacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "home")
}

// ShareKey puts the key that the shared code is sealed with into a directory, where
// a program under test looks for it: $XDG_STATE_HOME/waymark/key.
func ShareKey(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "key")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	// Whole or not at all: others may be doing the same.
	tmp, err := os.CreateTemp(dir, "key-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString("a key of 32 bytes, not a secret!")
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
