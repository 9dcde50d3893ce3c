package postgres_test

import (
	"testing"

	"waymark/hub/store/storetest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }
