// Command aot compiles a resolver module ahead of time, for machines like the
// one it runs on, into the form that the agent embeds:
//
//	go run ./internal/tools/aot -o host/builtin/dist/builtin.native host/builtin/dist/builtin.wasm
//
// An agent of another architecture, on a CPU with other features, or with
// another version of wazero or of the rewriter doesn't use the result, and
// compiles the module once instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
	"waymark/internal/atomicfile"
)

func main() {
	output := flag.String("o", "", "the `file` to write")
	flag.Parse()
	if *output == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: aot -o file.native file.wasm")
		os.Exit(2)
	}
	if err := run(context.Background(), *output, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "aot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, output, input string) error {
	wasm, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	recipe, rewrite, err := sandbox.Recipe()
	if err != nil {
		return err
	}
	return atomicfile.Write(output, 0o644, func(w io.Writer) error {
		return codecache.Ahead(ctx, w, wasm, recipe, rewrite)
	})
}
