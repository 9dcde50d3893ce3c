package main

import (
	"io"
	"testing"

	"waymark/test/goisms"
)

func TestHelp(t *testing.T) {
	goisms.Help(t, newRoot(io.Discard, io.Discard))
}
