package drivers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOpen(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		opens(t, "sqlite:"+filepath.Join(t.TempDir(), "hub.db"))
	})
	for _, scheme := range []string{"postgres", "postgresql"} {
		t.Run(scheme, func(t *testing.T) {
			_, rest, _ := strings.Cut(pgtest.Database(t), ":")
			opens(t, scheme+":"+rest)
		})
	}
}

func opens(t *testing.T, url string) {
	t.Helper()
	st, err := drivers.Open(t.Context(), url, drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if agents, err := st.Agents(t.Context()); err != nil || len(agents) != 0 {
		t.Errorf("agents: %v, %v", agents, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestExisting: what only works on a database makes none.
func TestExisting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "hub.db")
	for name, database := range map[string]func(testing.TB) string{
		"sqlite": func(testing.TB) string { return "sqlite:" + path }, "postgres": pgtest.Database,
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			for range 2 { // the first try has left nothing
				st, err := drivers.Open(t.Context(), url, drivers.Options{Existing: true})
				if st != nil || !errors.Is(err, store.ErrNone) {
					t.Fatalf("%v, %v", st, err)
				}
			}
			if _, err := os.Stat(filepath.Dir(path)); name == "sqlite" && err == nil {
				t.Error("a directory is made")
			}
			opens(t, url)
			st, err := drivers.Open(t.Context(), url, drivers.Options{Existing: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBadURL(t *testing.T) {
	for _, url := range []string{
		"", "sqlite", "sqlite:", "hub.db", ":memory:", "mysql://root:secret@localhost/x", "mysql://localhost/x",
		"postgres:", "postgres://u:secret@host:port/x", "postgres://u:secret@host/x?sslmode=secret2",
		"postgres://u:secret%zz@host/x", "postgres://u:secret@host/x?pool_max_conns=many", "POSTGRES://u:secret@h/x",
	} {
		st, err := drivers.Open(t.Context(), url, drivers.Options{})
		if st != nil || !errors.Is(err, drivers.ErrURL) {
			t.Errorf("%s: %v, %v", url, st, err)
		}
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "secret2", ""), "secret") {
			t.Errorf("the password is in %q", err)
		}
		if check := drivers.Check(url); !errors.Is(check, drivers.ErrURL) {
			t.Errorf("Check(%s) is %v", url, check)
		}
	}
}
