package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"waymark/agent"
	"waymark/test/goisms"
)

// TestPlainErrors: whatever a command is given, what it prints is for people
// and not for Go programmers.
func TestPlainErrors(t *testing.T) {
	p := goisms.Program{
		Root: new(app).rootCommand(),
		Run: func(ctx context.Context, args []string) string {
			var out bytes.Buffer
			a := app{Program: agent.Program{Builtin: func() ([]byte, error) { return nil, errors.New("there is none in this test") }}, stdout: &out, stderr: &out}
			a.run(ctx, args)
			return out.String()
		},
		Long:  []string{"run", "resolve", "why", "snapshot", "plugins try"},
		Files: map[string]string{"sources": `{"version":"x","sources":[3]}`},
	}
	p.Walk(t)
}
