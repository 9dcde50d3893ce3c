package sqlite_test

import (
	"testing"

	"waymark/hub/store/storetest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, database) }
