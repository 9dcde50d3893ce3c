package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
)

// TestUnusable opens what isn't a hub's database, or not one for this hub.
func TestUnusable(t *testing.T) {
	made := func(t *testing.T, url string) {
		if err := open(t, url, postgres.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T, url string)
		want error
		text string
	}{
		"foreign": {func(t *testing.T, url string) { pgtest.Exec(t, url, "CREATE TABLE songs (x int)") }, store.ErrForeign, "another program"},
		"goose's of another program": {func(t *testing.T, url string) {
			pgtest.Exec(t, url, "CREATE TABLE goose_db_version (id int)")
		}, store.ErrForeign, "empty schema"},
		"newer": {func(t *testing.T, url string) {
			made(t, url)
			pgtest.Exec(t, url, "INSERT INTO waymark_schema_version (version_id, is_applied) VALUES (99, true)")
		}, store.ErrNewerSchema, "version 99"},
		"other": {func(t *testing.T, url string) {
			made(t, url)
			pgtest.Exec(t, url, "UPDATE waymark_schema SET digest = 'abcdef0123456789'")
		}, store.ErrOtherSchema, "its schema is abcdef01, this hub's is "},
		"no schema": {func(t *testing.T, url string) { pgtest.Exec(t, url, "DROP SCHEMA public") }, nil, "CREATE SCHEMA"},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			tc.make(t, url)
			const tables = "SELECT count(*)::int FROM pg_class WHERE relnamespace::regnamespace::text = 'public'"
			before := query[int](t, url, tables)
			db, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err == nil {
				_ = db.Close()
				t.Fatal("opened")
			}
			if tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error: %v", err)
			}
			if after := query[int](t, url, tables); after != before {
				t.Errorf("%d tables and indices became %d", before, after)
			}
			if name == "no schema" {
				pgtest.Exec(t, url, "CREATE SCHEMA public")
			}
		})
	}
}

// TestSchemas has two hubs' databases in two schemas of one database.
func TestSchemas(t *testing.T) {
	url := pgtest.Database(t)
	pgtest.Exec(t, url, "CREATE TABLE songs (x int)", "CREATE SCHEMA waymark_one", "CREATE SCHEMA waymark_two")
	t.Cleanup(func() { pgtest.Exec(t, url, "DROP SCHEMA waymark_one CASCADE", "DROP SCHEMA waymark_two CASCADE") })
	one, two := open(t, url+"&search_path=waymark_one", postgres.Options{}), open(t, url+"&search_path=waymark_two", postgres.Options{})
	g := session(t, one, "a")
	if _, err := one.Push(t.Context(), "a", g, state(1, 1)); err != nil {
		t.Fatal(err)
	}
	if list, err := two.Agents(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("agents of the other schema: %+v, %v", list, err)
	}
	if page, err := two.Events(t.Context(), store.Cursor{}, 10); err != nil || len(page.List) != 0 || !page.Last {
		t.Errorf("events of the other schema: %+v, %v", page, err)
	}
}

// TestEncoding refuses a database that can't hold all text.
func TestEncoding(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	statement := "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
	if query[int](t, server.URL("postgres"), "SELECT current_setting('server_version_num')::int") >= 150000 {
		statement += " LOCALE_PROVIDER libc"
	}
	pgtest.Exec(t, server.URL("postgres"), statement)
	_, err := postgres.Open(t.Context(), server.URL("latin"), postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "ENCODING 'UTF8'") {
		t.Errorf("error: %v", err)
	}
}

// TestUnreachable says what is wrong, and no password.
func TestUnreachable(t *testing.T) {
	good := pgtest.Database(t)
	dir := t.TempDir()
	for url, text := range map[string]string{
		"postgres://u:secret@/x?host=" + dir:                       "no such file",
		"postgres://u:secret@127.0.0.1:1/x":                        "refused",
		strings.Replace(good, "/waymark_test", "/no_such_test", 1): "createdb",
		"postgres://u:secret@[::1/x":                               "cannot parse",
	} {
		db, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil {
			_ = db.Close()
			t.Fatal("opened")
		}
		if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error: %v", err)
		}
	}
}

// TestClosed uses a store that is closed: an error, and neither a panic nor a
// call that never ends.
func TestClosed(t *testing.T) {
	db := open(t, pgtest.Database(t), postgres.Options{})
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.Agents(t.Context()); err == nil {
		t.Error("a closed store lists agents")
	}
	if _, err := db.Push(t.Context(), "a", 1, state(1, 1)); err == nil {
		t.Error("a closed store takes a push")
	}
}
