package store_test

import (
	"crypto/sha256"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/internal/credential"
	"waymark/snapshot"
)

// TestDigests changes every field of a resource in turn: a field that
// doesn't change the digest would never be updated in a database.
func TestDigests(t *testing.T) {
	zero, _ := store.Digests(&snapshot.Resource{})
	seen := map[store.Digest]string{zero: "zero"}
	add := func(name string, r snapshot.Resource) {
		d, payload := store.Digests(&r)
		if payload != sha256.Sum256(r.Payload) {
			t.Errorf("%s: digest of the payload is %x", name, payload)
		}
		if other, taken := seen[d]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
	fields := reflect.TypeFor[snapshot.Resource]()
	for i := range fields.NumField() {
		if slices.Contains([]string{"Convention", "Readers", "Scope", "Findings", "Order"}, fields.Field(i).Name) {
			continue // what is known beside what is pinned is compared by itself, and precedence is the agent's own
		}
		var r snapshot.Resource
		switch f := reflect.ValueOf(&r).Elem().Field(i); f.Interface().(type) {
		case bool:
			f.SetBool(true)
		case int64:
			f.SetInt(1)
		case snapshot.Attributes:
			r.Attributes = snapshot.Attributes{"x": {}}
		case snapshot.Hash, []byte:
			f.SetBytes([]byte("x"))
		default: // all others are strings
			f.SetString("x")
		}
		add(fields.Field(i).Name, r)
	}
	add("empty payload", snapshot.Resource{Payload: []byte{}})
	add("attribute text", snapshot.Resource{Attributes: snapshot.Attributes{"x": {Text: "y"}}})
	add("attribute empty list", snapshot.Resource{Attributes: snapshot.Attributes{"x": {List: []string{}}}})
	add("attribute list", snapshot.Resource{Attributes: snapshot.Attributes{"x": {List: []string{"y"}}}})
	add("shifted border", snapshot.Resource{Source: "xx", Key: "y"})
	add("other border", snapshot.Resource{Source: "x", Key: "xy"})
}

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct{ given, want store.Retention }{
		{store.Retention{}, store.Retention{Revisions: 100, Age: 30 * day, Bytes: 64 << 20}},
		{store.Retention{Revisions: 1, Age: time.Second, Bytes: 1}, store.Retention{Revisions: 1, Age: time.Second, Bytes: 1}},
		{store.Retention{Revisions: 1e9, Age: -1, Bytes: -1}, store.Retention{Revisions: store.MaxRevisions, Age: math.MaxInt64, Bytes: math.MaxInt64}},
		{store.Retention{Revisions: -1}, store.Retention{Revisions: store.MaxRevisions, Age: 30 * day, Bytes: 64 << 20}},
	} {
		if got := tc.given.Effective(); got != tc.want || got.Effective() != tc.want {
			t.Errorf("%+v becomes %+v, want %+v", tc.given, got, tc.want)
		}
	}
}

// TestRoles: a role's tokens are known by their form, and those of no role have none.
func TestRoles(t *testing.T) {
	for _, role := range []store.Role{store.RoleAgent, store.RoleReader, store.RoleOperator} {
		if got, known := store.RoleOfToken(role.Kind().New()); !known || got != role {
			t.Errorf("a token of %s is one of %s", role, got)
		}
	}
	for _, text := range []string{"", "wma_short", store.Role("admin").Kind().New(), credential.Session.New()} {
		if role, known := store.RoleOfToken(text); known {
			t.Errorf("%q is a token of %s", text, role)
		}
	}
}
