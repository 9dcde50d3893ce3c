// Command generate writes what is made of something else in this repository:
//
//	go run ./internal/tools/generate protos
//
// writes the Go code of the protos under wire/, without a system protoc: it compiles the files
// with bufbuild/protocompile and runs the two code generators that the tool directives of
// go.mod pin.
//
//	go run ./internal/tools/generate docs .
//
// writes the documents that are made of tables: plugin.toml and docs/config.md, of the tags of
// the configuration, and docs/conventions.md, the places where agents look.
//
//	go run ./internal/tools/generate yaml -o directory -overlay directory/overlay.json
//
// extracts the scanner and the parser from the YAML library that go.mod names, for the guest,
// and writes an overlay that places them in plugins/internal/yaml for go build. The output is
// the library's own declarations, unchanged, as far as the parser needs them; only fmt, which
// links reflect, is replaced by functions of the package that they are written to. The rest
// of the library, which makes Go values of the parsed text, is larger than the rest of the
// guest.
//
// The output depends on the repository and on the pinned versions alone. A file that is already
// the same isn't written, so that what is built from it needn't be built again. Don't run it
// twice over one tree at the same time.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "protos":
		return protos(ctx)
	case len(args) == 2 && args[0] == "docs":
		return docs(args[1])
	case len(args) > 0 && args[0] == "yaml":
		return yaml(args[1:])
	}
	return errors.New("usage: generate protos | docs directory | yaml -o directory -overlay file")
}
