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
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
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
	return writeFile(output, func(w io.Writer) error {
		return codecache.Ahead(ctx, w, wasm, recipe, rewrite)
	})
}

// writeFile lets a file appear whole or not at all.
func writeFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
