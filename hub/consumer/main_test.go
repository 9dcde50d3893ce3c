package consumer_test

import (
	"testing"

	"waymark/hub/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
