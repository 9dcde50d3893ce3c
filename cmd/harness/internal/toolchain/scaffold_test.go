package toolchain_test

import (
	"errors"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/cmd/harness/internal/toolchain"
)

// read returns the files below a directory.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, p))
		files[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func begin(t *testing.T, dir string, lang toolchain.Lang) {
	t.Helper()
	if err := toolchain.Write(dir, "acme-rules", lang); err != nil {
		t.Fatal(err)
	}
}

// Each language has what the package promises, under the resolver's name and
// with nothing left to fill in.
func TestWrite(t *testing.T) {
	for _, lang := range toolchain.Langs() {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "acme-rules")
			begin(t, dir, lang)
			files := read(t, dir)
			for _, name := range []string{"README.md", "sdk/VERSION", "sdk/LICENSE"} {
				if files[name] == "" {
					t.Errorf("%s is missing; there are %q", name, slices.Sorted(maps.Keys(files)))
				}
			}
			fixtures, _ := filepath.Glob(filepath.Join(dir, "testdata", "*.txtar"))
			if len(fixtures) == 0 {
				t.Error("there is no fixture")
			}
			if !strings.Contains(files["README.md"], "harness test acme-rules.wasm") {
				t.Errorf("the README doesn't say how to test:\n%s", files["README.md"])
			}
			for name, text := range files {
				if strings.HasSuffix(name, ".tmpl") || strings.HasSuffix(name, "_test.go") && strings.HasPrefix(name, "sdk/") {
					t.Errorf("%s doesn't belong there", name)
				}
				if formatted, err := format.Source([]byte(text)); strings.HasSuffix(name, ".go") && (err != nil || string(formatted) != text) {
					t.Errorf("%s is not formatted, %v", name, err)
				}
				if strings.Contains(text, "<<<") && !strings.HasPrefix(name, "sdk/") {
					t.Errorf("%s was not filled in:\n%s", name, text)
				}
			}
			if got, err := toolchain.Detect(dir); err != nil || got != lang {
				t.Errorf("the toolchain takes it for %q, %v", got, err)
			}
			again := filepath.Join(t.TempDir(), "acme-rules")
			begin(t, again, lang)
			if !maps.Equal(files, read(t, again)) {
				t.Error("written again it is something else")
			}
		})
	}
}

func TestNames(t *testing.T) {
	good := []string{"a", "acme", "acme-rules", "a1-2b", "2fast", strings.Repeat("a", 64)}
	bad := []string{"", "-", "-a", "a-", "a--b", "Acme", "a_b", "a b", "a/b", "..", "ä", "a\n", strings.Repeat("a", 65)}
	for _, name := range good {
		if err := toolchain.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range bad {
		dir := filepath.Join(t.TempDir(), "x")
		if err := toolchain.Write(dir, name, toolchain.Go); !errors.Is(err, toolchain.ErrName) {
			t.Errorf("%q: %v, want ErrName", name, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%q left a directory", name)
		}
	}
}

// What exists stays as it is, and what is refused leaves nothing.
func TestOccupied(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string) error
		want error
	}{
		{"a file in it", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "x"), []byte("mine"), 0o600))
		}, toolchain.ErrNotEmpty},
		{"a file", func(dir string) error { return os.WriteFile(dir, []byte("mine"), 0o600) }, toolchain.ErrNotEmpty},
		{"a link to nothing", func(dir string) error { return os.Symlink("gone", dir) }, toolchain.ErrNotEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "acme")
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			before := list(t, parent)
			if err := toolchain.Write(dir, "acme", toolchain.C); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if after := list(t, parent); !slices.Equal(before, after) {
				t.Errorf("there were %q, now there are %q", before, after)
			}
		})
	}
	if err := toolchain.Write(filepath.Join(t.TempDir(), "a", "b"), "acme", toolchain.C); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a parent: %v", err)
	}
}

// list returns all paths below a directory, with their types.
func list(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		paths = append(paths, p+" "+e.Type().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// An empty directory is filled and stays the same directory: a shell may be in
// it.
func TestEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	begin(t, ".", toolchain.C)
	after, err := os.Stat(dir)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another directory now, %v", err)
	}
	files := read(t, dir)
	if want := "harness test " + filepath.Base(dir) + ".wasm"; !strings.Contains(files["README.md"], want) {
		t.Errorf("the README doesn't say %q", want)
	}
}
