package sqlite_test

import (
	"testing"

	"waymark/test/contracts/storetest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }
