// Command shrink reduces the native code of a module compiled by Go, in place:
//
//	go run ./internal/tools/shrink host/builtin/dist/builtin.wasm
//
// See package gowasm. It is for modules of this repository.
package main

import (
	"fmt"
	"io"
	"os"

	"waymark/host/sandbox/gowasm"
	"waymark/internal/atomicfile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shrink file.wasm")
		os.Exit(2)
	}
	if err := shrink(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shrink:", err)
		os.Exit(1)
	}
}

func shrink(file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if wasm, err = gowasm.Shrink(wasm); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return atomicfile.Write(file, 0o644, func(w io.Writer) error {
		_, err := w.Write(wasm)
		return err
	})
}
