package main

import (
	"bytes"
	"context"
	"testing"

	"waymark/test/goisms"
)

// TestPlainErrors: whatever a command is given, what it prints is for people
// and not for Go programmers.
func TestPlainErrors(t *testing.T) {
	p := goisms.Program{
		Root: new(app).rootCommand(),
		Run: func(ctx context.Context, args []string) string {
			var out bytes.Buffer
			a := app{stdout: &out, stderr: &out}
			a.run(ctx, args)
			return out.String()
		},
		Long:  []string{"new", "build", "sdk update", "watch", "check", "bench"},
		Files: map[string]string{"module.wasm": "\x00asm\x01\x00\x00\x00", "fixture.txtar": "nonsense\n-- expect --\n{"},
	}
	p.Walk(t)
}
