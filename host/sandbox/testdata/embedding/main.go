// Command embedding is a program with a module in its own file, for
// TestAheadFromExecutable. With "pack" it writes what a build makes of the module to its
// output; with "load" it loads what is in its file from a place on, runs it, and reports.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"waymark/abi"
	"waymark/host/sandbox"
	"waymark/host/vfs"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verb string, args []string) error {
	wasm, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if verb == "pack" {
		return sandbox.Ahead(ctx, os.Stdout, wasm)
	}
	var at int64
	if _, err := fmt.Sscan(args[1], &at); err != nil {
		return err
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	var logs strings.Builder
	h := sandbox.New(sandbox.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	none := func() ([]byte, error) { return nil, errors.New("it should be compiled") }
	m, err := h.LoadNative(ctx, fmt.Sprintf("%x", sha256.Sum256(wasm)), none, io.NewSectionReader(exe, at, 1<<40), sandbox.Limits{})
	if err != nil {
		return err
	}
	m.Settle(ctx)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	root, err := vfs.OpenRoot(args[2], vfs.RootOptions{})
	if err != nil {
		return err
	}
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		return err
	}
	seen := root.Begin(filter, vfs.Limits{})
	req := &abi.Request{ABI: abi.Version, Resolver: "wasi", Root: abi.Root{Name: "root"}, Config: abi.RawJSON(`{"op":"calls"}`)}
	res, err := m.Resolve(ctx, req, seen)
	if err != nil {
		return err
	}
	report := map[string]any{
		"Instances": m.Instances(), "Response": res.Response, "Fuel": res.Fuel, "Maps": string(maps), "Logs": logs.String(),
	}
	return errors.Join(json.NewEncoder(os.Stdout).Encode(report), seen.Close(), root.Close(), m.Close())
}
