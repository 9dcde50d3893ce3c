package postgres_test

import (
	"testing"

	"waymark/test/contracts/storetest"
	"waymark/test/pgtest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }

// BenchmarkDurable is BenchmarkStore/many with a server that syncs every
// commit: as revisions commit one after the other, it shows how many pushes a
// second a database takes.
func BenchmarkDurable(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	storetest.BenchMany(b, func(testing.TB) storetest.Database { return at(server.URL("postgres")) }, 50)
}
