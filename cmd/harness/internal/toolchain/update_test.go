package toolchain_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"waymark"
	"waymark/cmd/harness/internal/toolchain"
)

func update(t *testing.T, dir string, force bool) *toolchain.Updated {
	t.Helper()
	u, err := toolchain.Update(dir, force)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUpdate(t *testing.T) {
	for _, lang := range toolchain.Langs() {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "acme")
			begin(t, dir, lang)
			fresh := read(t, dir)
			if u := update(t, dir, false); u.Changed || u.From != u.To || u.To.Number != waymark.SDKVersion || u.Lang != lang {
				t.Errorf("what new wrote is updated: %+v", u)
			}

			// An older kit: it has another version, another file and no license.
			sdk := filepath.Join(dir, "sdk")
			if err := os.RemoveAll(sdk); err != nil {
				t.Fatal(err)
			}
			old := "0.9.0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n" // of no files at all
			if err := errors.Join(os.Mkdir(sdk, 0o755), os.WriteFile(filepath.Join(sdk, "VERSION"), []byte(old), 0o600)); err != nil {
				t.Fatal(err)
			}
			u := update(t, dir, false)
			if !u.Changed || u.From.String() != "0.9.0 (e3b0c44298fc)" || u.To.Number != waymark.SDKVersion {
				t.Errorf("got %+v", u)
			}
			if !maps.Equal(fresh, read(t, dir)) {
				t.Error("an updated resolver isn't what new writes")
			}
		})
	}
}

// What somebody changed in a kit isn't lost without --force.
func TestUpdateEdited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "acme")
	begin(t, dir, toolchain.C)
	fresh := read(t, dir)
	header := filepath.Join(dir, "sdk", "waymark.h")
	if err := os.WriteFile(header, []byte("/* mine */"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := toolchain.Update(dir, false); !errors.Is(err, toolchain.ErrEdited) {
		t.Errorf("got %v, want ErrEdited", err)
	}
	if text, err := os.ReadFile(header); err != nil || string(text) != "/* mine */" {
		t.Errorf("a refused update changed the kit: %q, %v", text, err)
	}
	if u := update(t, dir, true); !u.Changed {
		t.Errorf("got %+v", u)
	}
	if !maps.Equal(fresh, read(t, dir)) {
		t.Error("the kit isn't whole again")
	}
}

func TestUpdateErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := toolchain.Update(dir, false); !errors.Is(err, toolchain.ErrNoSource) {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := toolchain.Update(dir, false); !errors.Is(err, toolchain.ErrNoKit) {
		t.Errorf("somebody else's source: %v", err)
	}
}
