package main

import (
	"io"
	"testing"

	"waymark/cmd/internal/cli/clitest"
)

func TestHelp(t *testing.T) {
	clitest.Help(t, (&app{stdout: io.Discard, stderr: io.Discard}).rootCommand())
}
