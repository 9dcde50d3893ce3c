package wire_test

import (
	"crypto/sha256"
	"reflect"
	"testing"

	"waymark/snapshot"
	"waymark/wire"
)

func row(r snapshot.Resource) [sha256.Size]byte {
	return wire.RowName(&r, r.Payload != nil, sha256.Sum256(r.Payload))
}

// TestRow: whatever is another one in a resource makes another row, and so do texts
// that are divided in another way.
func TestRow(t *testing.T) {
	full := snapshot.Resource{
		Kind: "k", Source: "so", Key: "ke", SourcePath: "sp", Name: "n", Description: "d", Status: "st", Error: "e", Stale: true,
		ContentHash: snapshot.Hash{1}, SizeBytes: 2, Resolver: "r", Attributes: snapshot.Attributes{"a": {Text: "t"}}, Payload: []byte("p"),
		Convention: "c", Readers: []string{"r1", "r2"}, Scope: "sc", Findings: []snapshot.Finding{{Code: "co", Severity: "se", Message: "m"}},
	}
	list := map[string]snapshot.Resource{"full": full}
	fields := reflect.TypeFor[snapshot.Resource]()
	for i := range fields.NumField() {
		if fields.Field(i).Name == "Order" { // which no wire carries
			continue
		}
		other := full
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		list["without "+fields.Field(i).Name] = other
	}
	for name, change := range map[string]func(*snapshot.Resource){
		"moved":         func(r *snapshot.Resource) { r.Source, r.Key = "s", "oke" },
		"empty payload": func(r *snapshot.Resource) { r.Payload = []byte{} },
		"list":          func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"a": {List: []string{"t"}}} },
		"empty list":    func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"a": {List: []string{}}} },
		"list of two":   func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"a": {List: []string{"", "t"}}} },
		"one reader":    func(r *snapshot.Resource) { r.Readers = []string{"r1r2"} },
		"other finding": func(r *snapshot.Resource) {
			r.Findings = []snapshot.Finding{{Code: "cos", Severity: "e", Message: "m"}}
		},
		"two findings": func(r *snapshot.Resource) { r.Findings = []snapshot.Finding{r.Findings[0], {}} },
		"no facts":     func(r *snapshot.Resource) { r.ClearFacts() },
		"two":          func(r *snapshot.Resource) { r.Attributes = snapshot.Attributes{"a": {Text: "t"}, "b": {}} },
	} {
		other := full
		change(&other)
		list[name] = other
	}
	seen := make(map[[sha256.Size]byte]string)
	for name, r := range list {
		digest := row(r)
		if other, known := seen[digest]; known {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[digest] = name
	}
}

// TestOf: the order of rows is nothing; all else is something.
func TestOf(t *testing.T) {
	x, y := row(snapshot.Resource{Source: "x"}), row(snapshot.Resource{Source: "y"})
	type rows [][sha256.Size]byte
	head := wire.Head{AggregateHash: []byte{1}, SnapshotError: "e", Plugins: "p", Discovery: "d"}
	name := wire.NameOf(&head, rows{x, y})
	if wire.NameOf(&head, rows{y, x}) != name {
		t.Error("the order of rows makes another name")
	}
	seen := map[wire.Name]bool{name: true}
	for what, other := range map[string]wire.Name{
		"a row less": wire.NameOf(&head, rows{x}), "no rows": wire.NameOf(&head, nil),
		"hash":      wire.NameOf(&wire.Head{SnapshotError: "e", Plugins: "p", Discovery: "d"}, rows{x, y}),
		"error":     wire.NameOf(&wire.Head{AggregateHash: []byte{1}, Plugins: "p", Discovery: "d"}, rows{x, y}),
		"plugins":   wire.NameOf(&wire.Head{AggregateHash: []byte{1}, SnapshotError: "e", Discovery: "d"}, rows{x, y}),
		"discovery": wire.NameOf(&wire.Head{AggregateHash: []byte{1}, SnapshotError: "e", Plugins: "p"}, rows{x, y}),
		"moved":     wire.NameOf(&wire.Head{AggregateHash: []byte{1}, SnapshotError: "ep", Discovery: "d"}, rows{x, y}),
	} {
		if seen[other] {
			t.Errorf("%s: no other name", what)
		}
		seen[other] = true
	}
}
