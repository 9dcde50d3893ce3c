package main

import (
	"io"
	"testing"

	"waymark/cmd/internal/cli/clitest"
)

func TestHelp(t *testing.T) {
	clitest.Help(t, newRoot(io.Discard, io.Discard))
}
