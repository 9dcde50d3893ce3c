package server_test

import (
	"testing"

	"waymark/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
