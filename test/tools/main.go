// Command tools has what is run beside the tests:
//
//	go run ./test/tools programs            builds what most tests need, once per machine
//	go run ./test/tools hostile             runs the hostile corpus, and measures it
//	go run ./test/tools metrics .           counts lines, files and exported names
//	go run ./test/tools typecheck OS/ARCH…  checks the types for other systems
//
// and, to measure what tests cost (on Linux):
//
//	go build -o bin/tools ./test/tools
//	TESTCOST=short.tsv go test -short -exec "$PWD/bin/tools cost run" ./...
//	bin/tools cost table -budget short -budgets CONTRIBUTING.md short.tsv
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"waymark/test/built"
	"waymark/test/hostile"
	"waymark/test/process"
)

func main() {
	hostile.Child()
	if len(os.Args) > 1 && os.Args[1] == "cost" {
		os.Exit(measureCost(os.Args[2:]))
	}
	process.Tool("tools", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		args = []string{""}
	}
	switch args[0] {
	case "programs":
		return programs(ctx)
	case "hostile":
		return runHostile(ctx, args[1:], stdout, stderr)
	case "metrics":
		return printMetrics(stdout, args[1:])
	case "typecheck":
		return typecheck(args[1:])
	}
	return fmt.Errorf("there is no tool %q: programs, hostile, metrics, typecheck, cost", args[0])
}

// programs builds the programs and the module that most tests need; see package built. Tests
// build missing ones themselves.
func programs(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return built.Programs(ctx, dir, false, "waymark/cmd/agent", "waymark/cmd/hub", "waymark/cmd/harness", "waymark/cmd/supervisor",
		"waymark/test/mcp/servers/mcpserver")
}
