package postgres_test

import (
	"slices"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/test/pgtest"
)

// TestPresence: each hub is told of the others' agents, as long as that holds.
func TestPresence(t *testing.T) {
	url := pgtest.Database(t)
	a, b := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	present := func(hub string, ttl time.Duration, ids ...string) {
		t.Helper()
		var agents []store.PresentAgent
		for i, id := range ids {
			agents = append(agents, store.PresentAgent{ID: id, Generation: int64(i), Run: "run of " + id, NotHeard: i})
		}
		if err := store.Presence(a).Present(t.Context(), store.PresentHub{ID: hub, URL: "http://" + hub, Secret: "of " + hub}, agents, ttl); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := func(hub string, want ...string) {
		t.Helper()
		list, err := store.Presence(b).Elsewhere(t.Context(), hub)
		var got []string
		for _, p := range list {
			got = append(got, p.ID)
			if p.Run != "run of "+p.ID || int64(p.NotHeard) != p.Generation {
				t.Errorf("elsewhere than %s: %+v", hub, p)
			}
			if at := p.Hub; at.ID == hub || at.URL != "http://"+at.ID || at.Secret != "of "+at.ID {
				t.Errorf("elsewhere than %s it is at %+v", hub, at)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("elsewhere than %s: %q, %v, want %q", hub, got, err, want)
		}
	}
	elsewhere("1")
	present("1", time.Hour, "b", "a", "é\"\U0001F600")
	present("2", time.Hour, "c", "a")
	elsewhere("1", "a", "c")
	elsewhere("2", "a", "b", "é\"\U0001F600")
	elsewhere("3", "a", "a", "b", "c", "é\"\U0001F600")
	present("1", time.Hour, "d") // in place of the others
	elsewhere("2", "d")
	present("1", -time.Second, "d") // a hub that was killed
	elsewhere("2")
	present("1", time.Hour, "d")
	present("1", time.Hour)
	elsewhere("2")
	elsewhere("1", "a", "c")
}
