package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoKit says that a directory isn't one that Write has made.
var ErrNoKit = errors.New("there is no kit here")

// ErrEdited says that somebody changed the kit of a resolver.
var ErrEdited = errors.New("the kit was changed by hand")

// Updated says what Update did.
type Updated struct {
	Dir  string  `json:"dir"` // of the kit
	Lang Lang    `json:"lang"`
	From Version `json:"from"` // by the files that were there
	To   Version `json:"to"`
	// Changed is false when the kit was this one already.
	Changed bool `json:"changed"`
}

// Update replaces the kit of a resolver by this program's. With force it discards
// what was changed in the old kit by hand.
//
// # Errors
//
// ErrNoKit, ErrEdited, toolchain.ErrNoSource and those of the file system. The
// kit is then as it was.
func Update(dir string, force bool) (*Updated, error) {
	lang, err := Detect(dir)
	if err != nil {
		return nil, err
	}
	next, err := kitOf(lang)
	if err != nil {
		return nil, err
	}
	u := &Updated{Dir: filepath.Join(dir, kitDir), Lang: lang, To: next.version}
	found, err := readKit(u.Dir)
	if err != nil {
		return nil, err
	}
	actual := digest(found.files)
	if edited := actual != found.version.Digest && actual != next.version.Digest; edited && !force {
		return nil, fmt.Errorf("%s: %w since %s: move the changes elsewhere, or use --force to lose them", u.Dir, ErrEdited, found.version)
	}
	u.From = Version{found.version.Number, actual}
	if u.From == u.To && found.version == next.version {
		return u, nil
	}
	u.Changed = true
	return u, replace(u.Dir, next.files)
}

// readKit reads the kit of a resolver.
func readKit(dir string) (*kit, error) {
	text, err := os.ReadFile(filepath.Join(dir, versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: %s is missing; harness new makes a resolver with one", dir, ErrNoKit, versionFile)
	}
	if err != nil {
		return nil, err
	}
	k := &kit{files: map[string][]byte{}}
	k.version.Number, k.version.Digest, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	tree := os.DirFS(dir)
	err = fs.WalkDir(tree, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		k.files[p], err = fs.ReadFile(tree, p)
		return err
	})
	return k, err
}

// replace puts files in the place of a directory. What it holds goes last.
func replace(dir string, files map[string][]byte) error {
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".sdk-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	next, old := filepath.Join(temp, "new"), filepath.Join(temp, "old")
	if err := os.Mkdir(next, 0o700); err != nil {
		return err
	}
	if err := writeAll(next, files); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(next, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return nil
}
