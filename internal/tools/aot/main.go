// Command aot compiles a resolver module ahead of time, for machines like the one it runs on,
// into the form that the agent embeds: its native code, and an image from which its instances
// start, so that no start has to initialize one:
//
//	go run ./internal/tools/aot -o host/builtin/dist/builtin.native host/builtin/dist/builtin.wasm
//
// When the agent is built, the code is placed in it:
//
//	go run ./internal/tools/aot -place bin/agent host/builtin/dist/builtin.native
//
// The code then begins at a page of the agent's file and is executed from there, so that all
// agents of a machine share it. An agent without placed code copies it. On macOS this does
// nothing, because a file that was changed after it was signed isn't executed.
//
// An agent with the code needs the module itself only if the code doesn't fit, so the module
// may be packed:
//
//	go run ./internal/tools/aot -pack packed.wasm host/builtin/dist/builtin.wasm
//
// Before all of this, the native code of a module that Go has compiled is reduced, in place (see
// package gowasm; it is for modules of this repository):
//
//	go run ./internal/tools/aot -shrink host/builtin/dist/builtin.wasm
//
// An agent of another architecture, on a CPU with other features, or with another version of
// wazero or of the rewriter doesn't use the result, and compiles the module once instead. If
// only the version of the image differs, it uses the code alone.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"waymark/host/builtin"
	"waymark/host/sandbox"
	"waymark/host/sandbox/codecache"
	"waymark/host/sandbox/gowasm"
	"waymark/internal/atomicfile"
)

func main() {
	output := flag.String("o", "", "the `file` to write")
	pack := flag.String("pack", "", "the `file` to write the packed module to")
	place := flag.String("place", "", "the `executable` that the code is embedded in")
	smaller := flag.Bool("shrink", false, "reduce a module's native code, in place")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() == 1 && *smaller && *pack == "" && *output == "" && *place == "":
		err = shrink(flag.Arg(0))
	case flag.NArg() == 1 && !*smaller && *pack != "" && *output == "" && *place == "":
		err = packTo(*pack, flag.Arg(0))
	case flag.NArg() == 1 && !*smaller && *output != "" && *place == "" && *pack == "":
		err = run(context.Background(), *output, flag.Arg(0))
	case flag.NArg() == 1 && !*smaller && *output == "" && *place != "" && *pack == "":
		if runtime.GOOS != "darwin" {
			err = placeIn(*place, flag.Arg(0))
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: aot -o file.native file.wasm, aot -place executable file.native, aot -pack packed.wasm file.wasm, or aot -shrink file.wasm")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "aot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, output, input string) error {
	wasm, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	return atomicfile.Write(output, 0o644, func(w io.Writer) error { return sandbox.Ahead(ctx, w, wasm) })
}

func packTo(output, input string) error {
	wasm, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	return atomicfile.Write(output, 0o644, func(w io.Writer) error { return builtin.Pack(w, wasm) })
}

// placeIn makes packed code fit an executable that holds it.
func placeIn(executable, input string) error {
	info, err := os.Stat(executable)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(executable)
	if err != nil {
		return err
	}
	pack, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	at, placed, err := codecache.Place(pack, program)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", input, executable, err)
	}
	if !bytes.HasPrefix(program[at:], placed) { // it may run, and isn't changed under itself
		copy(program[at:], placed)
		return atomicfile.WriteFile(executable, program, info.Mode().Perm())
	}
	return nil
}

func shrink(file string) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if wasm, err = gowasm.Shrink(wasm); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return atomicfile.WriteFile(file, wasm, 0o644)
}
