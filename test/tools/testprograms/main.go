// Command testprograms builds the programs and the module that most tests need; see package
// built. Tests build missing ones themselves.
package main

import (
	"context"
	"fmt"
	"os"

	"waymark/test/built"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "testprograms:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return built.Programs(ctx, dir, false, "waymark/cmd/agent", "waymark/cmd/hub", "waymark/cmd/harness", "waymark/cmd/supervisor",
		"waymark/test/mcpserver/mcpserver")
}
