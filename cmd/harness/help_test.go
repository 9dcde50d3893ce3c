package main

import (
	"io"
	"testing"

	"waymark/test/goisms"
)

func TestHelp(t *testing.T) {
	goisms.Help(t, (&app{stdout: io.Discard, stderr: io.Discard}).rootCommand())
}
