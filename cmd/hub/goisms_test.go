package main

import (
	"bytes"
	"context"
	"io"
	"testing"

	"waymark/test/goisms"
)

// TestPlainErrors: whatever a command is given, what it prints is for people
// and not for Go programmers.
func TestPlainErrors(t *testing.T) {
	p := goisms.Program{
		Root: newRoot(io.Discard, io.Discard),
		Run: func(ctx context.Context, args []string) string {
			var out bytes.Buffer
			execute(ctx, args, &out, &out)
			return out.String()
		},
		Long:  []string{"serve", "ready", "events"},
		Files: map[string]string{"tokens": "agent dev-1 wma_short\nreader x y z\n", "cert.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
	}
	p.Walk(t)
}
