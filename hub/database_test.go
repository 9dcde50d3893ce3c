package hub_test

import (
	"path/filepath"
	"testing"

	"waymark/hub"
)

func TestDatabaseName(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("hub.db")
	if err != nil {
		t.Fatal(err)
	}
	for db, want := range map[string]string{
		"sqlite:hub.db":                  "sqlite:" + here,
		"sqlite:/a b/hub.db":             "sqlite:/a b/hub.db",
		"postgres://ada@h:5432/x":        "postgres://ada@h:5432/x",
		"postgres://ada:secret@h/x":      "postgres://ada@h/x",
		"postgresql://:secret@h/x":       "postgresql://@h/x",
		"postgres:///x?host=/run":        "postgres:///x?host=%2Frun",
		"postgres://h/x?password=secret": "postgres://h/x",
		"postgres://h/x?sslmode=require&sslpassword=secret&search_path=a": "postgres://h/x?search_path=a&sslmode=require",
		"postgres:password=secret":                                        "postgres:…",
	} {
		if got := hub.DatabaseName(db); got != want {
			t.Errorf("%s: %s, want %s", db, got, want)
		}
	}
}
