// This file says when the source of a resolver, or its fixtures, have
// changed, for building it or running them again.
//
// # Guarantees
//
// Next returns when the content of a source file differs from what it was at the
// last return, when one has come or gone, and at the first call. What a build
// leaves behind (modules, node_modules, hidden files) is not source, and what is
// written again as it was is not a change: a build that touches files doesn't
// lead to another. Fixtures, which aren't source either, have a Watcher of their
// own.
//
// # Concurrency and limits
//
// Run and Next belong to one goroutine each. A directory may have 10,000
// directories and files, of 64 MiB together; what is beyond is not looked at.

package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/host/watch"
)

const (
	owner = "source"
	// maxNames and maxBytes are far above any resolver, and keep somebody who
	// names the wrong directory from waiting for minutes.
	maxNames = 10_000
	maxBytes = 64 << 20
)

// Watcher watches a directory. Make one with Watch or Fixtures.
type Watcher struct {
	dir     string
	survey  func(dir string) found
	watcher *watch.Watcher
	last    string // of the content at the last return
}

// Watch makes a Watcher of a directory.
func Watch(dir string, opts watch.Options) (*Watcher, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	return &Watcher{dir: dir, survey: survey, watcher: watch.New(opts)}, nil
}

// Fixtures makes a Watcher of the *.txtar files in a directory, which lies in one
// that exists and may come later.
func Fixtures(dir string, opts watch.Options) (*Watcher, error) {
	above, err := filepath.Abs(filepath.Dir(dir))
	if err == nil {
		above, err = filepath.EvalSymlinks(above)
	}
	if err != nil {
		return nil, err
	}
	return &Watcher{dir: filepath.Join(above, filepath.Base(dir)), survey: surveyFixtures, watcher: watch.New(opts)}, nil
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error { return w.watcher.Run(ctx) }

// Close ends Run and waits for it.
func (w *Watcher) Close() error { return w.watcher.Close() }

// Next waits for a change of the source. The error is the context's, or that
// the Watcher is closed.
func (w *Watcher) Next(ctx context.Context) error {
	for {
		s := w.survey(w.dir)
		w.watcher.Set(owner, s.dirs)
		if s.sum != w.last {
			w.last = s.sum
			return nil
		}
		if _, err := w.watcher.Wait(ctx); err != nil {
			return err
		}
	}
}

// found is a source directory as it is now.
type found struct {
	dirs []watch.Dir
	sum  string
}

// survey looks at a directory. What can't be read counts as empty: the build
// will say more about it.
func survey(dir string) found {
	var f found
	sum := sha256.New()
	names, left := 0, int64(maxBytes)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if names++; names > maxNames {
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(dir, path)
		if err != nil || relErr != nil {
			return nil //nolint:nilerr // see above
		}
		switch {
		case path != dir && ignored(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			f.dirs = append(f.dirs, watch.Dir{Path: path})
		case d.Type().IsRegular():
			_, _ = fmt.Fprintf(sum, "%q ", rel)
			left -= add(sum, path, left)
		}
		return nil
	})
	slices.SortFunc(f.dirs, func(a, b watch.Dir) int { return strings.Compare(a.Path, b.Path) })
	f.sum = hex.EncodeToString(sum.Sum(nil))
	return f
}

// surveyFixtures looks at the fixtures in a directory.
func surveyFixtures(dir string) found {
	sum := sha256.New()
	entries, _ := os.ReadDir(dir) // one that isn't there has none
	left := int64(maxBytes)
	for _, e := range entries[:min(len(entries), maxNames)] {
		if filepath.Ext(e.Name()) == ".txtar" {
			_, _ = fmt.Fprintf(sum, "%q ", e.Name())
			left -= add(sum, filepath.Join(dir, e.Name()), left)
		}
	}
	return found{dirs: []watch.Dir{{Path: dir}}, sum: hex.EncodeToString(sum.Sum(nil))}
}

// add adds the hash of a file, as far as it may be read.
func add(sum io.Writer, path string, left int64) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	own := sha256.New()
	n, _ := io.Copy(own, io.LimitReader(file, left))
	_, _ = fmt.Fprintf(sum, "%d %x\n", n, own.Sum(nil))
	return n
}

// ignored reports whether a name isn't source: hidden files, what editors leave
// for a moment, what package managers and builds make.
func ignored(name string) bool {
	switch {
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, "~"), strings.HasPrefix(name, "#"), name == "node_modules":
		return true
	}
	return slices.Contains([]string{".wasm", ".wat", ".map", ".o", ".tmp", ".txtar"}, filepath.Ext(name))
}
