// Command embedding is a program with native code in its own file, for
// TestFromExecutable. With "pack" it writes such code to its output; with "load"
// it loads what is in its file from a place on, and reports.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/tetratelabs/wazero"

	"waymark/host/sandbox/codecache"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(verb string, args []string) error {
	wasm, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if verb == "pack" {
		return codecache.Ahead(context.Background(), os.Stdout, wasm, codecache.Recipe{}, nil)
	}
	var at int64
	if _, err := fmt.Sscan(args[1], &at); err != nil {
		return err
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	if len(args) > 2 { // another file takes its name, as in an upgrade
		if err := os.Rename(args[2], os.Args[0]); err != nil {
			return err
		}
	}
	var logs strings.Builder
	c, err := codecache.Open(codecache.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		return err
	}
	var maps []byte
	req := codecache.Request{Wasm: wasm, Embedded: io.NewSectionReader(exe, at, 1<<40)}
	code, err := c.Load(context.Background(), req, use)
	if err != nil {
		return err
	}
	if err := read(context.Background()); err != nil {
		return err
	}
	if maps, err = os.ReadFile("/proc/self/maps"); err != nil {
		return err
	}
	report := map[string]string{"Source": string(code.Source), "Maps": string(maps), "Logs": logs.String()}
	return errors.Join(json.NewEncoder(os.Stdout).Encode(report), code.Close())
}

// runtime stays, as that of an agent does.
var (
	runtime wazero.Runtime
	module  wazero.CompiledModule
)

func use(ctx context.Context, code *codecache.Code) (err error) {
	runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(code.Cache()))
	module, err = runtime.CompileModule(ctx, code.Wasm)
	return err
}

func read(ctx context.Context) error {
	in, err := runtime.InstantiateModule(ctx, module, wazero.NewModuleConfig())
	if err != nil {
		return err
	}
	results, err := in.ExportedFunction("read").Call(ctx)
	if err == nil && results[0] != 12 {
		err = fmt.Errorf("it reads %d", results[0])
	}
	return err
}
